// The box with all that is known of a card, beside the card that the reader points at.

import { makeElement } from "./dom.js";
import { sentence } from "./words.js";

/** @import { Card } from "./types.d.ts" */

const GAP = 10; // CSS pixels between a card and its box
const EDGE = 8; // CSS pixels between a box and the window's edge

/**
 * Makes a box in the browser's top layer, so that no cell clips it.
 *
 * @param {HTMLElement} root
 * @param {string} prefix
 */
export function makeFactsBox(root, prefix) {
  const box = makeElement("div", { className: "gv-facts", id: `${prefix}-facts`, role: "tooltip", popover: "manual" });
  root.append(box);
  /** @type {Element | null} */
  let about = null; // the card that it stands beside
  let timer = 0;

  function placeBox() {
    if (!about) return;
    const card = about.getBoundingClientRect();
    const frame = root.getBoundingClientRect();
    const isInSight = card.bottom >= Math.max(frame.top, 0) && card.top <= Math.min(frame.bottom, innerHeight);
    if (!isInSight) return close();
    const { left, top } = placeBeside(card, box.offsetWidth, box.offsetHeight);
    box.style.left = `${left}px`;
    box.style.top = `${top}px`;
  }
  /**
   * @param {Element} element
   * @param {Card} card
   */
  function open(element, card) {
    clearTimeout(timer);
    about = element;
    const list = makeElement("dl");
    for (const [label, value] of card.facts ?? []) {
      list.append(makeElement("dt", {}, label), makeElement("dd", {}, String(value)));
    }
    const title = makeElement("p", { className: "gv-facts-title" }, card.key);
    const opens = card.opens ? sentence("opens", { name: card.opens }) : "";
    box.replaceChildren(title, makeElement("p", { className: "gv-facts-opens", hidden: !opens }, opens), list);
    box.scrollTop = 0;
    if (!box.matches(":popover-open")) {
      box.showPopover?.();
      addEventListener("scroll", placeBox, { capture: true, passive: true });
    }
    placeBox();
  }
  function close() {
    clearTimeout(timer);
    removeEventListener("scroll", placeBox, { capture: true });
    if (about && box.isConnected) box.hidePopover?.();
    about = null;
  }
  const keep = () => clearTimeout(timer);
  /**
   * Opens in `ms`, unless something else is asked for first.
   *
   * @param {number} ms
   * @param {Element} element
   * @param {Card} card
   */
  function openSoon(ms, element, card) {
    clearTimeout(timer);
    timer = setTimeout(() => open(element, card), ms);
  }
  function closeSoon() {
    clearTimeout(timer);
    timer = setTimeout(close, 120);
  }
  box.addEventListener("pointerenter", keep); // what it says can be read and copied
  box.addEventListener("pointerleave", closeSoon);
  return {
    open, openSoon, close, closeSoon, keep,
    get about() { return about; },
  };
}

/**
 * Returns where a box goes: beside the card where there is room, else below or above it.
 *
 * @param {DOMRect} card
 * @param {number} width
 * @param {number} height
 */
function placeBeside(card, width, height) {
  const taken = GAP + EDGE;
  const places = [
    { free: innerWidth - card.right - taken - width, left: card.right + GAP, top: card.top },
    { free: card.left - taken - width, left: card.left - width - GAP, top: card.top },
    { free: innerHeight - card.bottom - taken - height, left: card.left, top: card.bottom + GAP },
    { free: card.top - taken - height, left: card.left, top: card.top - height - GAP },
  ];
  const roomiest = places.reduce((best, place) => (place.free > best.free ? place : best));
  const { left, top } = places.find(({ free }) => free >= 0) ?? roomiest;
  return {
    left: Math.max(EDGE, Math.min(left, innerWidth - width - EDGE)),
    top: Math.max(EDGE, Math.min(top, innerHeight - height - EDGE)),
  };
}
