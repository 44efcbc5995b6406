// Brings a panel into sight that the reader's own run has just made. A notebook scrolls when a cell is started; what
// the cell shows comes later, and most of its picture would stand below the window.

import { isCalm } from "./dom.js";

const WHILE = 2000; // ms in which a new panel may still get its size
const MARGIN = 6; // CSS pixels
const BY_HAND = ["wheel", "pointerdown", "keydown", "touchstart"];

/**
 * Scrolls the notebook until all of a new panel is seen, as far as the panel's first line stays in sight. Does
 * nothing outside of a notebook, nor for a cell that was not just run alone, and ends at once, on its way too, when the
 * reader does anything: what a click begins on must still be under it when the button is let go.
 *
 * @param {HTMLElement} el not in the page yet
 * @returns {() => void} ends it
 */
export function bringIntoSight(el) {
  /** @type {Element | null} */
  let scrolled = null;
  function scroll() {
    if (!el.isConnected) return;
    const pane = el.closest(".jp-WindowedPanel-outer");
    if (!pane || !isOfCellJustRun(el)) return end();
    const by = missing(el, pane);
    if (by <= 0) return;
    pane.scrollBy({ top: by, behavior: scrolling() });
    scrolled = pane;
  }
  function end() {
    observer.disconnect();
    clearTimeout(timer);
    for (const event of BY_HAND) document.removeEventListener(event, stop, true);
  }
  function stop() {
    end();
    scrolled?.scrollTo({ top: scrolled.scrollTop, behavior: "instant" });
  }
  const observer = new ResizeObserver(scroll);
  const timer = setTimeout(end, WHILE);
  observer.observe(el);
  for (const event of BY_HAND) document.addEventListener(event, stop, { capture: true, passive: true });
  return end;
}

/**
 * Tells whether a cell is the active one, or the one before it, as after Shift+Enter. After "Run all" the last one is.
 *
 * @param {HTMLElement} el what the cell shows
 */
function isOfCellJustRun(el) {
  const cell = el.closest(".jp-CodeCell");
  return [cell, cell?.nextElementSibling].some((one) => one?.classList.contains("jp-mod-active"));
}

/**
 * Returns by how much the end of a panel stands below the window, or its first line below the window's top, where that
 * is less; nothing is missing where it is not above 0. What stands below the picture leaves it room to grow.
 *
 * @param {HTMLElement} el
 * @param {Element} pane
 */
function missing(el, pane) {
  const [room, seen] = [el.getBoundingClientRect(), pane.getBoundingClientRect()];
  return Math.min(room.bottom + MARGIN - seen.bottom, room.top - MARGIN - seen.top);
}

/** @returns {ScrollBehavior} */
function scrolling() {
  return isCalm() ? "auto" : "smooth";
}
