// A book: precomputed states and the controls that choose among them. The player in a notebook and the exported page.

import { choicesOf, readAddress, stateIndex, writeAddress } from "./address.js";
import { makeControlRow } from "./controls.js";
import { makeElement, makePrefix, targetOf } from "./dom.js";
import { openingIndex } from "./opening.js";
import { mountPanel } from "./panel.js";
import { sentence } from "./words.js";

/** @import { Book, Control, State } from "./types.d.ts" */

/** @typedef {ReturnType<typeof mountBook>} MountedBook */

const RESTED = 150; // ms: browsers refuse a page that rewrites its address too often

/**
 * Puts a book into `el`.
 *
 * @param {HTMLElement} el
 * @param {Book} book
 * @param {{
 *   onSelect?: (cardId: string) => void,
 *   onState?: (index: number) => void,
 *   onRoom?: (width: number) => void,
 *   start?: number,
 *   hasAddresses?: boolean,
 * }} [given] `hasAddresses` is for a page of its own: the book then owns the address bar and the presenter keys
 */
export function mountBook(el, book, { onSelect, onState, onRoom, start, hasAddresses = false } = {}) {
  const prefix = makePrefix();
  const first = stateIndex(book, book.controls.map((control) => control.start ?? 0));
  let index = hasAddresses ? readAddress(book, location.hash, start ?? first) : (start ?? first);
  let shown = -1; // index of the state that is drawn
  let addressTimer = 0;
  let address = location.hash; // as it was when the book last read or wrote it
  let scale = 1;

  const root = makeElement("div", { className: "gv-book" });
  const room = makeElement("div", { className: "gv-room" }, root); // its width decides between one column and two
  const isStep = (/** @type {Control} */ control) => control.kind === "steps";
  const rows = book.controls.map((control, i) => (isStep(control)
    ? makeControlRow(control, `${prefix}-step`, (choice) => choose(i, choice)) : null));
  const player = rows.find((row) => row) ?? null;
  el.append(room);
  const opener = {
    /** @param {string[]} opened */
    open: (opened) => show(openingIndex(book, opened)),
    /** @param {string[]} opened */
    has: (opened) => openingIndex(book, opened) >= 0,
  };
  const chooser = {
    /**
     * @param {string} name
     * @param {number} choice
     */
    choose: (name, choice) => choose(book.controls.findIndex((control) => control.name === name), choice),
    reset: () => go(first),
  };
  const panel = mountPanel(root, { onSelect, onRoom, chooser, opener, prefix });
  const group = { className: "gv-controls", role: "group", ariaLabel: sentence("controls") };
  if (player) root.prepend(makeElement("div", group, player.row));
  panel.expect(book.states);
  panel.setCode(book.code ?? {}, book.controls.filter((control) => !isStep(control)));

  /**
   * @param {number} control its place
   * @param {number} choice
   */
  function choose(control, choice) {
    const choices = choicesOf(book, index);
    choices[control] = choice;
    show(stateIndex(book, choices));
  }
  /** @param {number} next */
  function show(next) {
    index = next;
    const choices = book.openings ? [] : choicesOf(book, index);
    choices.forEach((choice, i) => rows[i]?.set(choice));
    panel.setChoices(Object.fromEntries(choices.map((choice, i) => [book.controls[i].name, choice])));
    if (shown === index) return;
    panel.show(scalePicture(book.states[index], scale), book.states[shown]);
    const isFirst = shown < 0;
    shown = index;
    if (isFirst) return;
    onState?.(index);
    if (hasAddresses) writeAddressSoon();
  }
  function pause() {
    player?.pause?.();
  }
  /** @param {number} next */
  function go(next) {
    pause();
    show(Math.max(0, Math.min(book.states.length - 1, next)));
  }
  /** The address follows when the reader rests. */
  function writeAddressSoon() {
    clearTimeout(addressTimer);
    addressTimer = setTimeout(() => {
      if (location.hash !== address) return; // somebody went elsewhere, and visit() is about to hear of it
      try {
        history.replaceState(null, "", writeAddress(book, index));
        address = location.hash;
      } catch {
        // a sandboxed frame has no address of its own
      }
    }, RESTED);
  }
  function visit() {
    clearTimeout(addressTimer);
    address = location.hash;
    go(readAddress(book, address, index));
  }

  /**
   * Turns pages with the keys of a presenter, and hands the keys that nothing else has to the player.
   *
   * @param {KeyboardEvent} event
   */
  function present(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || event.defaultPrevented) return;
    const turn = { PageUp: -1, PageDown: 1 }[event.key];
    if (turn && book.states.length > 1 && !book.openings && !needsPageKeys(targetOf(event))) {
      event.preventDefault();
      turnPage(turn);
    } else if (event.target === document.body) player?.press?.(event);
  }
  /** @param {number} by */
  function turnPage(by) {
    const count = book.states.length;
    go(player ? index + by : (index + by + count) % count); // controls may start anywhere, so their states go round
  }

  show(index);
  if (hasAddresses) {
    addEventListener("hashchange", visit);
    document.addEventListener("keydown", present);
  }
  return {
    go,
    get index() { return index; },
    /**
     * Lets pictures get so many times as large as they were drawn.
     *
     * @param {number} factor
     */
    enlarge(factor) {
      scale = factor;
      panel.show(scalePicture(book.states[index], scale), null);
    },
    select: panel.select,
    destroy() {
      pause();
      clearTimeout(addressTimer);
      removeEventListener("hashchange", visit);
      document.removeEventListener("keydown", present);
      panel.destroy();
      room.remove();
    },
  };
}

/**
 * Tells whether something that has the focus uses the page keys itself.
 *
 * @param {Element} element
 */
function needsPageKeys(element) {
  return Boolean(element.closest?.("select, textarea, input:not([type=checkbox], [type=radio], .gv-range)"));
}

/**
 * Returns a state whose picture says that it is larger: a picture is never shown larger than its own size, so for a
 * projector it is given a larger one.
 *
 * @param {State} state
 * @param {number} scale
 * @returns {State}
 */
export function scalePicture(state, scale) {
  if (scale === 1) return state;
  /** @type {(whole: string, name: string, size: string) => string} */
  const larger = (_, name, size) => ` ${name}="${Number(size) * scale}"`;
  const svg = state.svg.replace(/^[^>]*>/, (tag) => tag.replace(/ (width|height)="([\d.]+)"/g, larger));
  return { ...state, svg, narrow: "" };
}
