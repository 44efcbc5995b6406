// All areas of one state, in the order in which they are read: code with its choices, sentence, picture, table. What
// the author asks stands under the sentence, after a click what changed since the last state, an error in its place.

import { findChanges, NOTHING, sayChanges } from "./changes.js";
import { makeCode } from "./code.js";
import { makeElement, makePrefix, tellPieces, writeText, writeTold } from "./dom.js";
import { mountPicture } from "./picture.js";
import { makeTable } from "./table.js";
import { sentence } from "./words.js";

/** @import { Code, Control, Notice, State } from "./types.d.ts" */

/** @type {State} */
const NO_STATE = {
  svg: "", problem: "", alt: "", text: "", sentence: "", error: "", printed: "",
  cards: {}, arrows: {}, table: [], lines: [],
};

/** @type {import("./picture.js").Opener} */
const NO_OPENER = { open() {}, has: () => false };
/** @type {import("./code.js").Chooser} */
const NO_CHOOSER = { choose() {}, reset() {} };

const [NARROW, WIDE] = [430, 700]; // CSS pixels, as in live.css
const SAID_LETTER = 8; // CSS pixels of a letter of the sentence
const CHANGE_LETTER = 8.6; // of one that says what changed
const BOX = 30; // CSS pixels beside the letters
const SENTENCE_END = /(?<=[a-z\d)\]]\.) (?=[A-Za-z✂])/;

/** @typedef {ReturnType<typeof mountPanel>} Panel */

/**
 * Builds the areas of a state in `el`; a page or a notebook lays them out.
 *
 * @param {HTMLElement} el
 * @param {{
 *   onSelect?: (cardId: string) => void,
 *   chooser?: import("./code.js").Chooser,
 *   opener?: import("./picture.js").Opener,
 *   onRoom?: (width: number) => void,
 *   prefix?: string,
 * }} [given] `onRoom` is told how wide a picture may be
 */
