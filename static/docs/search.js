// The search box: as `anex/docs/search.py` ranks, from the same index, while one types. Without it the form asks the server.

const form = document.querySelector(".doc-search");
const box = form?.querySelector("input");
const found = document.getElementById("doc-found");
const count = document.getElementById("doc-found-count");
let index = null;

async function load() {
  index ??= fetch(form.dataset.index).then((answer) => answer.json());
  return index;
}

function score(entry, words) {
  const heading = entry.h.toLowerCase();
  const text = entry.t.toLowerCase();
  if (!words.every((word) => heading.includes(word) || text.includes(word))) return 0;
  return words.reduce((sum, word) => {
    const times = Math.min(5, text.split(word).length - 1);
    return sum + 20 * heading.includes(word) + 40 * (heading === word) + times;
  }, 0);
}

function link(entry) {
  const item = document.createElement("li");
  const anchor = document.createElement("a");
  anchor.href = `${entry.p}#${entry.a}`;
  anchor.textContent = entry.h;
  const place = document.createElement("span");
  place.textContent = entry.p;
  anchor.append(place);
  item.append(anchor);
  return item;
}

function close() {
  found.hidden = true;
  count.textContent = "";
}

async function show() {
  const asked = box.value.trim().toLowerCase();
  if (!asked) return close();
  const words = asked.split(/\s+/);
  const entries = await load();
  if (box.value.trim().toLowerCase() !== asked) return undefined;
  const best = entries
    .map((entry) => ({ entry, score: score(entry, words) }))
    .filter((scored) => scored.score)
    .sort((left, right) => right.score - left.score)
    .slice(0, 8);
  const list = document.createElement("ul");
  const nothing = document.createElement("p");
  nothing.textContent = "Nothing found. Try fewer or other words.";
  list.append(...best.map((scored) => link(scored.entry)));
  found.replaceChildren(best.length ? list : nothing);
  found.hidden = false;
  count.textContent = best.length === 1 ? "1 section found" : `${best.length} sections found`;
  return undefined;
}

if (box && found) {
  box.addEventListener("focus", load, { once: true });
  box.addEventListener("input", show);
  form.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      close();
      box.focus();
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || found.hidden) return;
    const stops = [box, ...found.querySelectorAll("a")];
    const next = stops[stops.indexOf(document.activeElement) + step];
    if (next) {
      next.focus();
      event.preventDefault();
    }
  });
  document.addEventListener("click", (event) => form.contains(event.target) || close());
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, textarea, select, [contenteditable]");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
      box.focus();
      event.preventDefault();
    }
  });
}
