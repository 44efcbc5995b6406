// What moves when a state follows another: cards glide from where they stood, a gradient that dies splits and draws
// back, one that comes draws itself, the sign of a cut pops up.

import { isCalm, makeSvgElement } from "./dom.js";

/** @import { Arrow, State } from "./types.d.ts" */
/** @import { Drawing } from "./drawing.js" */

const GLIDE = { duration: 380, easing: "cubic-bezier(.2,.7,.2,1)" };
const COME = { duration: 350 };
const SPLIT = { duration: 420, easing: "ease-in" };
const DRAW = { duration: 450, easing: "ease-out" };
const LEAST = 0.5; // of the picture's numbers; what moves less stays

/**
 * What is kept of a picture while the next one is drawn, by the keys of cards and arrows.
 *
 * @typedef {{ x: number, y: number }} Place
 * @typedef {{ cards: Map<string, Place>, gradients: Map<string, SVGElement>, shift: Place }} Before
 */

/**
 * @param {Drawing} drawing
 * @param {State["cards"]} cards
 * @param {State["arrows"]} arrows
 * @returns {Before}
 */
export function remember(drawing, cards, arrows) {
  const places = new Map();
  for (const cardId of drawing.cards.keys()) {
    const place = placeOf(drawing, cardId);
    if (place && cards[cardId]) places.set(cards[cardId].key, place);
  }
  return { cards: places, gradients: gradientsOf(drawing, arrows), shift: drawing.shift };
}

/**
 * Lets a picture come out of the one before.
 *
 * @param {Before} before
 * @param {Drawing} drawing
 * @param {State} state
 */
export function glide(before, drawing, state) {
  if (!before.cards.size || isCalm()) return;
  let isMoved = false;
  for (const [cardId, group] of drawing.cards) {
    const [from, to] = [before.cards.get(state.cards[cardId]?.key ?? ""), placeOf(drawing, cardId)];
    if (!to || !group.animate) continue;
    if (!from) {
      group.animate([{ opacity: 0 }, { opacity: 1 }], COME);
      continue;
    }
    const [dx, dy] = [from.x - to.x, from.y - to.y];
    if (Math.abs(dx) < LEAST && Math.abs(dy) < LEAST) continue;
    isMoved = true;
    group.animate([{ transform: `translate(${dx}px, ${dy}px)` }, { transform: "none" }], GLIDE);
  }
  for (const group of isMoved ? drawing.groups : []) {
    if (!group.classList.contains("gv-node")) group.animate?.([{ opacity: 0 }, { opacity: 1 }], GLIDE);
  }
  if (!isMoved) changeArrows(before, drawing, state.arrows);
}

/**
 * @param {Before} before
 * @param {Drawing} drawing
 * @param {Record<string, Arrow>} arrows
 */
function changeArrows(before, drawing, arrows) {
  const now = gradientsOf(drawing, arrows);
  for (const [key, group] of now) {
    const line = group.querySelector("path");
    if (before.gradients.has(key) || !line) continue;
    line.setAttribute("pathLength", "1");
    line.animate?.([{ strokeDasharray: "0 1" }, { strokeDasharray: "1 0" }], DRAW);
  }
  for (const [key, group] of before.gradients) if (!now.has(key)) drawBack(group, before, drawing);
  for (const group of drawing.groups) {
    if (!group.classList.contains("gv-cut") || !group.classList.contains("gv-changed")) continue;
    for (const part of group.querySelectorAll("text")) {
      part.style.transformBox = "fill-box";
      part.style.transformOrigin = "center";
      part.animate?.([{ transform: "scale(0)" }, { transform: "scale(1.35)" }, { transform: "none" }], COME);
    }
  }
}

/**
 * Lets a gradient that is no more split in its middle and draw back.
 *
 * @param {SVGElement} group of the picture before
 * @param {Before} before
 * @param {Drawing} drawing
 */
function drawBack(group, before, drawing) {
  const line = group.querySelector("path")?.cloneNode();
  if (!(line instanceof SVGElement) || !line.animate) return;
  line.setAttribute("pathLength", "1");
  const [x, y] = [before.shift.x - drawing.shift.x, before.shift.y - drawing.shift.y];
  const ghost = makeSvgElement("g", { "aria-hidden": "true", transform: `translate(${x} ${y})` });
  ghost.append(line);
  drawing.graph.append(ghost);
  const dashes = [{ strokeDasharray: ".5 0 .5 0" }, { strokeDasharray: "0 1 0 0" }];
  line.animate(dashes, { ...SPLIT, fill: "forwards" }).finished.then(() => ghost.remove(), () => {});
}

/**
 * @param {Drawing} drawing
 * @param {Record<string, Arrow>} arrows
 */
function gradientsOf(drawing, arrows) {
  const found = new Map();
  for (const group of drawing.groups) {
    const key = arrows[group.dataset.gv ?? ""]?.key;
    const { classList } = group;
    if (key && (classList.contains("gv-gradient") || classList.contains("gv-zeros"))) found.set(key, group);
  }
  return found;
}

/**
 * Returns where the middle of a card is, in the numbers of the page.
 *
 * @param {Drawing} drawing
 * @param {string} cardId
 */
function placeOf(drawing, cardId) {
  const box = drawing.boxOf(cardId);
  return box && { x: box.x + box.w / 2 + drawing.shift.x, y: box.y + box.h / 2 + drawing.shift.y };
}
