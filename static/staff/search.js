// The text box of a search is named by nothing; it gets the words that stand in it. It is made when jQuery is ready.
addEventListener("load", () => django.jQuery(() => {
  for (const box of document.querySelectorAll("[id^=select2-][role=textbox]")) box.ariaLabel = box.textContent;
}));
