import assert from "node:assert/strict";
import { test } from "node:test";
import { Drawing } from "../src/drawing.js";
import { boxAround, chipOf, holdsBox, nearestCard, readingOrder } from "../src/geometry.js";
import { makeSvgElement } from "../src/dom.js";
import { cleanSvg } from "../src/safe_svg.js";
import { drawSvg, openPage } from "./page.js";

openPage();

const box = (x, y, w = 10, h = 10) => ({ x, y, w, h });

test("a box is around ellipses, polygons and paths", () => {
  const ellipse = makeSvgElement("ellipse", { cx: 5, cy: 5, rx: 3, ry: 2 });
  const polygon = makeSvgElement("polygon", { points: "0,4 1,20 -2,6" });
  const path = makeSvgElement("path", { d: "M1,1L30,2C3.5,4 5,6 7,8" });
  assert.deepEqual(boxAround([ellipse]), { x: 2, y: 3, w: 6, h: 4 });
  assert.deepEqual(boxAround([ellipse, polygon, path]), { x: -2, y: 1, w: 32, h: 19 });
  assert.equal(boxAround([]), null);
});

test("a box holds another with equal edges, and none that sticks out", () => {
  assert.ok(holdsBox(box(0, 0), box(0, 0)));
  for (const [x, y] of [[-1, 0], [1, 0], [0, -1], [0, 1]]) assert.ok(!holdsBox(box(0, 0), box(x, y)));
});

test("cards are read row by row", () => {
  const boxes = new Map([["d", box(30, 52)], ["b", box(20, 3)], ["c", box(0, 50)], ["a", box(0, 0)]]);
  assert.deepEqual(readingOrder(boxes), ["a", "b", "c", "d"]);
});

test("above and below is the nearest card, sideways counting double", () => {
  const boxes = new Map([["top", box(0, 0)], ["left", box(-30, 30)], ["below", box(4, 60)], ["beside", box(20, 2)]]);
  assert.equal(nearestCard(boxes, "top", 1), "below");
  assert.equal(nearestCard(boxes, "below", -1), "top");
  assert.equal(nearestCard(boxes, "top", -1), null);
});

test("an arrow's sign stands on its chip, else in the middle of its line", () => {
  const line = makeSvgElement("path", { d: "M0,0L10,0L20,0L30,0" });
  assert.deepEqual(chipOf(makeSvgElement("g", {}, line)), { x: 20, y: 0, w: 0, h: 0 });
  const chip = makeSvgElement("path", { stroke: "none", d: "M4,1L8,3" });
  const text = makeSvgElement("text", {}, "2");
  assert.deepEqual(chipOf(makeSvgElement("g", {}, line.cloneNode(), chip, text)), { x: 4, y: 1, w: 4, h: 2 });
});

test("keys lead from card to card and stop at the ends", () => {
  const drawing = new Drawing(cleanSvg(drawSvg(3), "p"));
  const walk = (from, ...keys) => keys.reduce((cardId, key) => drawing.neighbourOf(cardId, key), from);
  assert.equal(walk("n0", "ArrowRight", "ArrowRight", "ArrowRight"), "n2");
  assert.equal(walk("n1", "ArrowLeft", "ArrowLeft"), "n0");
  assert.equal(walk("n1", "End"), "n2");
  assert.equal(walk("n1", "Home"), "n0");
  assert.equal(walk("n1", "ArrowDown"), "n1");
});

test("a drawing knows its size and its upper end", () => {
  const drawing = new Drawing(cleanSvg(drawSvg(3), "p"));
  assert.deepEqual(drawing.size, { width: 300, height: 75, natural: 4 / 3, smallestText: 14 });
  assert.equal(drawing.top, -71);
  assert.deepEqual([...drawing.cards.keys()], ["n0", "n1", "n2"]);
  assert.deepEqual([...new Drawing(null).cards.keys()], []);
});
