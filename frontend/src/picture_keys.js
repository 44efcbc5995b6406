// The keys of a picture: arrows go from card to card or move the picture, Enter opens or selects, + and - zoom.

import { cardAround } from "./drawing.js";
import { handleAround } from "./handles.js";
import { ZOOM_IN, ZOOM_OUT } from "./toolbar.js";

const FAR = 48; // CSS pixels that an arrow key moves the picture
/** @type {Record<string, [dx: number, dy: number]>} */
const PANS = { ArrowLeft: [FAR, 0], ArrowRight: [-FAR, 0], ArrowUp: [0, FAR], ArrowDown: [0, -FAR] };

/** @typedef {ReturnType<typeof import("./view.js").makeView>} View */

/**
 * Listens to the keys pressed in a picture's frame, and keeps those that it uses from the notebook.
 *
 * @param {HTMLElement} frame
 * @param {View} view
 * @param {{
 *   choose(cardId: string): void,
 *   openOrChoose(cardId: string): void,
 *   turn(handle: { name: string, isOpen: boolean }): void,
 *   closeOrLetGo(): void,
 *   goTo(from: string, key: string): void,
 * }} actions
 */
export function listenToKeys(frame, view, actions) {
  /** @type {Record<string, () => void>} */
  const ofPicture = {
    "+": () => view.zoom(ZOOM_IN),
    "=": () => view.zoom(ZOOM_IN),
    "-": () => view.zoom(ZOOM_OUT),
    _: () => view.zoom(ZOOM_OUT),
    0: () => view.reset(),
    f: () => view.fit(),
    Escape: actions.closeOrLetGo,
  };
  /**
   * Does what a key does on a card; returns false where that is nothing.
   *
   * @param {string} key
   * @param {string} cardId
   */
  function actOnCard(key, cardId) {
    if (Object.hasOwn(PANS, key) || key === "Home" || key === "End") actions.goTo(cardId, key);
    else if (key === "Enter") actions.openOrChoose(cardId);
    else if (key === " ") actions.choose(cardId);
    else return false;
    return true;
  }
  /** @param {KeyboardEvent} event */
  function act({ key, target, shiftKey, ctrlKey, metaKey, altKey }) {
    if (ctrlKey || metaKey || altKey) return false;
    const cardId = cardAround(target)?.dataset.gv;
    const handle = handleAround(target);
    const isPan = Object.hasOwn(PANS, key) && (shiftKey || !cardId);
    if (handle && (key === "Enter" || key === " ")) actions.turn(handle);
    else if (isPan) view.pan(...PANS[key]);
    else if (cardId && actOnCard(key, cardId)) return true;
    else if (Object.hasOwn(ofPicture, key)) ofPicture[key]();
    else return false;
    return true;
  }
  frame.addEventListener("keydown", (event) => {
    if (!act(event)) return;
    event.preventDefault();
    event.stopPropagation(); // the notebook has plans of its own for most keys
  });
}
