// ⊕ on the cards of an outline that can be opened, ⊖ on what is open.

import { makeSvgElement } from "./dom.js";
import { boxAround, holdsBox, shapesOf } from "./geometry.js";
import { sentence } from "./words.js";

/** @import { Box, Card, Outline } from "./types.d.ts" */
/** @import { Drawing } from "./drawing.js" */

const RADIUS = 7; // in the picture's numbers
const REACH = 11; // of a click

/**
 * Draws the handles into `layer`. What they do, the frame of the picture listens for.
 *
 * @param {SVGElement} layer
 * @param {Drawing} drawing
 * @param {Record<string, Card>} cards
 * @param {Outline | null} outline
 * @param {(name: string) => boolean} has whether what a card opens is there to be shown
 */
export function drawHandles(layer, drawing, cards, outline, has) {
  if (!outline) return layer.replaceChildren();
  const handles = [];
  for (const cardId of drawing.cards.keys()) {
    const [name, box] = [cards[cardId]?.opens, drawing.boxOf(cardId)];
    if (name && box) handles.push(makeHandle("open", name, box, has(name)));
  }
  for (const [name, cardIds] of Object.entries(outline.inside)) {
    const inner = joinBoxes(cardIds.flatMap((cardId) => drawing.boxOf(cardId) ?? []));
    const depth = outline.opened.filter((other) => name.startsWith(`${other}.`)).length;
    const box = frameOf(drawing, cardIds) ?? (inner && { ...inner, w: depth * 2.6 * RADIUS }); // else at its left
    if (box) handles.push(makeHandle("close", name, box, true));
  }
  layer.replaceChildren(...handles);
}

/**
 * Returns the frame around just these cards; null where there is none.
 *
 * @param {Drawing} drawing
 * @param {string[]} cardIds
 */
function frameOf(drawing, cardIds) {
  for (const group of drawing.groups) {
    const frame = group.classList.contains("gv-cluster") ? boxAround(shapesOf(group).slice(0, 1)) : null;
    if (!frame) continue;
    const inside = [...drawing.cards.keys()].filter((cardId) => {
      const box = drawing.boxOf(cardId);
      return box && holdsBox(frame, box);
    });
    if (inside.length === cardIds.length && cardIds.every((cardId) => inside.includes(cardId))) return frame;
  }
  return null;
}

/**
 * @param {"open" | "close"} kind
 * @param {string} name
 * @param {Box} box
 * @param {boolean} isThere
 */
function makeHandle(kind, name, box, isThere) {
  const [x, y] = [box.x + box.w, box.y]; // on a corner, where neither title nor arrow is
  const sign = kind === "open" ? `M${x - 4} ${y}h8M${x} ${y - 4}v8` : `M${x - 4} ${y}h8`;
  const label = sentence(kind, { name });
  // A card that has the focus opens by Enter; what is open has no card of its own.
  const spoken = kind === "open"
    ? { "aria-hidden": "true" }
    : { role: "button", tabindex: "0", "aria-label": label, "aria-expanded": "true" };
  const handle = makeSvgElement(
    "g", { class: `gv-handle gv-handle-${kind}${isThere ? "" : " gv-handle-away"}`, "data-name": name, ...spoken },
    makeSvgElement("path", { class: "gv-handle-reach", d: circle(x, y, REACH) }),
    makeSvgElement("path", { class: "gv-handle-disc", d: circle(x, y, RADIUS) }),
    makeSvgElement("path", { class: "gv-handle-sign", d: sign }),
  );
  const title = makeSvgElement("title");
  title.textContent = label;
  handle.append(title);
  return handle;
}

/**
 * Returns what the handle stands for that something in a picture belongs to.
 *
 * @param {EventTarget | null} target
 */
export function handleAround(target) {
  const handle = target instanceof Element ? /** @type {SVGElement | null} */ (target.closest(".gv-handle")) : null;
  if (!handle) return null;
  return { name: handle.dataset.name ?? "", isOpen: handle.classList.contains("gv-handle-close") };
}

/**
 * @param {number} x
 * @param {number} y
 * @param {number} r
 */
function circle(x, y, r) {
  return `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`;
}

/**
 * Returns the box around boxes; null around none.
 *
 * @param {Box[]} boxes
 * @returns {Box | null}
 */
export function joinBoxes(boxes) {
  if (!boxes.length) return null;
  const [x, y] = [Math.min(...boxes.map((b) => b.x)), Math.min(...boxes.map((b) => b.y))];
  const right = Math.max(...boxes.map((b) => b.x + b.w));
  const bottom = Math.max(...boxes.map((b) => b.y + b.h));
  return { x, y, w: right - x, h: bottom - y };
}