export function mountPanel(el, given = {}) {
  const { chooser = NO_CHOOSER, opener = NO_OPENER, prefix = makePrefix() } = given;
  const { onSelect = () => {}, onRoom = () => {} } = given;
  el.classList.add("gv-root");
  el.setAttribute("data-lm-suppress-shortcuts", "true"); // keys pressed in here are not the notebook's
  const live = { "aria-live": "polite", "aria-atomic": "true" };
  const said = makeElement("p", { className: "gv-said" });
  const changed = makeElement("p", { className: "gv-changes" });
  const errorText = makeElement("button", { type: "button", ariaExpanded: "false" });
  const error = makeElement("p", { className: "gv-error", hidden: true }, errorText); // one line of it, until opened
  errorText.addEventListener("click", () => {
    errorText.ariaExpanded = String(errorText.ariaExpanded === "false");
  });
  const notice = makeElement("p", { className: "gv-notice", hidden: true });
  const place = makePlace(() => picture.goToPlace(), (isOn) => picture.lightPlace(isOn));
  const spoken = [said, changed, error, notice, place.element];
  const areas = {
    code: makeElement("div", { className: "gv-area gv-code", ariaLabel: sentence("code"), hidden: true }),
    sentence: makeElement("div", { className: "gv-area gv-sentence", ...live }, ...spoken),
    picture: makeElement("div", { className: "gv-area gv-picture" }),
    printed: makeElement("pre", { className: "gv-area gv-printed", ariaLabel: sentence("printed"), hidden: true }),
    table: makeElement("details", { className: "gv-area gv-table", hidden: true }),
  };
  areas.code.role = "group";
  el.append(...Object.values(areas));

  /** @type {State | null} */
  let shown = null;
  let selected = "";
  let listed = ""; // code and controls, as JSON
  /** @type {import("./types.d.ts").Told} */
  let task = NOTHING; // of the author, for the reader
  /** @type {import("./types.d.ts").Changes | null} */
  let lastChanges = null;
  /** @type {State[]} */
  let known = []; // states that may be shown
  let width = 0; // of the panel, as it was last measured: to ask makes the browser lay out the page at once
  let [roomWidth, room] = [0, 0]; // how high the sentence's box was, at which width
  let isBeginning = true; // nothing was clicked, or Reset was
  let isOld = false; // what is shown belongs to other controls
  const code = makeCode(areas.code, prefix, chooser);
  const picture = mountPicture(areas.picture, { prefix, onSelect: choose, onPlace: place.light, onRoom, opener });
  const table = makeTable(areas.table, choose, (name) => picture.goToName(name));

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
    place.light(Boolean(selected) && Boolean(shown?.points?.ids.includes(selected)));
    if (isOld) code.mark([], null, false);
    else code.mark(shown?.lines ?? [], shown?.cards[selected]?.line ?? null, Boolean(shown?.error));
  }
  /** @param {boolean} isNowOld */
  function setOld(isNowOld) {
    if (isNowOld === isOld) return;
    if (isNowOld) noteRoom(); // of the sentence that is hidden now
    isOld = isNowOld;
    said.hidden = changed.hidden = isOld;
    error.hidden = isOld || !shown?.error;
    notice.hidden = !isOld;
    for (const area of [areas.printed, areas.picture, areas.table]) area.inert = isOld;
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
  /** @param {import("./types.d.ts").Changes} changes */
  function writeSentence(changes) {
    lastChanges = changes;
    const state = shown ?? NO_STATE;
    width ||= el.clientWidth;
    const isShortened = Boolean(state.code) && width > 0;
    writeTold(said, toldOf(state, isShortened ? lettersFor(width) : Infinity));
    said.title = said.textContent === state.sentence ? "" : state.sentence;
    const most = isShortened ? (width - BOX) / CHANGE_LETTER * (width < NARROW ? 2 : 1) : Infinity;
    changed.classList.toggle("gv-task", isBeginning);
    writeTold(changed, state.error ? NOTHING : isBeginning ? task : sayChanges(changes, most));
    areas.sentence.classList.toggle("gv-failed", Boolean(state.error));
    error.hidden = !state.error || isOld;
    writeText(errorText, state.error);
    keepRoom();
  }
  /** The box has room for all that is known to come at this width. */
  function keepRoom() {
    if (width === roomWidth) return;
    [roomWidth, room] = [width, width ? tallest() : 0];
    areas.sentence.style.minHeight = "";
    noteRoom();
  }
  /** The box is never lower than it was at this width, so that the picture below it stays where it is. */
  function noteRoom() {
    if (errorText.ariaExpanded === "true" || isOld) return;
    room = Math.max(room, areas.sentence.offsetHeight);
    const minHeight = room ? `${room}px` : "";
    if (areas.sentence.style.minHeight !== minHeight) areas.sentence.style.minHeight = minHeight;
  }
  /** Returns how high the box is in the highest of the states that are known before they are shown. */
  function tallest() {
    if (!known.length) return 0;
    const pairs = new Map(known.map((state) => [state.sentence + state.error, state]));
    const boxes = [...pairs.values()].map((state) => {
      const text = tellPieces(toldOf(state, state.code ? lettersFor(width) : Infinity));
      const last = makeElement("p", { className: state.error ? "gv-error" : "gv-changes" });
      const lines = width < NARROW ? ["x", makeElement("br"), "x"] : ["x"]; // of what changed, at most
      last.append(...(state.error ? [makeElement("button", { ariaExpanded: "false" }, "x")] : lines));
      const first = makeElement("p", { className: "gv-said" }, ...text);
      return makeElement("div", { className: "gv-area gv-sentence" }, first, last);
    });
    const all = makeElement("div", { className: "gv-probe", ariaHidden: "true", inert: true }, ...boxes);
    all.style.width = `${areas.sentence.offsetWidth || width}px`;
    el.append(all);
    const height = Math.max(...boxes.map((box) => box.offsetHeight));
    all.remove();
    return height;
  }
  const observer = new ResizeObserver(() => {
    width = el.clientWidth;
    if (width !== roomWidth && lastChanges) writeSentence(lastChanges);
    else noteRoom();
  });
  observer.observe(el);
  observer.observe(areas.sentence);
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
    if (shown && previous === shown && isDrawnAgain(shown, state)) {
      shown = state;
      return picture.show(state, new Map());
    }
    isBeginning = Boolean(state.afresh) || !previous;
    const changes = findChanges(isBeginning ? null : { ...NO_STATE, ...previous }, state);
    const kept = sameCard(shown, selected, state);
    shown = state;
    writeSentence(changes);
    code.fill(state.code ?? null);
    areas.printed.hidden = !state.printed;
    writeText(areas.printed, state.printed);
    picture.show(state, changes.marks);
    place.show(state.points ?? null);
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
    /**
     * @param {Code | null} [given]
     * @param {Control[]} [controls] which stand in the code
     */
    setCode(given, controls = []) {
      const text = JSON.stringify([given ?? {}, controls]);
      if (text === listed) return;
      listed = text;
      task = given?.task ?? NOTHING;
      code.set(given ?? {}, controls, shown?.code ?? null);
      select(selected);
    },
    /** @param {State[]} states that may be shown: there is room for each from the beginning */
    expect(states) {
      known = states;
    },
    /** @param {Record<string, number | null>} values which of its options each control shows */
    setChoices(values) {
      code.choose(values);
    },
    destroy() {
      observer.disconnect();
      code.destroy();
      picture.destroy();
      el.replaceChildren();
      el.classList.remove("gv-root", "gv-old");
      el.removeAttribute("aria-busy");
    },
  };
}

