// One picture: drawn, moved about, its cards selected with mouse and keyboard.

import { makeElement, makeSvgElement } from "./dom.js";
import { Drawing } from "./drawing.js";
import { makeFactsBox } from "./facts_box.js";
import { growBox } from "./geometry.js";
import { drawMarks, makeOutline } from "./marks.js";
import { listenToKeys } from "./picture_keys.js";
import { listenToPointer } from "./picture_pointer.js";
import { makeCleaner } from "./safe_svg.js";
import { makeToolbar } from "./toolbar.js";
import { makeView } from "./view.js";
import { sentence } from "./words.js";

/** @import { Card, Marks, State } from "./types.d.ts" */

/** @typedef {ReturnType<typeof mountPicture>} Picture */

/**
 * Draws the pictures of states into `el`. Returns {show, select, destroy}.
 *
 * @param {HTMLElement} el
 * @param {{ prefix: string, onSelect: (cardId: string) => void }} given `onSelect` is called when the reader selects a
 *   card ("n3") or nothing ("")
 */
export function mountPicture(el, { prefix, onSelect }) {
  const frame = makeElement("div", { className: "gv-view", tabIndex: 0, role: "group" });
  const stage = makeSvgElement("g");
  const marks = makeSvgElement("g", { class: "gv-marks", "aria-hidden": "true" });
  const focusRing = makeSvgElement("g", { class: "gv-marks", "aria-hidden": "true" });
  const standIn = makeElement("div", { className: "gv-plain" }); // where there is no picture
  const canvas = { class: "gv-canvas", width: "100%", height: "100%", focusable: "false" };
  frame.append(makeSvgElement("svg", canvas, stage));
  const view = makeView(frame, stage, { onMove, firstCard: () => firstCard()?.getBoundingClientRect() });
  const toolbar = makeToolbar(view);
  el.append(standIn, frame, toolbar.element);
  const factsBox = makeFactsBox(el, prefix);
  const clean = makeCleaner(prefix);

  let drawing = new Drawing(null);
  let drawnSvg = "";
  let selected = "";
  /** @type {Record<string, Card>} */
  let cards = {}; // what is known of each card of the state
  /** @type {Marks} */
  let changes = new Map();

  function firstCard() {
    return drawing.cards.values().next().value;
  }
  /** @param {boolean} isPartHidden */
  function onMove(isPartHidden) {
    toolbar.showHint(isPartHidden && drawing.cards.size > 0);
    factsBox.close();
  }

  // ---- drawing

  /** @param {State} state */
  function redraw(state) {
    const svg = state.svg ? clean(state.svg) : null;
    drawnSvg = state.svg;
    drawing = new Drawing(svg);
    frame.hidden = toolbar.element.hidden = !svg;
    standIn.hidden = Boolean(svg);
    standIn.replaceChildren(...(svg ? [] : describe(state)));
    if (!svg) return stage.replaceChildren();
    focusRing.replaceChildren();
    drawing.graph.append(marks, focusRing);
    view.show(drawing.size); // before what is in it: else the browser lays out all the text twice
    stage.replaceChildren(drawing.page);
    if (frame.dataset.more) view.refit(); // now that its first card has a place
  }

  /** @param {string} cardId */
  function labelCard(cardId) {
    const change = changes.get(cardId);
    const card = cards[cardId]?.label ?? cardId;
    const label = change ? sentence("marked_card", { card, mark: sentence(change) }) : card;
    drawing.cards.get(cardId)?.setAttribute("aria-label", label);
    drawing.cards.get(cardId)?.setAttribute("aria-pressed", String(cardId === selected));
  }

  function redrawMarks() {
    const card = selected ? cards[selected] : undefined;
    drawMarks(marks, drawing, changes, selected, card);
    frame.classList.toggle("gv-selecting", Boolean(card));
  }

  /** Returns the key of the card that has the focus. */
  function focusedKey() {
    const focused = document.activeElement;
    if (!drawing.cards.size || !(focused instanceof SVGElement) || !frame.contains(focused)) return undefined;
    return cards[focused.dataset.gv ?? ""]?.key;
  }

  /**
   * Draws a state whose picture is another one, and keeps the focus on the same card.
   *
   * @param {State} state
   * @param {string | undefined} key of the card that has the focus
   */
  function showPicture(state, key) {
    redraw(state);
    frame.setAttribute("aria-label", state.alt || sentence("picture"));
    for (const group of drawing.cards.values()) {
      group.setAttribute("role", "button");
      group.setAttribute("tabindex", "-1");
    }
    const cardIds = [...drawing.cards.keys()];
    const same = key && cardIds.find((cardId) => state.cards[cardId]?.key === key);
    putInTabOrder(same || cardIds[0]);
    if (key) tabStop().focus({ preventScroll: true });
  }

  /**
   * @param {State} state
   * @param {Marks} nextChanges
   */
  function show(state, nextChanges) {
    factsBox.close();
    toolbar.showSettings(state.settings ?? "");
    const key = focusedKey();
    [cards, changes] = [state.cards, nextChanges];
    if (state.svg !== drawnSvg || !state.svg) showPicture(state, key);
    for (const cardId of drawing.cards.keys()) labelCard(cardId);
    if (!drawing.cards.has(selected)) selected = "";
    redrawMarks();
  }

  // ---- selection

  /** @param {string} cardId */
  function select(cardId, isRevealed = true) {
    const next = drawing.cards.has(cardId) ? cardId : "";
    if (next === selected) return;
    const before = selected;
    selected = next;
    for (const one of [before, next]) labelCard(one);
    if (next) putInTabOrder(next);
    redrawMarks();
    const card = drawing.cards.get(next);
    if (card && isRevealed && frame.dataset.more) view.reveal(card.getBoundingClientRect());
  }
  /**
   * Selects what the reader pointed at; a card that is selected is let go.
   *
   * @param {string} cardId
   */
  function choose(cardId) {
    const next = cardId === selected ? "" : cardId;
    if (next === selected) return;
    select(next, false); // the reader sees it already
    onSelect(selected);
  }

  // ---- focus: one card at a time is in the tab order

  /** @returns {SVGElement | HTMLElement} */
  function tabStop() {
    return frame.querySelector('[tabindex="0"]') ?? frame;
  }
  /** @param {string | undefined} cardId */
  function putInTabOrder(cardId) {
    frame.querySelector('.gv-node[tabindex="0"]')?.setAttribute("tabindex", "-1");
    drawing.cards.get(cardId ?? "")?.setAttribute("tabindex", "0");
  }
  /** @param {string} cardId */
  function focusCard(cardId) {
    if (!drawing.cards.has(cardId)) return;
    putInTabOrder(cardId);
    drawing.cards.get(cardId)?.focus({ preventScroll: true });
  }
  function closeOrLetGo() {
    if (factsBox.about) factsBox.close();
    else choose("");
  }
  frame.addEventListener("focusin", ({ target }) => {
    if (!(target instanceof SVGElement) || !target.matches(":focus-visible")) return;
    const cardId = target.dataset.gv ?? "";
    const [card, box] = [cards[cardId], drawing.boxOf(cardId)];
    if (!card || !box) return;
    view.reveal(target.getBoundingClientRect());
    target.setAttribute("aria-describedby", `${prefix}-facts`);
    focusRing.replaceChildren(makeOutline("gv-mark-focus", growBox(box, 6)));
    factsBox.open(target, card);
  });
  frame.addEventListener("focusout", () => {
    focusRing.replaceChildren();
    factsBox.close();
  });
  listenToKeys(frame, view, {
    choose,
    closeOrLetGo,
    goTo: (from, key) => focusCard(drawing.neighbourOf(from, key)),
  });
  listenToPointer(frame, view, { choose, factsBox, cardOf: (cardId) => cards[cardId] });

  const observer = new ResizeObserver(() => view.resize());
  observer.observe(frame);
  return {
    show,
    select,
    destroy() {
      observer.disconnect();
      factsBox.close();
    },
  };
}

/**
 * Returns what stands in the place of a picture: why there is none, and all of it in words.
 *
 * @param {State} state
 */
function describe(state) {
  const parts = [];
  const problem = state.problem || (state.svg ? sentence("unreadable") : "");
  if (problem) parts.push(makeElement("p", { className: "gv-problem" }, problem));
  if (state.text) parts.push(makeElement("pre", { className: "gv-twin" }, state.text));
  return parts;
}
