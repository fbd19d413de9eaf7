// The language that was picked in one sample is picked in all, here and on the next page; the menu is open where it fits.

const KEPT = "docs-language";

function pick(language) {
  for (const input of document.querySelectorAll(`.doc-tabs input[value="${CSS.escape(language)}"]`)) input.checked = true;
}

try {
  const kept = localStorage.getItem(KEPT);
  if (kept) pick(kept);
} catch {
  // A browser that keeps nothing shows the first language.
}

document.addEventListener("change", (event) => {
  if (!event.target.matches(".doc-tabs input")) return;
  const top = event.target.getBoundingClientRect().top;
  pick(event.target.value);
  // What opened above must not move what is read.
  window.scrollBy(0, event.target.getBoundingClientRect().top - top);
  try {
    localStorage.setItem(KEPT, event.target.value);
  } catch {
    // Not kept.
  }
});
