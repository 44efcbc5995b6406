// One picture: drawn, moved about, its cards selected with mouse and keyboard.

import { makeElement, makeSvgElement } from "./dom.js";
import { Drawing } from "./drawing.js";
import { makeStrip } from "./strip.js";
import { growBox } from "./geometry.js";
import { glide, remember } from "./glide.js";
import { drawHandles } from "./handles.js";
import { bareId, drawMarks, makeOutline } from "./marks.js";
import { cardOf, closed, closedInside, findMoved, nextAlarm } from "./opening.js";
import { makeOutlineBar } from "./outline_bar.js";
import { listenToKeys } from "./picture_keys.js";
import { listenToPointer } from "./picture_pointer.js";
import { makeCleaner } from "./safe_svg.js";
import { fileName, makeSaveMenu } from "./saving.js";
import { makeToolbar } from "./toolbar.js";
import { makeView } from "./view.js";
import { sentence } from "./words.js";

/** @import { Card, Marks, Outline, State } from "./types.d.ts" */

const LEGIBLE = 0.9; // of its size, at which a picture's smallest letters have 12 CSS pixels
const MARGINS = 8; // CSS pixels at both sides of a picture

/** @typedef {ReturnType<typeof mountPicture>} Picture */

/**
 * Opens modules of an outline, by their names: shows the picture in which just these are open, at once or later. `has`
 * tells whether there is one.
 *
 * @typedef {{ open(opened: string[]): void, has(opened: string[]): boolean }} Opener
 */

/**
 * Draws the pictures of states into `el`. Returns {show, select, destroy}.
 *
 * @param {HTMLElement} el
 * @param {{
 *   prefix: string,
 *   onSelect: (cardId: string) => void,
 *   onPlace: (isOn: boolean) => void,
 *   onRoom: (width: number) => void,
 *   opener: Opener,
 * }} given `onSelect` is called when the reader selects a card ("n3") or nothing (""), `onPlace` when she points at
 *   what an explanation points at, and leaves it, `onRoom` with how many CSS pixels wide a picture may be
 */
