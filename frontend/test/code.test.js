import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { makeCode } from "../src/code.js";
import { mountPanel, shortened } from "../src/panel.js";
import { makeState, openPage } from "./page.js";

let el, chosen, code;
beforeEach(() => {
  openPage();
  el = document.createElement("div");
  document.body.append(el);
  chosen = [];
  const chooser = { choose: (...given) => chosen.push(given), reset: () => chosen.push("reset") };
  code = makeCode(el, "p", chooser);
});

const find = (selector) => el.querySelector(selector);
const texts = (selector) => [...el.querySelectorAll(selector)].map((one) => one.textContent);
const control = (name, kind, options, more = {}) => ({ name, label: name, kind, options, start: 0, ...more });
const CODE = { text: "def f(copy, off):\n    with off():\n        b = copy(a)", first: 3, columns: { 4: 20, 5: 20 } };
const CONTROLS = [
  control("copy", "buttons", ["clone", "detach"], { line: 5 }),
  control("off", "checkbox", ["False", "True"], { line: 4 }),
  control("k", "slider", ["1", "2", "3"]),
];
const filled = (call, off) => [
  off ? [4, "# no with block", [], "gone", "off"] : [4, "with torch.no_grad():", [[5, 20, "off"]], "", ""],
  [5, `b = ${call}`, [[4, 4 + call.length, "copy"]], "", ""],
];

test("each control stands at its line, and one without a line above the code", () => {
  code.set(CODE, CONTROLS, filled("a.clone()", false));
  const lines = [...el.querySelectorAll(".gv-line")];
  assert.deepEqual(lines.map((line) => line.querySelectorAll("input").length), [1, 2]);
  assert.equal(el.querySelectorAll(".gv-choices input[type=range]").length, 1);
  assert.deepEqual(texts(".gv-number"), ["4", "5"]);
  assert.deepEqual(texts(".gv-filled"), ["torch.no_grad()", "a.clone()"]);
});

test("a choice is told, and what it changes is filled in", () => {
  code.set(CODE, CONTROLS, filled("a.clone()", false));
  code.choose({ copy: 0, off: 0, k: 2 });
  const radios = [...el.querySelectorAll("[type=radio]")];
  assert.deepEqual(radios.map((radio) => radio.checked), [true, false]);
  assert.equal(find("output").value, "3");
  radios[1].checked = true;
  radios[1].dispatchEvent(new Event("change"));
  find("[type=checkbox]").checked = true;
  find("[type=checkbox]").dispatchEvent(new Event("change"));
  find(".gv-reset").click();
  assert.deepEqual(chosen, [["copy", 1], ["off", 1], "reset"]);
  code.fill(filled("a.detach()", true));
  assert.deepEqual(texts(".gv-source"), ["# no with block", "b = a.detach()"]);
  assert.deepEqual(texts(".gv-filled"), ["a.detach()"]);
});

test("without a source the controls stand alone; without controls there is only code", () => {
  code.set({}, [control("k", "counter", ["0"], { endless: true })], null);
  assert.deepEqual([el.hidden, texts(".gv-line")], [false, []]);
  code.choose({ k: 7 });
  find(".gv-control button").click();
  assert.deepEqual(chosen, [["k", 8]]);
  code.set({ text: "a = 1 # one", first: 9 }, [], null);
  assert.deepEqual([find(".gv-reset").hidden, find(".gv-choices").hidden], [true, true]);
  assert.deepEqual(texts(".gv-comment"), ["# one"]);
  code.set({}, [], null);
  assert.ok(el.hidden);
});

test("code is text, whatever stands in it", () => {
  code.set({ text: "x = '<img src=x onerror=alert(1)>'" }, [], null);
  assert.equal(find("img"), null);
  assert.equal(texts(".gv-source")[0], "x = '<img src=x onerror=alert(1)>'");
});

test("a failed line is marked as such", () => {
  code.set(CODE, CONTROLS, filled("a.clone()", false));
  code.mark([5], null, true);
  assert.deepEqual(texts(".gv-failed .gv-number"), ["5"]);
  code.mark([5], 4, false);
  assert.deepEqual([texts(".gv-failed"), texts(".gv-here .gv-number")], [[], ["4"]]);
});

test("a sentence is cut after whole sentences only", () => {
  const text = "✂ Line 3: detach() cuts b from a. a.grad is 2.5: it came back. It is 1e-3.";
  assert.equal(shortened(text, 999), text);
  assert.equal(shortened(text, 70), "✂ Line 3: detach() cuts b from a. a.grad is 2.5: it came back.");
  assert.equal(shortened(text, 5), "✂ Line 3: detach() cuts b from a.");
});

test("an error is told once, and then no change is", () => {
  const panel = mountPanel(el, { prefix: "q" });
  panel.show(makeState(["a"]));
  panel.show(makeState(["a"], { values: { a: 2 }, error: "RuntimeError: no", lines: [1] }));
  assert.equal(texts(".gv-error")[0], "RuntimeError: no");
  assert.equal(find(".gv-changes").textContent, "");
  find(".gv-error button").click();
  assert.equal(find(".gv-error button").ariaExpanded, "true");
  panel.show(makeState(["a"]));
  assert.ok(find(".gv-error").hidden);
});
