// The code beside a picture, with line numbers.

import { makeElement, markCurrent } from "./dom.js";

/** @import { Code } from "./types.d.ts" */

/** @param {HTMLElement} el a <pre> */
export function makeListing(el) {
  /** @type {Map<number, HTMLElement>} */
  let lines = new Map(); // by number
  /** @type {HTMLElement | null} */
  let mustBeSeen = null;

  function reveal() {
    if (!mustBeSeen || el.scrollHeight <= el.clientHeight) return;
    const height = mustBeSeen.offsetHeight;
    const top = mustBeSeen.offsetTop - el.offsetTop;
    if (top < el.scrollTop) el.scrollTop = top - height;
    else if (top + height > el.scrollTop + el.clientHeight) el.scrollTop = top + 2 * height - el.clientHeight;
  }
  const observer = new ResizeObserver(reveal); // it is lower when the table is folded
  observer.observe(el);
  return {
    /** @param {Code} code */
    set({ text = "", first = 1 }) {
      el.hidden = !text;
      const sources = text ? text.replace(/\n$/, "").split("\n") : [];
      lines = new Map(sources.map((source, i) => [first + i, makeLine(first + i, source)]));
      el.replaceChildren(...lines.values());
    },
    /**
     * Marks the lines that a step stands on, and the one of the selected card.
     *
     * @param {number[]} current
     * @param {number | null} selected
     */
    mark(current, selected) {
      for (const [number, line] of lines) {
        const isCurrent = current.includes(number);
        line.classList.toggle("gv-now", isCurrent);
        line.classList.toggle("gv-here", number === selected);
        markCurrent(line, number === selected ? "true" : isCurrent ? "step" : "");
      }
      const next = lines.get(selected ?? NaN) ?? lines.get(current.at(-1) ?? NaN) ?? null;
      if (mustBeSeen && !next) el.scrollTop = 0; // back from where an error was
      mustBeSeen = next;
      reveal();
    },
    destroy() {
      observer.disconnect();
    },
  };
}

/**
 * @param {number} number
 * @param {string} source
 */
function makeLine(number, source) {
  return makeElement(
    "span", { className: "gv-line" },
    makeElement("span", { className: "gv-number", ariaHidden: "true" }, String(number)),
    makeElement("span", { className: "gv-source" }, `${source}\n`),
  );
}
