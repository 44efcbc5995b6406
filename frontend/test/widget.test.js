import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import widget from "../src/widget.js";
import { useWords } from "../src/words.js";
import { makeState, openPage, pack, press } from "./page.js";

let el;
beforeEach(() => {
  openPage();
  el = document.createElement("div");
  document.body.append(el);
});

const find = (selector) => document.querySelector(selector);
const said = () => find(".gv-said").textContent;
const nextFrame = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
const asText = (state) => JSON.stringify(state).padEnd(5000); // as Python sends it

/** The page's side of a widget; `saved` is what was sent to Python. */
function makeModel(traits) {
  const listeners = [];
  const held = { state: asText({}), code: {}, book: {}, selected: "", step: 0, drawn_for: [], ...traits };
  const model = {
    saved: [],
    changed: {},
    listeners,
    get: (name) => held[name],
    set(name, value) {
      [held[name], model.changed[name]] = [value, value];
    },
    save_changes() {
      model.saved.push(model.changed);
      model.changed = {};
    },
    on: (event, listener) => listeners.push([event, listener]),
    off(event, listener) {
      listeners.splice(0, Infinity, ...listeners.filter(([e, l]) => e !== event || l !== listener));
    },
    /** Traits come from Python in one message. */
    receive(news) {
      Object.assign(held, news);
      for (const name of Object.keys(news)) {
        listeners.filter(([event]) => event === `change:${name}`).forEach(([, listener]) => listener());
      }
    },
  };
  return model;
}

const makeBook = (...sentences) => ({
  title: "t", code: { text: "x" }, states: sentences.map((one) => makeState(["a"], { sentence: one })),
  controls: [{ name: "step", label: "step", kind: "steps", options: sentences.map((_, i) => String(i)), start: 0 }],
});

test("a state is drawn, and the next one with all traits of its message", async () => {
  const model = makeModel({ state: asText(makeState(["a"])), code: { text: "1\n2" } });
  const end = widget.render({ model, el });
  assert.equal(said(), "sentence of a");
  model.receive({ state: asText(makeState(["z", "a"])), selected: "n1" });
  await nextFrame();
  assert.equal(said(), "sentence of z,a");
  assert.equal(find("[aria-pressed=true]").dataset.gv, "n1");
  assert.deepEqual(model.saved, []); // nothing is said back
  end();
  assert.deepEqual(model.listeners, []);
  assert.equal(el.innerHTML, "");
});

test("what the reader selects is sent once", async () => {
  const model = makeModel({ state: asText(makeState(["a", "b"])) });
  widget.render({ model, el });
  find("[data-gv=n1]").dispatchEvent(new MouseEvent("click", { bubbles: true, detail: 1 }));
  await nextFrame();
  assert.deepEqual(model.saved, [{ selected: "n1" }]);
});

test("what the reader opens is sent, and waits for its state", async () => {
  const outline = {
    opened: [], crumbs: [[["m", "m"]]], inside: {}, red: [], alarms: [], names: { m: ["n0", ""], "m.b": ["n1", ""] },
  };
  const state = makeState(["a", "b"], { outline });
  state.cards.n1.opens = "m.b";
  const model = makeModel({ state: asText(state), opened: [] });
  widget.render({ model, el });
  press(find("[data-gv=n1]"), "Enter");
  await nextFrame();
  assert.deepEqual(model.saved, [{ opened: ["m.b"] }]);
  assert.equal(said(), "sentence of a,b");
  const opened = { ...outline, opened: ["m.b"], inside: { "m.b": ["n1", "n2"] } };
  model.receive({ state: asText(makeState(["a", "x", "y"], { outline: opened })) });
  await nextFrame();
  assert.equal(said(), "sentence of a,x,y");
  press(find("[data-gv=n1]"), "Escape");
  await nextFrame();
  assert.deepEqual(model.saved.at(-1), { opened: [] });
});

