// Shows <time datetime> in the reader's zone, with UTC on hover; the page itself carries UTC.

const parts = { month: "short", day: "numeric", hour: "numeric", minute: "2-digit" };
const thisYear = new Intl.DateTimeFormat(undefined, parts);
const anyYear = new Intl.DateTimeFormat(undefined, { ...parts, year: "numeric" });

function inWords(at) {
  return (at.getFullYear() === new Date().getFullYear() ? thisYear : anyYear).format(at);
}

function localize(root) {
  for (const time of root.querySelectorAll("time[datetime]:not([title])")) {
    time.title = time.textContent.trim();
    time.textContent = inWords(new Date(time.dateTime));
  }
}

localize(document);
document.addEventListener("htmx:afterSettle", () => localize(document));
