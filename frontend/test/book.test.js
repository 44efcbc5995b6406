import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";
import { mountBook } from "../src/book.js";
import { makeState, openPage, press } from "./page.js";

let el;
beforeEach(() => {
  openPage();
  el = document.createElement("div");
  document.body.append(el);
});

const find = (selector) => el.querySelector(selector);
const said = () => find(".gv-said").textContent;

function makeBook(...controls) {
  const count = controls.reduce((product, { options }) => product * options.length, 1);
  const states = [...Array(count).keys()].map((i) => makeState(["a"], { sentence: `state ${i}` }));
  return { title: "t", code: { text: "b = copy(a)" }, controls: controls.map((c) => ({ start: 0, ...c })), states };
}

const control = (kind, name, ...options) => ({ name, label: name, kind, options });
const KINDS = makeBook(
  control("buttons", "copy", "clone", "detach"),
  control("dropdown", "f", "sin", "cos"),
  control("checkbox", "on", "False", "True"),
  control("slider", "k", "1", "2"),
  control("counter", "again", "0", "1"),
);
const player = () => makeBook({ ...control("steps", "step", "0", "1", "2") });

function set(element, properties, event) {
  Object.assign(element, properties);
  element.dispatchEvent(new Event(event, { bubbles: true }));
}

test("each kind of control chooses its state, and Reset goes back", () => {
  const indices = [];
  mountBook(el, KINDS, { onState: (index) => indices.push(index) });
  set(el.querySelectorAll(".gv-buttons input")[1], { checked: true }, "change");
  set(find("select"), { selectedIndex: 1 }, "change");
  set(find("[type=checkbox]"), { checked: true }, "change");
  set(find("[type=range]"), { value: "1" }, "input");
  find(".gv-control-counter button").click();
  assert.deepEqual(indices, [16, 24, 28, 30, 31]);
  assert.equal(said(), "state 31");
  assert.equal(find(".gv-slider output").value, "2");
  const counter = find(".gv-control-counter button");
  assert.deepEqual([counter.textContent, counter.getAttribute("aria-disabled")], ["again (1)", "true"]);
  counter.click();
  assert.equal(said(), "state 31");
  find(".gv-reset").click();
  assert.equal(said(), "state 0");
});

test("every control has a name", () => {
  mountBook(el, KINDS);
  const group = find("[role=radiogroup]");
  assert.equal(group.ariaLabel, "copy");
  for (const [selector, name] of [["select", "f"], ["[type=checkbox]", "on"], ["[type=range]", "k"]]) {
    assert.equal(find(selector).labels[0].textContent, name);
  }
});

test("a player goes by buttons, slider and keys, and stops at its ends", () => {
  mountBook(el, player());
  const [first, back, , next, last] = el.querySelectorAll(".gv-transport button");
  const spoken = () => find(".gv-steps output").value;
  next.click();
  assert.deepEqual([said(), spoken()], ["state 1", "step 1 of 2"]);
  last.click();
  next.click();
  assert.equal(said(), "state 2");
  back.click();
  assert.equal(said(), "state 1");
  first.click();
  assert.equal(said(), "state 0");
  set(find(".gv-range"), { value: "2" }, "input");
  assert.equal(said(), "state 2");
  assert.ok(press(find(".gv-range"), "Home"));
  assert.equal(said(), "state 0");
  assert.ok(!press(find(".gv-range"), "ArrowRight", { altKey: true }));
  assert.ok(!press(find(".gv-transport button"), " ")); // it presses the button
  assert.ok(find(".gv-reset").hidden);
});

test("a player plays to its end, can be paused, and starts again", (t) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  t.after(() => mock.timers.reset());
  const mounted = mountBook(el, player());
  const play = el.querySelectorAll(".gv-transport button")[2];
  play.click();
  assert.equal(play.title, "Pause");
  mock.timers.tick(450);
  assert.equal(said(), "state 1");
  play.click();
  mock.timers.tick(10_000);
  assert.deepEqual([said(), play.title], ["state 1", "Play"]);
  play.click();
  mock.timers.tick(450);
  assert.deepEqual([said(), play.title], ["state 2", "Play"]);
  play.click();
  assert.equal(said(), "state 0");
  mock.timers.tick(450);
  mock.timers.tick(900);
  assert.equal(said(), "state 2");
  play.click();
  mounted.go(1); // Python, or a page key
  mock.timers.tick(10_000);
  assert.deepEqual([said(), play.title], ["state 1", "Play"]);
});

test("a page follows its address and writes it when the reader rests", (t) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  t.after(() => mock.timers.reset());
  location.hash = "#copy=detach&k=2";
  const mounted = mountBook(el, KINDS, { hasAddresses: true });
  assert.equal(mounted.index, 18);
  mounted.go(0);
  assert.equal(location.hash, "#copy=detach&k=2");
  mock.timers.tick(150);
  assert.equal(location.hash, "#copy=clone&f=sin&on=False&k=1&again=0");
  mounted.destroy();
  press(document.body, "PageDown");
  assert.equal(mounted.index, 0);
});

test("an address that was just entered is not written over by that of the state before", (t) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  t.after(() => mock.timers.reset());
  location.hash = "";
  const mounted = mountBook(el, KINDS, { hasAddresses: true });
  mounted.go(1); // its address is written when the reader rests
  location.hash = "#copy=detach&k=2"; // the page hears of it later, as in a browser
  mock.timers.tick(150);
  assert.equal(location.hash, "#copy=detach&k=2");
  mounted.destroy();
});

test("a presenter's keys turn pages: round and round, but a player stops", () => {
  const mounted = mountBook(el, KINDS, { hasAddresses: true });
  assert.ok(press(document.body, "PageUp"));
  assert.equal(mounted.index, 31);
  assert.ok(press(document.body, "PageDown"));
  assert.equal(mounted.index, 0);
  assert.ok(!press(find("select"), "PageDown"));
  assert.ok(!press(document.body, "PageDown", { shiftKey: true }));
  mounted.destroy();
  location.hash = "";
  const played = mountBook(el, player(), { hasAddresses: true });
  press(document.body, "PageUp");
  assert.equal(played.index, 0);
  press(document.body, "ArrowRight"); // what nothing else has is the player's
  assert.equal(played.index, 1);
  played.destroy();
});

test("a book in a notebook leaves address and keys of the page alone", () => {
  location.hash = "#copy=detach";
  const mounted = mountBook(el, KINDS, { start: 3 });
  assert.equal(mounted.index, 3);
  assert.ok(!press(document.body, "PageDown"));
});
