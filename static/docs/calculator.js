// Sends the beginning of a file alone; says where the answer will stand that it is being counted, and why none came.

const place = document.getElementById("calc-answer");
// As much of a file as is read: anex/docs/calculator.py.
const MOST_BYTES = 512 * 1024;

function say(text) {
  const line = document.createElement("p");
  line.textContent = text;
  place.replaceChildren(line);
}

document.querySelector(".calc input[type=file]")?.addEventListener("change", (event) => {
  const [file] = event.target.files;
  if (!file || file.size <= MOST_BYTES) return;
  const start = new DataTransfer();
  start.items.add(new File([file.slice(0, MOST_BYTES)], file.name));
  event.target.files = start.files;
});

document.addEventListener("htmx:beforeRequest", () => say("Counting…"));
document.addEventListener("htmx:responseError", (event) =>
  say(event.detail.xhr.status === 429 ? "Too many counts at once. Wait a minute, then try again." : "This could not be counted. Try again."),
);
document.addEventListener("htmx:sendError", () => say("The server did not answer. Try again."));
