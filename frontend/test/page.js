// A page without a browser, and a state as Python sends it. Nothing has a size here: what is laid out is the browser
// tests' business.

import { deflateSync } from "node:zlib";
import { JSDOM } from "jsdom";

const GLOBALS = [
  "document", "location", "history", "DOMParser", "Node", "Element", "HTMLElement", "SVGElement", "MutationObserver",
  "Event", "KeyboardEvent", "MouseEvent", "requestAnimationFrame", "cancelAnimationFrame", "getSelection", "innerWidth",
  "innerHeight",
];

/** Opens an empty page; what it has becomes global, as in a browser. */
export function openPage(address = "https://example.org/page.html") {
  const { window } = new JSDOM("<!doctype html><body></body>", { url: address, pretendToBeVisual: true });
  for (const name of GLOBALS) {
    const value = window[name];
    const isMethod = typeof value === "function" && !value.prototype;
    const held = { value: isMethod ? value.bind(window) : value, configurable: true, writable: true };
    Object.defineProperty(globalThis, name, held);
  }
  globalThis.addEventListener = window.addEventListener.bind(window);
  globalThis.removeEventListener = window.removeEventListener.bind(window);
  globalThis.ResizeObserver = class {
    observe() {}
    disconnect() {}
  };
  globalThis.matchMedia = () => ({ matches: false });
  return window;
}

const NAMESPACES = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"';

/** A picture of cards one beside the other, with an arrow from each to the next, as Graphviz writes it. */
export function drawSvg(count) {
  const card = (i, x) => `<g id="n${i}" class="node"><path fill="#ffffff" d="M${x},0L${x + 60},0L${x + 60},40"/>`
    + `<text font-size="14.00" x="${x}" y="20">card ${i}</text></g>`;
  const arrow = (i, x) => `<g id="e${i}" class="edge forward"><path d="M${x + 60},20L${x + 100},20"/></g>`;
  const numbers = [...Array(count).keys()];
  const groups = [...numbers.map((i) => card(i, 100 * i)), ...numbers.slice(1).map((i) => arrow(i - 1, 100 * (i - 1)))];
  return `<svg width="400" height="100" viewBox="0 0 300 75" ${NAMESPACES}><g id="graph0" class="graph" `
    + `transform="translate(4 71)">${groups.join("")}</g></svg>`;
}

/** The state of cards "a", "b", …, with one row of the table each. */
export function makeState(names, { values = {}, ...rest } = {}) {
  const cards = names.map((name, i) => [`n${i}`, {
    key: name, look: `${name} ${values[name] ?? 1}`, label: `label of ${name}`, facts: [["shape", "[3]"]], line: i + 1,
    lit: i ? [`n${i - 1}`, `e${i - 1}`] : [], memory: [],
  }]);
  const arrows = names.slice(1).map((name, i) => [`e${i}`, { key: `${names[i]}→${name}`, look: "forward" }]);
  const row = (name, i) => ({
    key: name, card: `n${i}`, cells: [name, String(values[name] ?? 1), null, true, i === 0, "None", 0, "12 bytes"],
  });
  return {
    svg: drawSvg(names.length), problem: "", alt: "alt of the picture", text: "twin", sentence: `sentence of ${names}`,
    error: "", printed: "", lines: [],
    cards: Object.fromEntries(cards), arrows: Object.fromEntries(arrows), table: names.map(row),
    ...rest,
  };
}

/** Presses a key on an element; returns whether something used it. */
export function press(element, key, more = {}) {
  return !element.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more }));
}

/** Packs a book as gradviz/picture/packed.py does: its long texts are taken apart. */
export function pack(book) {
  const pieces = [];
  const cut = (text) => text.split(/(?=<g )|(?<=\n)/).map((piece) => pieces.push(piece) - 1);
  const svg = (text) => [pieces.push("") - 1, ...cut(text)]; // its ids begin with nothing
  const states = book.states.map((state) => ({ ...state, svg: svg(state.svg), text: cut(state.text) }));
  return deflateSync(JSON.stringify({ ...book, states, pieces }));
}
