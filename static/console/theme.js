// Colours change at once; the server keeps the choice. Without this module the form does it with a page load.

document.addEventListener("submit", (event) => {
  const form = event.target.closest("[data-theme-form]");
  if (!form) return;
  event.preventDefault();
  const chosen = event.submitter.value;
  if (chosen) document.documentElement.dataset.theme = chosen;
  else delete document.documentElement.dataset.theme;
  document.querySelector("meta[name=color-scheme]").content = chosen || "light dark";
  for (const button of form.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button === event.submitter));
  fetch(form.action, { method: "POST", body: new URLSearchParams({ theme: chosen }), redirect: "manual" });
});