test("a packed book is drawn once it is unpacked; its steps go both ways", async () => {
  const packed = pack(makeBook("zero", "one", "two"));
  const model = makeModel({ book: { packed } });
  const end = widget.render({ model, el });
  while (!find(".gv-book")) await nextFrame();
  assert.equal(said(), "zero");
  find(".gv-transport button:nth-child(4)").click();
  await nextFrame();
  assert.deepEqual([said(), model.saved], ["one", [{ step: 1 }]]);
  model.receive({ step: 2 });
  await nextFrame();
  assert.deepEqual([said(), model.saved.length], ["two", 1]);
  end();
  assert.equal(find(".gv-book"), null);
});

test("of two packed books the newer one is shown, whichever is unpacked first", async () => {
  const packed = (...names) => ({ packed: pack(makeBook(...names)) });
  const model = makeModel({ book: packed(...Array(300).fill("old")) });
  widget.render({ model, el });
  model.receive({ book: packed("new") });
  while (!find(".gv-book")) await nextFrame();
  for (let i = 0; i < 10; i++) await nextFrame();
  assert.equal(said(), "new");
});

test("what is said is in the reader's language where Python hands it over", (t) => {
  t.after(() => useWords(null));
  widget.render({ model: makeModel({ state: asText(makeState(["a"])), words: { fit: "Einpassen" } }), el });
  assert.equal(find(".gv-tool-fit").textContent, "Einpassen");
});

test("a notice says what became of the kernel, and that the picture is old", async () => {
  const panel = document.createElement("div");
  panel.className = "gradviz-panel";
  panel.append(el);
  document.body.append(panel);
  const control = makeModel({ value: 1 });
  const model = makeModel({ state: asText(makeState(["a"])), drawn_for: [["control", "value", 1]] });
  model.widget_manager = { kernel: { id: "k", status: "idle", isDisposed: false }, get_model: async () => control };
  model.send = () => {};
  const end = widget.render({ model, el });
  await nextFrame();
  control.receive({ value: 2 });
  await new Promise((resolve) => setTimeout(resolve, 400));
  const notice = () => find(".gv-notice").textContent;
  assert.equal(notice(), "Waiting for the kernel.\nThe picture is still the one from before.");
  assert.ok(panel.classList.contains("gradviz-old"));
  model.widget_manager.kernel = null;
  control.listeners.find(([event]) => event === "comm_live_update")[1]();
  assert.equal(notice(), "The kernel is gone: run this cell again.\nUntil then the controls do nothing.");
  control.receive({ value: 1 });
  assert.ok(find(".gv-notice").hidden);
  assert.ok(!panel.classList.contains("gradviz-old"));
  end();
});

test("controls of Jupyter get names, states and keys of their own", async () => {
  document.body.innerHTML = `<div class="gradviz-panel gradviz-question gradviz-present"><div class="gradviz-controls">
    <div class="widget-slider"><label class="widget-label">k</label>
      <div role="slider"></div><div class="widget-readout"></div></div>
    <div class="widget-toggle-buttons"><label class="widget-label">copy</label>
      <button class="jupyter-button mod-active">one</button><button class="jupyter-button">two</button></div>
    <button class="jupyter-button">Just show me</button></div><div id="el"></div></div>`;
  const end = widget.render({ model: makeModel({ state: asText(makeState(["a"])) }), el: find("#el") });
  await nextFrame();
  const listAttribute = (name) =>
    [...document.querySelectorAll(`.gradviz-controls [${name}]`)].map((one) => one.getAttribute(name));
  assert.deepEqual(listAttribute("aria-label"), ["k", "k", "copy"]);
  assert.deepEqual(listAttribute("aria-pressed"), ["true", "false"]);
  const clicked = [];
  document.body.addEventListener("click", ({ target }) => clicked.push(target.textContent));
  const keys = [];
  document.body.addEventListener("keydown", ({ key }) => keys.push(key));
  const controls = find(".gradviz-controls");
  for (const key of ["b", "R", "c", "d", "x"]) press(controls, key);
  press(controls, "Enter", { shiftKey: true });
  press(controls, "s", { ctrlKey: true });
  assert.deepEqual(clicked, ["two", "Just show me"]);
  assert.deepEqual(keys, ["Enter", "s"]); // the rest would be the notebook's commands
  end();
});
