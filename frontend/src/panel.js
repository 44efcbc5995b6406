// All areas of one state: sentence, error, what was printed, picture, code, table; and what changed since the last one.

import { findChanges, sayChanges } from "./changes.js";
import { makeElement, makePrefix, writeText } from "./dom.js";
import { makeListing } from "./listing.js";
import { mountPicture } from "./picture.js";
import { makeTable } from "./table.js";
import { sentence } from "./words.js";

/** @import { Code, Notice, State } from "./types.d.ts" */

/** @type {State} */
const NO_STATE = {
  svg: "", problem: "", alt: "", text: "", sentence: "", error: "", printed: "",
  cards: {}, arrows: {}, table: [], lines: [],
};

/** @type {import("./picture.js").Opener} */
const NO_OPENER = { open() {}, has: () => false };

/** @typedef {ReturnType<typeof mountPanel>} Panel */

/**
 * Builds the areas of a state in `el`; a page or a notebook lays them out.
 *
 * @param {HTMLElement} el
 * @param {{
 *   onSelect?: (cardId: string) => void,
 *   opener?: import("./picture.js").Opener,
 *   prefix?: string,
 * }} [given]
 */
export function mountPanel(el, { onSelect = () => {}, opener = NO_OPENER, prefix = makePrefix() } = {}) {
  el.classList.add("gv-root");
  el.setAttribute("data-lm-suppress-shortcuts", "true"); // keys pressed in here are not the notebook's
  const live = { "aria-live": "polite", "aria-atomic": "true" };
  const said = makeElement("p", { className: "gv-said" });
  const changed = makeElement("p", { className: "gv-changes", "data-title": sentence("what_changed") });
  const notice = makeElement("p", { className: "gv-notice", hidden: true });
  const areas = {
    sentence: makeElement("div", { className: "gv-area gv-sentence", ...live }, said, changed, notice),
    error: makeElement("div", { className: "gv-area gv-error", ...live }),
    printed: makeElement("pre", { className: "gv-area gv-printed", ariaLabel: sentence("printed"), hidden: true }),
    picture: makeElement("div", { className: "gv-area gv-picture" }),
    code: makeElement("pre", { className: "gv-area gv-code", ariaLabel: sentence("code"), hidden: true }),
    table: makeElement("details", { className: "gv-area gv-table", hidden: true }),
  };
  areas.code.role = "region";
  areas.code.tabIndex = 0; // it scrolls
  el.append(...Object.values(areas));

  /** @type {State | null} */
  let shown = null;
  let selected = "";
  let listed = ""; // the code, as JSON
  let isOld = false; // what is shown belongs to other controls
  const listing = makeListing(areas.code);
  const picture = mountPicture(areas.picture, { prefix, onSelect: choose, opener });
  const table = makeTable(areas.table, choose);

  /** @param {string} cardId */
  function choose(cardId) {
    if (cardId === selected) return;
    select(cardId);
    onSelect(selected);
  }
  /** @param {string} cardId */
  function select(cardId) {
    selected = shown && Object.hasOwn(shown.cards, cardId) ? cardId : "";
    picture.select(selected);
    table.select(selected);
    if (isOld) listing.mark([], null);
    else listing.mark(shown?.lines ?? [], shown?.cards[selected]?.line ?? null);
  }
  /** @param {boolean} isNowOld */
  function setOld(isNowOld) {
    if (isNowOld === isOld) return;
    isOld = isNowOld;
    areas.sentence.style.minHeight = isOld ? `${areas.sentence.offsetHeight}px` : ""; // so that nothing below it moves
    said.hidden = changed.hidden = isOld;
    notice.hidden = !isOld;
    for (const area of [areas.error, areas.printed, areas.picture, areas.table]) area.inert = isOld;
    el.classList.toggle("gv-old", isOld);
    el.setAttribute("aria-busy", String(isOld));
    select(selected);
  }
  /**
   * Says that what is shown belongs to other controls: a notice stands for its sentence, the rest is dimmed and out of
   * reach. null where all is well.
   *
   * @param {Notice | null} given
   */
  function setNotice(given) {
    setOld(given !== null);
    const detail = given?.detail ? `\n${given.detail}` : "";
    const title = given?.title ?? "";
    if (notice.textContent !== title + detail) notice.replaceChildren(makeElement("strong", {}, title), detail);
  }
  /**
   * Shows a state. Changes are marked against the state shown before, against `previous` where it is given, and not at
   * all where that is null.
   *
   * @param {Partial<State>} given
   * @param {State | null} [previous]
   */
  function show(given, previous = shown) {
    const state = { ...NO_STATE, ...given };
    if (shown && previous === shown && isSame(shown, state)) return; // its marks stay
    const changes = findChanges(state.afresh || !previous ? null : { ...NO_STATE, ...previous }, state);
    const kept = sameCard(shown, selected, state);
    shown = state;
    writeText(said, state.sentence);
    writeText(changed, sayChanges(changes.texts));
    areas.error.classList.toggle("gv-on", Boolean(state.error));
    writeText(areas.error, state.error);
    areas.printed.hidden = !state.printed;
    writeText(areas.printed, state.printed);
    picture.show(state, changes.marks);
    table.show(state.table, changes.cells, state.columns);
    const isMoved = kept !== selected;
    select(kept);
    if (isMoved) onSelect(selected);
  }
  return {
    show,
    select,
    setNotice,
    get selected() { return selected; },
    get hasPicture() { return Boolean(shown?.svg); },
    /** @param {Code | null} [code] */
    setCode(code) {
      const text = JSON.stringify(code ?? {});
      if (text === listed) return;
      listed = text;
      listing.set(code ?? {});
      select(selected);
    },
    destroy() {
      listing.destroy();
      picture.destroy();
      el.replaceChildren();
      el.classList.remove("gv-root", "gv-old");
      el.removeAttribute("aria-busy");
    },
  };
}

/**
 * @param {State} one
 * @param {State} other
 */
function isSame(one, other) {
  return one.svg === other.svg && JSON.stringify(one) === JSON.stringify(other);
}

/**
 * Returns the id of the same card in another state: ids are numbers in one picture, the key is what stays.
 *
 * @param {State | null} before
 * @param {string} cardId
 * @param {State} after
 */
function sameCard(before, cardId, after) {
  const key = before?.cards[cardId]?.key;
  if (key === undefined) return "";
  return Object.keys(after.cards).find((one) => after.cards[one].key === key) ?? "";
}
