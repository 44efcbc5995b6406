import assert from "node:assert/strict";
import { test } from "node:test";
import { makeView } from "../src/view.js";

/** A view in a frame of 400 × at most 300; `place()` says where the picture is. */
function makeFrame(first = null) {
  const [frame, stage] = [{ clientWidth: 400, dataset: {}, style: {} }, {}];
  const height = () => Math.min(300, Number(/, (\d+)px\)$/.exec(frame.style.height)[1]));
  Object.defineProperty(frame, "clientHeight", { get: height });
  frame.getBoundingClientRect = () => ({ left: 0, top: 0, right: 400, bottom: height() });
  stage.setAttribute = (_, text) => { frame.transform = text; };
  frame.moves = [];
  const onMove = (isPartHidden) => frame.moves.push(isPartHidden);
  const view = makeView(frame, stage, { onMove, firstBox: () => first });
  const place = () => frame.transform.match(/-?[\d.]+/g).map(Number);
  return { frame, view, place };
}

const SMALL = { width: 100, height: 50, natural: 2, smallestText: 10 };
const HUGE = { width: 4000, height: 100, natural: 1.5, smallestText: 10 };

test("a small picture starts whole, in the middle, at its own size", () => {
  const { frame, view, place } = makeFrame();
  view.show(SMALL);
  assert.deepEqual(place(), [100, 4, 2]);
  assert.equal(frame.style.height, "min(var(--gv-height, 528px), 108px)");
  assert.equal(frame.dataset.more, "");
});

test("one that would be too small to read starts readable, and says what is hidden", () => {
  const { frame, view, place } = makeFrame();
  view.show(HUGE);
  assert.deepEqual(place(), [4, 4, 1.2]);
  assert.equal(frame.dataset.more, "right");
  assert.equal(frame.moves.at(-1), true);
  view.fit();
  assert.equal(place()[2], 0.098);
  assert.equal(frame.dataset.more, "");
  view.reset();
  assert.equal(place()[2], 1.2);
});

test("one of which not all is seen starts at its first card", () => {
  const { frame, view, place } = makeFrame({ x: 600, y: 10, w: 100, h: 40 });
  view.show(HUGE);
  assert.deepEqual(place(), [400 - 4 - 1.2 * 700, 4, 1.2]);
  assert.equal(frame.dataset.more, "left right");
});

test("zoom keeps its point where it is, and has limits", () => {
  const { view, place } = makeFrame();
  view.show(SMALL);
  view.zoom(2, 100, 4);
  assert.deepEqual(place(), [100, 4, 4]);
  for (let i = 0; i < 20; i++) view.zoom(2);
  assert.equal(place()[2], 10);
  for (let i = 0; i < 40; i++) view.zoom(0.5);
  assert.equal(place()[2], 0.5);
});

test("a picture cannot be moved out of sight", () => {
  const { view, place } = makeFrame();
  view.show(SMALL);
  view.pan(1e6, 0);
  assert.equal(place()[0], 320);
  view.pan(-1e6, 0);
  assert.equal(place()[0], -120);
});

test("the reader's place stays in a picture of the same size, and her zoom in any", () => {
  const { view, place } = makeFrame();
  view.show(SMALL);
  view.pan(30, 0);
  view.show({ ...SMALL });
  assert.deepEqual(place(), [130, 4, 2]);
  view.show({ ...SMALL, width: 101 });
  assert.deepEqual(place(), [99, 4, 2]);
  view.zoom(1.5);
  view.show(SMALL);
  assert.equal(place()[2], 3);
});

test("nothing moves where nothing was shown, or the frame is hidden", () => {
  const { frame, view } = makeFrame();
  view.fit();
  view.reset();
  view.zoom(2);
  view.resize();
  frame.clientWidth = 0;
  view.show(SMALL);
  assert.equal(frame.transform, undefined);
});
