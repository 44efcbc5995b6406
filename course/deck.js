// The walk through a page of the class. The page itself follows its address, and nothing else of it is used.
// Opened by a double click its address lacks what its layout needs.
if (!new URLSearchParams(location.search).has("present")) location.replace(`?present${location.hash}`);
const root = document.documentElement;
const deck = JSON.parse(document.getElementById("deck-data").textContent);
const last = deck.states.length - 1;
root.classList.toggle("deck-wide", deck.wide); // the picture stands below the code
let at = location.hash === "#end" ? last : 0;

function show() {
  location.replace(deck.states[at].address);
  root.classList.add("deck-hidden");
  document.getElementById("deck-at").textContent = `${at + 1} of ${last + 1}`;
  document.getElementById("deck-ask").textContent = deck.states[at].ask;
  makeRoom();
}
/** What is asked stands above the code, however long it is. */
function makeRoom() {
  root.style.setProperty("--deck-head", `${document.getElementById("deck").offsetHeight}px`);
}
function walk(by) {
  const next = at + by;
  if (next < 0) location.href = `${deck.previous}?present#end`;
  else if (next > last) location.href = `${deck.next}?present`;
  else {
    at = next;
    show();
  }
}
const moves = {
  PageDown: () => walk(1),
  PageUp: () => walk(-1),
  r: () => root.classList.toggle("deck-hidden"),
};
moves.R = moves["."] = moves.b = moves.r; // the last two are what a presenter's button for a dark screen sends
addEventListener(
  "keydown",
  (event) => {
    if (!moves[event.key] || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    moves[event.key]();
  },
  true,
);
addEventListener("resize", makeRoom);
show();
