// A button with data-copy="#id" copies that element's text and says so.

const SHOWN_MS = 1600;

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  // One that says "Copied" waits until it is itself again; it stays enabled, for a disabled button loses the focus.
  if (!button || button.dataset.copied) return;
  const source = document.querySelector(button.dataset.copy);
  const label = [...button.childNodes];
  button.dataset.copied = "yes";
  button.setAttribute("aria-live", "polite");
  try {
    await navigator.clipboard.writeText(source.textContent.trim());
    button.textContent = "Copied";
  } catch {
    window.getSelection().selectAllChildren(source);
    button.textContent = "Press Ctrl+C";
  }
  setTimeout(() => {
    button.replaceChildren(...label);
    delete button.dataset.copied;
  }, SHOWN_MS);
});
