import assert from "node:assert/strict";
import { test } from "node:test";
import { bringIntoSight } from "../src/sight.js";
import { openPage } from "./page.js";

const WINDOW = { top: 100, bottom: 700 };

/** A notebook with a panel, that begins and ends there; `resize()` is what a browser tells. */
function makeNotebook({ top, bottom, active = 1, calm = false }) {
  openPage();
  globalThis.matchMedia = () => ({ matches: calm });
  let [resize, isWatched] = [() => {}, false];
  globalThis.ResizeObserver = class {
    constructor(told) { resize = told; }
    observe() { isWatched = true; }
    disconnect() { isWatched = false; }
  };
  document.body.innerHTML = `<div class="jp-WindowedPanel-outer">
    <div class="jp-CodeCell"><p></p></div>
    <div class="jp-CodeCell"></div><div class="jp-CodeCell"></div></div>`;
  document.querySelectorAll(".jp-CodeCell")[active].classList.add("jp-mod-active");
  const [pane, el] = [".jp-WindowedPanel-outer", "p"].map((one) => document.querySelector(one));
  const [scrolls, stops] = [[], []];
  pane.scrollTo = (how) => stops.push(how);
  pane.scrollBy = (how) => scrolls.push(how);
  pane.getBoundingClientRect = () => WINDOW;
  el.getBoundingClientRect = () => ({ top, bottom });
  const end = bringIntoSight(el);
  return { el, scrolls, stops, end, resize: () => { if (isWatched) resize(); }, isWatched: () => isWatched };
}

test("after Shift+Enter a new panel comes into sight, and no more than that", () => {
  const { scrolls, resize, end } = makeNotebook({ top: 300, bottom: 800 });
  resize();
  assert.deepEqual(scrolls, [{ top: 106, behavior: "smooth" }]);
  end();
});

test("the first line of a high panel stays in sight", () => {
  const { scrolls, resize, end } = makeNotebook({ top: 300, bottom: 1500, active: 0, calm: true });
  resize();
  assert.deepEqual(scrolls, [{ top: 194, behavior: "auto" }]);
  end();
});

test("what is seen already stays where it is", () => {
  const { scrolls, resize, end } = makeNotebook({ top: 300, bottom: 650 });
  resize();
  assert.deepEqual(scrolls, []);
  end();
});

test("nothing scrolls where another cell is active, as after Run all, and outside of a notebook", () => {
  const elsewhere = makeNotebook({ top: 300, bottom: 800, active: 2 });
  elsewhere.resize();
  const outside = makeNotebook({ top: 300, bottom: 800 });
  document.body.append(outside.el);
  outside.resize();
  for (const { scrolls, isWatched } of [elsewhere, outside]) {
    assert.deepEqual(scrolls, []);
    assert.equal(isWatched(), false);
  }
});

test("whatever the reader does ends it", () => {
  for (const event of ["wheel", "pointerdown", "keydown", "touchstart"]) {
    const { scrolls, stops, resize } = makeNotebook({ top: 300, bottom: 800 });
    document.dispatchEvent(new Event(event));
    resize();
    assert.deepEqual([scrolls, stops], [[], []]);
  }
});

test("a click on the way stops it where it is, once", () => {
  const { stops, resize } = makeNotebook({ top: 300, bottom: 800 });
  resize();
  for (let i = 0; i < 2; i++) document.dispatchEvent(new Event("pointerdown"));
  assert.deepEqual(stops, [{ top: 0, behavior: "instant" }]);
});
