// The code of a scenario with what its controls chose filled in, and the choices at the line that they change.

import { makeControlRow } from "./controls.js";
import { isForNotebook, makeElement, markCurrent } from "./dom.js";
import { sentence } from "./words.js";

/** @import { Code, CodeLine, Control } from "./types.d.ts" */

const SIDE_GAP = 24; // CSS pixels between the longest line and the choices beside it
const RESET = 78; // CSS pixels that the Reset button takes of the first line
const ROW = 21; // CSS pixels of a line
const PADDING = 10; // CSS pixels at the end of a line
const NUMBER = 36; // CSS pixels of a line's number
const LETTERS = "M".repeat(20);
const NARROW = 430; // CSS pixels, below which Reset stands under the code
// Strings, comments, numbers and words, in this order.
const TOKENS = /("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(#.*$)|\b(\d[\w.]*)|([A-Za-z_]\w*)/g;
const PYTHONS = new RegExp(
  "^(?:and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|if|import|in|is|lambda"
    + "|not|or|pass|raise|return|try|while|with|yield)$",
);
const VALUES = new Set(["True", "False", "None"]);

/** @typedef {{ choose(name: string, choice: number): void, reset(): void }} Chooser */

/**
 * Makes the code area.
 *
 * @param {HTMLElement} el
 * @param {string} prefix of ids
 * @param {Chooser} chooser what the reader's clicks do
 */
export function makeCode(el, prefix, chooser) {
  /** @type {Map<number, ReturnType<typeof makeLine>>} */
  let lines = new Map(); // by number
  /** @type {Map<string, import("./controls.js").ControlPart>} */
  let parts = new Map(); // by the control's name
  /** @type {Control[]} */
  let controls = [];
  /** @type {Code} */
  let code = {};
  /** @type {CodeLine[] | null} */
  let filled = null; // null where only the source is known
  /** @type {Record<string, number | null>} */
  let values = {};
  let measured = ""; // the sizes for which places were decided
  const group = { className: "gv-choices", role: "group", ariaLabel: sentence("controls"), hidden: true };
  const row = makeElement("div", group);
  const list = makeElement("div", { className: "gv-lines" });
  const reset = makeElement("button", { type: "button", className: "gv-reset", hidden: true }, sentence("start_again"));
  reset.title = sentence("start_again_title");
  reset.addEventListener("click", () => chooser.reset());
  el.addEventListener("keydown", (event) => { // else the notebook takes the arrow keys, and "d" pressed twice
    const isPages = event.key === "PageUp" || event.key === "PageDown";
    if (!isForNotebook(event) && !isPages) event.stopPropagation();
  });
  el.append(row, list, reset);

  /** Puts every control where it stands: at its line, or above the code. */
  function build() {
    const sources = filled ?? sourceLines(code);
    lines = new Map(sources.map((line) => [line[0], makeLine(line)]));
    parts = new Map();
    row.replaceChildren();
    controls.forEach((control, i) => {
      const line = lines.get(control.line ?? NaN);
      const choose = (/** @type {number} */ choice) => chooser.choose(control.name, choice);
      const part = makeControlRow(control, `${prefix}-${i}`, choose, Boolean(line));
      parts.set(control.name, part);
      (line?.slot ?? row).append(part.row);
    });
    for (const { element, slot } of lines.values()) if (slot.childElementCount) element.append(slot);
    row.hidden = !row.childElementCount;
    reset.hidden = !controls.length;
    list.replaceChildren(...[...lines.values()].map(({ element }) => element));
    el.hidden = !lines.size && !controls.length;
    el.classList.toggle("gv-bare", !lines.size);
    choose();
    measured = "";
    place();
  }
  function choose() {
    for (const [name, part] of parts) part.set(values[name] ?? -1);
  }
  /** Decides, from all choices and not from the text of now, whether they stand beside their lines or below. */
  function place() {
    const width = list.clientWidth;
    if (!width || sizes() === measured) return;
    el.classList.remove("gv-small", "gv-beside");
    const letter = letterWidth(list);
    const slots = [...lines.values()].filter(({ slot }) => slot.childElementCount);
    const columns = Math.max(0, ...slots.map(({ number }) => code.columns?.[number] ?? 0));
    const isSmall = NUMBER + PADDING + longest() * letter > width;
    el.classList.toggle("gv-small", isSmall);
    el.classList.toggle("gv-narrow", width < NARROW);
    const at = NUMBER + columns * letter * (isSmall ? 12 / 13 : 1) + SIDE_GAP;
    const first = lines.values().next().value;
    el.classList.add("gv-beside"); // they are measured on one line
    const fits = (/** @type {ReturnType<typeof makeLine>} */ line) =>
      at + line.slot.scrollWidth + (line === first ? RESET : 8) <= width;
    const isBeside = slots.length > 0 && !isSmall && slots.every(fits);
    for (const { slot, number } of slots) {
      const end = NUMBER + (code.columns?.[number] ?? columns) * letter + 14 + slot.scrollWidth;
      const isAlone = slot.querySelector("input[type=checkbox]") && slot.childElementCount === 1;
      const room = width - (number === first?.number ? RESET : PADDING);
      slot.classList.toggle("gv-alone", !isBeside && Boolean(isAlone) && end <= room);
    }
    el.classList.toggle("gv-beside", isBeside);
    keepRows(isSmall && !isBeside ? Math.floor((width - NUMBER - PADDING) / (letter * 12 / 13)) : Infinity);
    list.style.setProperty("--gv-at", `${Math.round(at)}px`);
    measured = sizes();
  }
  /** What the places depend on: a projector has larger letters, in the same width. */
  function sizes() {
    return `${list.clientWidth} ${getComputedStyle(list).fontSize}`;
  }
  /**
   * Gives each line the rows that it needs in any state, so that nothing below it moves.
   *
   * @param {number} most letters in a row
   */
  function keepRows(most) {
    for (const { source, number, text } of lines.values()) {
      const rows = Math.ceil(Math.max(code.columns?.[number] ?? 0, text.length) / most) || 1;
      source.style.display = rows > 1 ? "block" : "";
      source.style.minHeight = rows > 1 ? `${rows * ROW}px` : "";
    }
  }
  function longest() {
    const now = [...lines.values()].map(({ text }) => text.length);
    return Math.max(0, ...now, ...Object.values(code.columns ?? {}));
  }
  const observer = new ResizeObserver(place);
  observer.observe(list);
  return {
    /**
     * Shows other code, with its controls.
     *
     * @param {Code} nextCode
     * @param {Control[]} nextControls
     * @param {CodeLine[] | null} nextFilled
     */
    set(nextCode, nextControls, nextFilled) {
      [code, controls, filled] = [nextCode, nextControls, nextFilled];
      build();
    },
    /**
     * Shows the same code with other choices filled in.
     *
     * @param {CodeLine[] | null} next
     */
    fill(next) {
      const isOther = (next === null) !== (filled === null) || next?.some(([number]) => !lines.has(number));
      filled = next;
      if (isOther) return build();
      for (const line of next ?? []) lines.get(line[0])?.write(line, true);
      place(); // the letters may have become larger, where no line is higher by that
    },
    /** @param {Record<string, number | null>} next */
    choose(next) {
      values = next;
      choose();
    },
    /**
     * Marks the lines that a step stands on, the one that failed, and the one of the selected card.
     *
     * @param {number[]} current
     * @param {number | null} selected
     * @param {boolean} isFailed
     */
    mark(current, selected, isFailed) {
      for (const [number, { element }] of lines) {
        const isCurrent = current.includes(number);
        element.classList.toggle("gv-now", isCurrent);
        element.classList.toggle("gv-failed", isCurrent && isFailed);
        element.classList.toggle("gv-here", number === selected);
        markCurrent(element, number === selected ? "true" : isCurrent ? "step" : "");
      }
    },
    destroy() {
      observer.disconnect();
    },
  };
}

/**
 * Returns the lines of code in which nothing is filled in.
 *
 * @param {Code} code
 * @returns {CodeLine[]}
 */
function sourceLines({ text = "", first = 1 }) {
  if (!text) return [];
  return text.replace(/\n$/, "").split("\n").map((source, i) => [first + i, source, [], "", ""]);
}

/** @param {HTMLElement} el */
function letterWidth(el) {
  const probe = makeElement("span", { className: "gv-probe" }, LETTERS);
  el.append(probe);
  const width = probe.getBoundingClientRect().width / LETTERS.length;
  probe.remove();
  return width;
}

/** @param {CodeLine} given */
function makeLine(given) {
  const source = makeElement("span", { className: "gv-source" });
  const number = makeElement("span", { className: "gv-number", ariaHidden: "true" }, String(given[0]));
  const element = makeElement("div", { className: "gv-line" }, number, source);
  const slot = makeElement("span", { className: "gv-slot" });
  const line = { element, slot, number: given[0], text: "", source, write };

  /**
   * @param {CodeLine} next
   * @param {boolean} isChange whether to show that it is another text
   */
  function write([, text, pieces, kind], isChange) {
    element.classList.toggle("gv-gone", kind !== "");
    element.classList.toggle("gv-slotted", line.slot.childElementCount > 0);
    if (line.text === text && source.childNodes.length) return;
    line.text = text;
    source.replaceChildren(...(kind ? [text] : writeCode(text, pieces)));
    element.classList.remove("gv-fresh");
    if (isChange) requestAnimationFrame(() => element.classList.add("gv-fresh"));
  }
  write(given, false);
  return line;
}

/**
 * Returns code with its filled-in parts marked.
 *
 * @param {string} text
 * @param {[start: number, end: number, control: string][]} pieces
 */
function writeCode(text, pieces) {
  const nodes = [];
  let from = 0;
  for (const [start, end] of pieces) {
    const filled = makeElement("span", { className: "gv-filled" }, ...colour(text.slice(start, end)));
    nodes.push(...colour(text.slice(from, start)), filled);
    from = end;
  }
  return [...nodes, ...colour(text.slice(from))];
}

/** @param {string} text */
function colour(text) {
  const nodes = [];
  let from = 0;
  for (const found of text.matchAll(TOKENS)) {
    const name = nameToken(found);
    if (!name) continue;
    nodes.push(text.slice(from, found.index), makeElement("span", { className: `gv-${name}` }, found[0]));
    from = found.index + found[0].length;
  }
  return [...nodes, text.slice(from)].filter((node) => node !== "");
}

/** @param {RegExpMatchArray} found */
function nameToken([, string, comment, number, word]) {
  if (string) return "string";
  if (comment) return "comment";
  if (number) return "constant";
  if (VALUES.has(word)) return "constant";
  return PYTHONS.test(word) ? "word" : "";
}