export function mountPicture(el, { prefix, onSelect, onPlace, onRoom, opener }) {
  const frame = makeElement("div", { className: "gv-view", tabIndex: 0, role: "group" });
  const stage = makeSvgElement("g");
  const marks = makeSvgElement("g", { class: "gv-marks", "aria-hidden": "true" });
  const focusRing = makeSvgElement("g", { class: "gv-marks", "aria-hidden": "true" });
  const handles = makeSvgElement("g", { class: "gv-handles" });
  const bar = makeOutlineBar(prefix, {
    closeInside: (name) => outline && showOpened(closedInside(outline.opened, name), name),
    openRed,
    goToNextRed: () => goTo(nextAlarm(outline?.alarms ?? [], [...drawing.cards.keys()], selected)),
    goToName,
    openMember: (name) => showOpened(withOpened(name), name),
  });
  const standIn = makeElement("div", { className: "gv-plain" }); // where there is no picture
  const canvas = { class: "gv-canvas", width: "100%", height: "100%", focusable: "false" };
  frame.append(makeSvgElement("svg", canvas, stage));
  const view = makeView(frame, stage, { onMove, firstBox: () => drawing.firstBox() });
  const toolbar = makeToolbar(view, makeSaveMenu(() => ({ svg: drawnSvg, name: fileName(settings) })));
  const strip = makeStrip(prefix);
  el.append(bar.element, standIn, frame, strip.element, toolbar.element);
  const clean = makeCleaner(prefix);

  let drawing = new Drawing(null);
  let drawnSvg = "";
  let settings = ""; // of the controls, when the picture was made
  let selected = "";
  /** @type {Record<string, Card>} */
  let cards = {}; // what is known of each card of the state
  /** @type {State["arrows"]} */
  let arrows = {};
  /** @type {Marks} */
  let changes = new Map();
  /** @type {Outline | null} */
  let outline = null;
  let wanted = ""; // a name that is gone to as soon as its module is open
  /** @type {string[]} */
  let pointed = []; // ids of the cards and arrows that an explanation points at
  let isPlacing = false; // the focus goes to a card that the reader did not ask for
  /** @type {State | null} */
  let last = null; // as it was given
  let room = 0; // CSS pixels for the width of a picture

  /** @param {boolean} isPartHidden */
  function onMove(isPartHidden) {
    toolbar.showHint(isPartHidden && drawing.cards.size > 0);
    strip.close();
  }

  // ---- drawing

  /**
   * @param {State} state
   * @param {boolean} isKept whether the reader looks at the same thing
   */
  function redraw(state, isKept) {
    const svg = state.svg ? clean(state.svg) : null;
    drawnSvg = state.svg;
    drawing = new Drawing(svg);
    frame.hidden = toolbar.element.hidden = strip.element.hidden = !svg;
    standIn.hidden = Boolean(svg);
    standIn.replaceChildren(...(svg ? [] : describe(state)));
    if (!svg) return stage.replaceChildren();
    focusRing.replaceChildren();
    drawing.graph.append(marks, focusRing, handles);
    const showSize = isKept ? view.keep : view.show;
    showSize(drawing.size); // before what is in it: else the browser lays out all the text twice
    stage.replaceChildren(drawing.page);
    if (frame.dataset.more && drawing.headline) view.refit(); // now that it can be measured
  }

  /** @param {string} cardId */
  function labelCard(cardId) {
    const change = changes.get(cardId);
    const card = drawing.textOf(cardId, cards[cardId]?.spoken) || (cards[cardId]?.key ?? cardId);
    const label = change ? sentence("marked_card", { card, mark: sentence(change) }) : card;
    drawing.cards.get(cardId)?.setAttribute("aria-label", label);
    drawing.cards.get(cardId)?.setAttribute("aria-pressed", String(cardId === selected));
    if (cards[cardId]?.opens) drawing.cards.get(cardId)?.setAttribute("aria-expanded", "false");
  }

  function redrawMarks() {
    const card = selected ? cards[selected] : undefined;
    bar.offer(outline ? card?.members ?? [] : []);
    strip.pin(card ?? null);
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
   * @param {ReturnType<typeof findMoved>} moved what was opened or closed
   */
  function showPicture(state, key, moved) {
    const before = moved && boundsOf(moved.before);
    const isInside = frame !== document.activeElement && frame.contains(document.activeElement);
    redraw(state, Boolean(moved));
    frame.setAttribute("aria-label", state.alt || sentence("picture"));
    for (const group of drawing.cards.values()) {
      group.setAttribute("role", "button");
      group.setAttribute("tabindex", "-1");
    }
    const cardIds = [...drawing.cards.keys()];
    const same = key && cardIds.find((cardId) => state.cards[cardId]?.key === key);
    putInTabOrder(same || moved?.after[0] || cardIds[0]);
    const after = moved && boundsOf(moved.after);
    if (before && after) view.pan(before.left - after.left, before.top - after.top);
    const first = moved && drawing.cards.get(moved.after[0]);
    if (first && frame.dataset.more) view.reveal(first.getBoundingClientRect()); // Python opened what is out of sight
    isPlacing = Boolean(moved);
    if (key || (moved && isInside)) tabStop().focus({ preventScroll: true });
    isPlacing = false;
  }
  /**
   * Returns where the upper left corner of cards is on the screen.
   *
   * @param {string[]} cardIds
   */
  function boundsOf(cardIds) {
    const boxes = cardIds.flatMap((cardId) => drawing.cards.get(cardId)?.getBoundingClientRect() ?? []);
    if (!boxes.length) return null;
    return { left: Math.min(...boxes.map((b) => b.left)), top: Math.min(...boxes.map((b) => b.top)) };
  }

  /**
   * @param {State} given
   * @param {Marks} nextChanges
   */
  function show(given, nextChanges) {
    last = given;
    room ||= frame.clientWidth;
    const state = fitted(given, room);
    strip.close();
    settings = state.settings ?? "";
    toolbar.showSettings(settings);
    const key = focusedKey();
    const moved = findMoved(outline, state.outline);
    const isOther = state.svg !== drawnSvg || !state.svg;
    const before = isOther && !moved && state.svg && nextChanges.size ? remember(drawing, cards, arrows) : null;
    [cards, arrows, changes, outline] = [state.cards, state.arrows, nextChanges, state.outline ?? null];
    if (isOther) showPicture(state, key, moved);
    strip.tell(state.svg ? state.legend ?? [] : [], state.notes ?? []);
    for (const cardId of drawing.cards.keys()) labelCard(cardId);
    if (!drawing.cards.has(selected)) selected = "";
    bar.show(drawing.cards.size ? outline : null);
    drawHandles(handles, drawing, cards, outline, (name) => opener.has(withOpened(name)));
    pointed = state.points?.ids ?? [];
    for (const group of drawing.groups) group.classList.toggle("gv-pointed", pointed.includes(bareId(group)));
    redrawMarks();
    if (before) glide(before, drawing, state);
    if (wanted) queueMicrotask(arrive); // whoever shows this state selects a card afterwards
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

  // ---- opening

  /** @param {string} name */
  function withOpened(name) {
    return [...(outline?.opened ?? []).filter((one) => one !== name), name];
  }
  /**
   * Asks for the picture in which these modules are open; returns false where there is none.
   *
   * @param {string[]} opened
   * @param {string} name of the module that it is about
   * @param {string} next the name to go to in it
   */
  function showOpened(opened, name, next = "") {
    wanted = next;
    const isThere = opener.has(opened);
    bar.say(isThere ? "" : sentence("not_on_page", { name }));
    strip.close();
    if (isThere) opener.open(opened);
    return isThere;
  }
  /** @param {string} cardId */
  function open(cardId) {
    const name = cards[cardId]?.opens;
    if (name) showOpened(withOpened(name), name);
    return Boolean(name);
  }
  /** @param {string} name */
  function close(name) {
    showOpened(closed(outline?.opened ?? [], name), name);
  }
  function openRed() {
    if (!outline) return;
    const red = outline.red;
    const all = red.reduce((opened, name) => (opened.includes(name) ? opened : [...opened, name]), outline.opened);
    showOpened(opener.has(all) ? all : withOpened(red[0]), red[0]);
  }
  /** @param {{ name: string, isOpen: boolean }} handle */
  function turn({ name, isOpen }) {
    showOpened(isOpen ? closed(outline?.opened ?? [], name) : withOpened(name), name);
    return true;
  }
  /**
   * Selects a card, and brings it into sight.
   *
   * @param {string} cardId
   */
  function goTo(cardId) {
    if (!drawing.cards.has(cardId)) return;
    if (cardId !== selected) {
      select(cardId, false);
      onSelect(selected);
    }
    const card = drawing.cards.get(cardId);
    if (card && frame.dataset.more) view.reveal(card.getBoundingClientRect());
  }
  /** Goes to what an explanation points at: opens the card where it is inside one, else brings it into sight. */
  function goToPlace() {
    const [first] = pointed;
    if (pointed.length === 1 && cards[first]?.opens && opener.has(withOpened(cards[first].opens))) return open(first);
    if (drawing.cards.has(first)) return goTo(first);
    const group = drawing.groups.find((one) => bareId(one) === first);
    if (group && frame.dataset.more) view.reveal(group.getBoundingClientRect());
  }
  frame.addEventListener("pointerover", ({ target }) => {
    const isOnPlace = target instanceof Element && target.closest(".gv-pointed") !== null;
    onPlace(isOnPlace || pointed.includes(selected));
  });
  frame.addEventListener("pointerleave", () => onPlace(pointed.includes(selected)));
  /** @param {string} name of a module or a parameter */
  function goToName(name) {
    const [, around, leaf] = outline?.names[name] ?? ["", ""];
    const said = bar.said;
    if (leaf && opener.has(withOpened(name)) && showOpened(withOpened(name), name, name)) return bar.say(said);
    if (around && showOpened(withOpened(around), around, name)) return bar.say(said);
    wanted = name;
    arrive();
  }
  /** Goes to the name that is wanted: its card is there now, or the one that contains it. */
  function arrive() {
    const cardId = outline && wanted ? cardOf(outline, wanted) : "";
    if (wanted && outline && !cardId) bar.say(sentence("found_nowhere", { name: wanted }));
    wanted = "";
    goTo(cardId);
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
    if (strip.about) strip.close();
    else if (selected) choose("");
    else if (outline?.opened.length) close(outline.opened[outline.opened.length - 1]);
  }
  /**
   * Does what a click on a card does: the second one opens it. Returns whether it did.
   *
   * @param {string} cardId
   */
  function press(cardId) {
    if (cardId && cardId === selected && open(cardId)) return true;
    choose(cardId);
    return false;
  }
  /** @param {string} cardId */
  function openOrChoose(cardId) {
    if (!open(cardId)) choose(cardId);
  }
  frame.addEventListener("focusin", ({ target }) => {
    if (!(target instanceof SVGElement) || !target.matches(":focus-visible")) return;
    const cardId = target.dataset.gv ?? "";
    const [card, box] = [cards[cardId], drawing.boxOf(cardId)];
    if (!card || !box) return;
    if (!isPlacing) view.reveal(target.getBoundingClientRect());
    focusRing.replaceChildren(makeOutline("gv-mark-focus", growBox(box, 6)));
    if (!isPlacing) strip.open(target, card);
  });
  frame.addEventListener("focusout", () => {
    focusRing.replaceChildren();
    strip.close();
  });
  listenToKeys(frame, view, {
    choose,
    openOrChoose,
    turn,
    closeOrLetGo,
    goTo: (from, key) => focusCard(drawing.neighbourOf(from, key)),
  });
  listenToPointer(frame, view, { press, open, turn, strip, cardOf: (cardId) => cards[cardId] });

  const observer = new ResizeObserver(() => {
    view.resize();
    const before = room;
    room = frame.clientWidth;
    if (!room || room === before) return;
    onRoom(room);
    if (last && fitted(last, room).svg !== drawnSvg) show(last, new Map());
  });
  observer.observe(frame);
  return {
    show,
    select,
    goToPlace,
    goToName,
    /** @param {boolean} isOn */
    lightPlace: (isOn) => { frame.classList.toggle("gv-pointing", isOn); },
    destroy() {
      observer.disconnect();
      strip.close();
    },
  };
}

/**
 * Returns a state with the one of its pictures that can be read whole in so much room, if there is one.
 *
 * @param {State} state
 * @param {number} room
 * @returns {State}
 */
function fitted(state, room) {
  const width = Number(/^[^>]* width="([\d.]+)"/.exec(state.svg)?.[1]);
  return state.narrow && room && width * LEGIBLE > room - MARGINS ? { ...state, svg: state.narrow } : state;
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
