// The mouse in a picture: a drag moves it, a click selects, a second one opens; a card that is pointed at shows its
// facts.

import { targetOf } from "./dom.js";
import { cardAround } from "./drawing.js";
import { handleAround } from "./handles.js";

/** @import { Card } from "./types.d.ts" */
/** @import { View } from "./picture_keys.js" */

const SLACK = 4; // CSS pixels that a pointer may move in a click

/**
 * Tells whether a pointer still is where it clicked: a click tells whole CSS pixels alone, a pointer fractions of them,
 * on a zoomed page, say.
 *
 * @param {{ x: number, y: number }} clicked
 * @param {number} x
 * @param {number} y
 */
const isNear = (clicked, x, y) => Math.abs(clicked.x - x) < 1 && Math.abs(clicked.y - y) < 1;

/**
 * @param {HTMLElement} frame
 * @param {View} view
 * @param {{
 *   press(cardId: string): boolean,
 *   open(cardId: string): boolean,
 *   turn(handle: { name: string, isOpen: boolean }): boolean,
 *   cardOf(cardId: string): Card | undefined,
 *   strip: ReturnType<typeof import("./strip.js").makeStrip>,
 * }} given
 */
export function listenToPointer(frame, view, { press, open, turn, cardOf, strip }) {
  /** @type {{ x: number, y: number, isFar: boolean } | null} */
  let drag = null;
  let isTouch = false; // a finger points at nothing before it presses, and at nothing afterwards
  frame.addEventListener("pointerdown", (event) => {
    isTouch = event.pointerType === "touch";
    if (event.button === 0) drag = { x: event.clientX, y: event.clientY, isFar: false };
  });
  frame.addEventListener("pointermove", (event) => {
    if (!drag || !(event.buttons & 1)) return;
    const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
    if (!drag.isFar && Math.hypot(dx, dy) < SLACK) return;
    if (!drag.isFar) frame.setPointerCapture(event.pointerId);
    drag = { x: event.clientX, y: event.clientY, isFar: true };
    frame.classList.add("gv-dragging");
    const hidden = frame.dataset.more ?? "";
    if (isTouch) view.pan(/left|right/.test(hidden) ? dx : 0, /top|bottom/.test(hidden) ? dy : 0); // as in access.css
    else view.pan(dx, dy);
  });
  for (const end of ["pointerup", "pointercancel"]) {
    frame.addEventListener(end, () => frame.classList.remove("gv-dragging"));
  }
  let pressed = ""; // the card that the first click of a double click selected
  frame.addEventListener("click", (event) => {
    if (drag?.isFar || event.detail > 1) return; // a double click has its own event
    const handle = handleAround(event.target);
    const cardId = cardAround(targetOf(event))?.dataset.gv ?? "";
    pressed = "";
    const isOpened = handle ? turn(handle) : press(cardId);
    if (isOpened) still = { x: event.clientX, y: event.clientY };
    else pressed = cardId;
  });
  frame.addEventListener("dblclick", (event) => {
    const cardId = cardAround(targetOf(event))?.dataset.gv ?? "";
    if (!pressed || cardId !== pressed || !open(cardId)) return; // another picture is there by now
    still = { x: event.clientX, y: event.clientY };
  });

  /** @type {{ x: number, y: number } | null} */
  let still = null; // where a click opened something: what then lies under the pointer was not pointed at
  frame.addEventListener("pointerover", ({ target, buttons, clientX, clientY, pointerType }) => {
    if (pointerType === "touch") return;
    if (still && isNear(still, clientX, clientY)) return;
    still = null;
    const element = cardAround(target);
    const card = cardOf(element?.dataset.gv ?? "");
    if (!element || !card) strip.closeSoon();
    else if (element === strip.about || buttons) strip.keep();
    else strip.openSoon(strip.about ? 40 : 110, element, card);
  });
  frame.addEventListener("pointerleave", ({ pointerType }) => {
    if (pointerType !== "touch") strip.closeSoon();
  });

  frame.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return; // a plain wheel scrolls the notebook
    event.preventDefault();
    const around = frame.getBoundingClientRect();
    const turned = Math.max(-60, Math.min(60, event.deltaY));
    view.zoom(Math.exp(-turned / 240), event.clientX - around.left, event.clientY - around.top);
  }, { passive: false });
}