/**
 * Returns how many letters a sentence may have in a box of this width.
 *
 * @param {number} width
 */
function lettersFor(width) {
  const row = Math.floor((width - BOX) / SAID_LETTER);
  if (width < NARROW) return Math.min(122, 3 * row);
  return width < WIDE ? Math.min(150, 3 * row) : Math.min(190, 2 * row);
}

/**
 * Returns what is said of a state, as much as there is room for, and what of it is code.
 *
 * @param {State} state
 * @param {number} most letters
 * @returns {import("./types.d.ts").Told}
 */
function toldOf({ sentence: whole, sentence_code = [] }, most) {
  const text = most === Infinity ? whole : shortened(whole, most);
  return { text, code: sentence_code.filter(([, end]) => end <= text.length) };
}

/**
 * Returns as many whole sentences as there is room for, the first one always.
 *
 * @param {string} text
 * @param {number} most letters
 */
export function shortened(text, most) {
  const [first, ...rest] = text.split(SENTENCE_END);
  let kept = first;
  for (const one of rest) if (`${kept} ${one}`.length <= most) kept += ` ${one}`; else break;
  return kept;
}

/**
 * Makes the row of an explanation that says where: it leads to what is marked in the picture, and is lit up by it.
 *
 * @param {() => void} go
 * @param {(isOn: boolean) => void} light
 */
function makePlace(go, light) {
  const button = makeElement("button", { type: "button", className: "gv-name" });
  const text = makeElement("span");
  const element = makeElement("p", { className: "gv-place", hidden: true }, button, " ", text);
  button.addEventListener("click", go);
  for (const [event, isOn] of /** @type {[string, boolean][]} */ ([
    ["pointerenter", true], ["pointerleave", false], ["focusin", true], ["focusout", false],
  ])) element.addEventListener(event, () => light(isOn));
  return {
    element,
    /** @param {import("./types.d.ts").Points | null} points */
    show(points) {
      element.hidden = !points?.text;
      writeText(button, points?.title ?? "");
      writeText(text, points?.text ?? "");
    },
    /** @param {boolean} isOn */
    light: (isOn) => { element.classList.toggle("gv-lit", isOn); },
  };
}

/**
 * @param {State} one
 * @param {State} other
 */
function isSame(one, other) {
  return one.svg === other.svg && one.narrow === other.narrow && JSON.stringify(one) === JSON.stringify(other);
}

/**
 * Tells whether a state is the one that was shown, drawn in another width.
 *
 * @param {State} before
 * @param {State} after
 */
function isDrawnAgain(before, after) {
  const isOther = before.svg !== after.svg || before.narrow !== after.narrow;
  if (!before.svg || !after.svg || !isOther || after.afresh) return false;
  return isSame({ ...before, svg: after.svg, narrow: after.narrow, afresh: undefined }, after);
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
