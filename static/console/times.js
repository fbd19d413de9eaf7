// Shows <time datetime> in the reader's zone, with UTC on hover; the page itself carries UTC.

const format = new Intl.DateTimeFormat(undefined, {
  month: "short",
  day: "numeric",
  year: "numeric",
  hour: "2-digit",
  minute: "2-digit",
});

function localize(root) {
  for (const time of root.querySelectorAll("time[datetime]:not([title])")) {
    time.title = time.textContent.trim();
    time.textContent = format.format(new Date(time.dateTime));
  }
}

localize(document);
document.addEventListener("htmx:afterSettle", () => localize(document));
