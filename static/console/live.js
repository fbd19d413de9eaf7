// Elements with data-live="<ids of jobs>" fetch themselves anew (htmx, on "refresh") once one of these jobs changed. A
// socket tells which; while there is none they ask every few seconds. What is said aloud is a change of status alone.

const ASK_S = 3;
const LONGEST_WAIT_S = 30;
const MOST_JOBS = 60;

let socket = null;
let watched = "";
let failures = 0;
let said = saying();

const elements = () => [...document.querySelectorAll("[data-live]")].filter((element) => idsOf(element).length);
const idsOf = (element) => element.dataset.live.split(" ").filter(Boolean);
const refresh = (element) => element.dispatchEvent(new CustomEvent("refresh"));

function connect() {
  const wanted = [...new Set(elements().flatMap(idsOf))].sort().slice(0, MOST_JOBS);
  if (wanted.join() === watched) return;
  watched = wanted.join();
  socket?.close();
  socket = wanted.length ? listen(wanted) : null;
}

function listen(ids) {
  const query = ids.map((id) => `job=${id}`).join("&");
  const opened = new WebSocket(`${location.origin.replace("http", "ws")}/live/jobs?${query}`);
  opened.addEventListener("open", () => {
    failures = 0;
    elements().forEach(refresh);
  });
  opened.addEventListener("message", ({ data }) => {
    const { job } = JSON.parse(data);
    for (const element of elements()) if (idsOf(element).includes(job)) refresh(element);
  });
  opened.addEventListener("close", () => {
    if (socket !== opened) return;
    socket = null;
    watched = "";
    failures += 1;
    setTimeout(connect, 1000 * Math.min(LONGEST_WAIT_S, 2 ** failures));
  });
  return opened;
}

function saying() {
  return document.querySelector("[data-says]")?.dataset.says;
}

setInterval(() => {
  if (socket?.readyState !== WebSocket.OPEN && !document.hidden) elements().forEach(refresh);
}, 1000 * ASK_S);

document.addEventListener("htmx:afterSettle", () => {
  if (saying() !== said) {
    said = saying();
    document.querySelector("[data-announce]").textContent = said;
  }
  connect();
});

connect();
