// Says where the answer will stand that it is being counted, and why none came.

const place = document.getElementById("calc-answer");

function say(text) {
  const line = document.createElement("p");
  line.textContent = text;
  place.replaceChildren(line);
}

document.addEventListener("htmx:beforeRequest", () => say("Counting…"));
document.addEventListener("htmx:responseError", (event) =>
  say(event.detail.xhr.status === 429 ? "Too many counts at once. Wait a minute, then try again." : "This could not be counted. Try again."),
);
document.addEventListener("htmx:sendError", () => say("The server did not answer. Try again."));
