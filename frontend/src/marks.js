// What is selected, lit and changed in a picture.

import { makeSvgElement } from "./dom.js";
import { boxAround, growBox, holdsBox, shapesOf } from "./geometry.js";
import { sentence } from "./words.js";

/** @import { Box, Card, Marks } from "./types.d.ts" */
/** @import { Drawing } from "./drawing.js" */

const LETTER = 7.8; // width of a letter of a tag, in the picture's numbers

/**
 * Lights and dims the groups of a drawing, and draws outlines and tags into `layer`.
 *
 * @param {SVGElement} layer
 * @param {Drawing} drawing
 * @param {Marks} changes
 * @param {string} selected id of a card, or ""
 * @param {Card | undefined} card what is selected
 */
export function drawMarks(layer, drawing, changes, selected, card) {
  const sharing = card && card.memory?.length > 1 ? card.memory.filter((cardId) => drawing.cards.has(cardId)) : [];
  light(drawing, selected, card, sharing);
  glow(drawing, changes);
  const marks = markMemory(drawing, sharing);
  const box = card && drawing.boxOf(selected);
  if (box) marks.push({ outline: makeOutline("gv-mark-selected", growBox(box, 1)) });
  const outlines = marks.flatMap(({ outline }) => outline ?? []);
  const tags = marks.flatMap(({ tag }) => tag ?? []);
  layer.replaceChildren(...outlines, ...tags); // tags above all outlines
}

/** @typedef {{ outline?: SVGElement, tag?: SVGElement }} Mark */

/**
 * Lights what belongs to the selected card, and dims the rest.
 *
 * @param {Drawing} drawing
 * @param {string} selected
 * @param {Card | undefined} card
 * @param {string[]} sharing ids of cards
 */
function light(drawing, selected, card, sharing) {
  const lit = new Set(card ? [selected, ...card.lit ?? [], ...sharing] : []);
  for (const group of drawing.groups) {
    const isLit = lit.has(group.dataset.gv ?? "") || lit.has(bareId(group)) || surrounds(group, drawing, sharing);
    group.classList.toggle("gv-lit", Boolean(card) && isLit);
    group.classList.toggle("gv-dim", Boolean(card) && !isLit);
  }
}

/**
 * Returns the id without the "f" of an arrow's second half.
 *
 * @param {SVGElement} group
 */
export function bareId(group) {
  return (group.dataset.gv ?? "").replace(/f$/, "");
}

/**
 * Tells whether a box of the picture has one of these cards in it.
 *
 * @param {SVGElement} group
 * @param {Drawing} drawing
 * @param {string[]} cardIds
 */
function surrounds(group, drawing, cardIds) {
  if (!cardIds.length || !group.classList.contains("gv-cluster")) return false;
  const outer = boxAround(shapesOf(group).slice(0, 1));
  return cardIds.some((cardId) => {
    const inner = drawing.boxOf(cardId);
    return outer && inner && holdsBox(outer, inner);
  });
}

/**
 * Lets what changed glow for a while.
 *
 * @param {Drawing} drawing
 * @param {Marks} changes
 */
function glow(drawing, changes) {
  for (const group of drawing.groups) group.classList.toggle("gv-changed", changes.has(bareId(group)));
}

/**
 * @param {Drawing} drawing
 * @param {string[]} cardIds
 * @returns {Mark[]}
 */
function markMemory(drawing, cardIds) {
  return cardIds.flatMap((cardId) => {
    const box = drawing.boxOf(cardId);
    if (!box) return [];
    const tag = makeTag("gv-tag-memory", box.x - 6, box.y + box.h - 3, sentence("same_memory"));
    return [{ outline: makeOutline("gv-mark-memory", growBox(box, 4)), tag }];
  });
}

/**
 * Makes a word on a corner, where neither title nor arrow is.
 *
 * @param {string} className
 * @param {number} x
 * @param {number} y
 * @param {string} word
 */
function makeTag(className, x, y, word) {
  const width = word.length * LETTER + 8;
  const ground = makeSvgElement("rect", { x, y, width, height: 16, rx: 3 });
  const text = makeSvgElement("text", { x: x + width / 2, y: y + 12 }, word);
  return makeSvgElement("g", { class: className }, ground, text);
}

/**
 * @param {string} className
 * @param {Box} box
 */
export function makeOutline(className, box) {
  return makeSvgElement("rect", { class: className, x: box.x, y: box.y, width: box.w, height: box.h, rx: 8 });
}
