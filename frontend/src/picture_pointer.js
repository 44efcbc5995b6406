// The mouse in a picture: a drag moves it, a click selects, a card that is pointed at shows its facts.

import { targetOf } from "./dom.js";
import { cardAround } from "./drawing.js";

/** @import { Card } from "./types.d.ts" */
/** @import { View } from "./picture_keys.js" */

const SLACK = 4; // CSS pixels that a pointer may move in a click

/**
 * @param {HTMLElement} frame
 * @param {View} view
 * @param {{
 *   choose(cardId: string): void,
 *   cardOf(cardId: string): Card | undefined,
 *   factsBox: ReturnType<typeof import("./facts_box.js").makeFactsBox>,
 * }} given
 */
export function listenToPointer(frame, view, { choose, cardOf, factsBox }) {
  /** @type {{ x: number, y: number, isFar: boolean } | null} */
  let drag = null;
  frame.addEventListener("pointerdown", (event) => {
    if (event.button === 0) drag = { x: event.clientX, y: event.clientY, isFar: false };
  });
  frame.addEventListener("pointermove", (event) => {
    if (!drag || !(event.buttons & 1)) return;
    const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
    if (!drag.isFar && Math.hypot(dx, dy) < SLACK) return;
    if (!drag.isFar) frame.setPointerCapture(event.pointerId);
    drag = { x: event.clientX, y: event.clientY, isFar: true };
    frame.classList.add("gv-dragging");
    view.pan(dx, dy);
  });
  for (const end of ["pointerup", "pointercancel"]) {
    frame.addEventListener(end, () => frame.classList.remove("gv-dragging"));
  }
  frame.addEventListener("click", (event) => {
    if (drag?.isFar || event.detail > 1) return; // the second click of a double click says nothing new
    choose(cardAround(targetOf(event))?.dataset.gv ?? "");
  });

  frame.addEventListener("pointerover", ({ target, buttons }) => {
    const element = cardAround(target);
    const card = cardOf(element?.dataset.gv ?? "");
    if (!element || !card) factsBox.closeSoon();
    else if (element === factsBox.about || buttons) factsBox.keep();
    else factsBox.openSoon(factsBox.about ? 40 : 110, element, card);
  });
  frame.addEventListener("pointerleave", () => factsBox.closeSoon());

  frame.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return; // a plain wheel scrolls the notebook
    event.preventDefault();
    const around = frame.getBoundingClientRect();
    const turned = Math.max(-60, Math.min(60, event.deltaY));
    view.zoom(Math.exp(-turned / 240), event.clientX - around.left, event.clientY - around.top);
  }, { passive: false });
}
