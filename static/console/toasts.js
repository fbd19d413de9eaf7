// Messages of the server float for a while and can be put away; what went wrong stays until then.

const SHOWN_MS = 8000;

for (const list of document.querySelectorAll("[data-toasts]")) {
  list.classList.add("toast", "toast-top", "toast-end", "z-40", "max-w-full", "whitespace-normal");
  list.classList.remove("mb-6");
  for (const toast of list.children) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "btn btn-ghost btn-xs";
    button.textContent = "Close";
    button.addEventListener("click", () => toast.remove());
    toast.append(button);
    if ("passing" in toast.dataset) setTimeout(() => toast.remove(), SHOWN_MS);
  }
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") document.querySelector("[data-toasts] > :last-child")?.remove();
});
