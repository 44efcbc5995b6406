import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";
import { isSameData, watchKernel } from "../src/kernel.js";

mock.timers.enable({ apis: ["setTimeout"] });

/** Lets promises go on, and then the clock. */
async function pass(ms) {
  for (let i = 0; i < 10; i++) await Promise.resolve();
  mock.timers.tick(ms);
  for (let i = 0; i < 10; i++) await Promise.resolve();
}

function makeModel(traits) {
  const listeners = [];
  return {
    traits,
    constructor: {},
    get: (name) => traits[name],
    set(name, value) {
      traits[name] = value;
      this.fire(`change:${name}`);
    },
    on: (event, listener) => listeners.push([event, listener]),
    off(event, listener) {
      listeners.splice(0, Infinity, ...listeners.filter(([e, l]) => e !== event || l !== listener));
    },
    fire: (event, ...given) => listeners.filter(([e]) => e === event).forEach(([, listener]) => listener(...given)),
    listeners,
  };
}

/** A watched widget with a slider "k" and a button; `notices` is what was to be said. */
let kernel, slider, button, model, asked, notices, watch;
beforeEach(async () => {
  kernel = { id: "one", status: "idle", connectionStatus: "connected", isDisposed: false };
  [slider, button] = [makeModel({ value: 1 }), makeModel({ clicks: 0 })];
  model = makeModel({ drawn_for: [["slider", "value", 1], ["button", "clicks"]] });
  model.widget_manager = { kernel, get_model: async (id) => ({ slider, button })[id] };
  asked = [];
  model.send = ({ ask, again }, { iopub }) => {
    const done = () => iopub.status({ content: { execution_state: "idle" } });
    asked.push({ ask, again, done });
  };
  notices = [];
  watch = watchKernel(model, (kind) => notices.push(kind));
  await pass(0);
});

afterEach(() => watch.end());

function draw(value) {
  model.traits.drawn_for = [["slider", "value", value], ["button", "clicks"]];
  watch.stateCame();
}

test("a state that comes in time is not waited for aloud", async () => {
  slider.set("value", 2);
  await pass(299);
  draw(2);
  await pass(60_000);
  assert.deepEqual([notices, asked.length], [[], 0]);
});

test("after the limit it is said and asked, and all is well again with the state", async () => {
  slider.set("value", 2);
  await pass(300);
  assert.deepEqual([...new Set(notices)], ["waiting"]);
  assert.equal(asked.length, 1);
  draw(2);
  assert.equal(notices.at(-1), null);
  await pass(60_000);
  assert.equal(asked.length, 1);
});

test("it asks again, ever more rarely, and then for everything", async () => {
  slider.set("value", 2);
  await pass(300);
  for (const pause of [1000, 2000, 4000, 8000, 15_000, 15_000]) {
    model.fire("msg:custom", { answer: asked.at(-1).ask, busy: false });
    const before = asked.length;
    await pass(pause - 1);
    assert.equal(asked.length, before);
    await pass(1);
    assert.equal(asked.length, before + 1);
  }
  assert.deepEqual(asked.map(({ again }) => again), [false, false, true, true, true, true, true]);
  assert.ok(!notices.includes("gone"));
});

test("a kernel that has done with the question, and did not answer, does not know the widget", async () => {
  slider.set("value", 2);
  await pass(300);
  asked[0].done();
  await pass(299);
  assert.notEqual(notices.at(-1), "gone");
  await pass(1);
  assert.equal(notices.at(-1), "gone");
});

test("the answer to another view is none", async () => {
  slider.set("value", 2);
  await pass(300);
  asked[0].done();
  model.fire("msg:custom", { answer: ["another", 1], busy: false });
  await pass(300);
  assert.equal(notices.at(-1), "gone");
});

test("a click that shows nothing of itself waits for Python's word", async () => {
  button.fire("change:clicks");
  assert.equal(asked.length, 1);
  await pass(299);
  model.fire("msg:custom", { answer: asked[0].ask, busy: true });
  await pass(1);
  assert.equal(notices.at(-1), "waiting");
  model.fire("msg:custom", { answer: asked.at(-1).ask, busy: false });
  assert.equal(notices.at(-1), null);
});

const LOST = {
  "is another one": () => { model.widget_manager.kernel = { ...kernel, id: "two" }; },
  "is none": () => { model.widget_manager.kernel = null; },
  "was shut down": () => { kernel.isDisposed = true; },
  "starts again": () => { kernel.status = "restarting"; },
  "has closed a control": () => { slider.comm_live = false; },
};
for (const [what, lose] of Object.entries(LOST)) {
  test(`a kernel that ${what} is gone at once, but that is said only where it matters`, () => {
    lose();
    slider.fire("comm_live_update");
    assert.deepEqual(notices, []);
    slider.set("value", 2);
    assert.deepEqual(notices.at(-1), "gone");
    slider.set("value", 1);
    assert.equal(notices.at(-1), null);
  });
}

test("a lost connection is told apart", async () => {
  kernel.connectionStatus = "disconnected";
  slider.set("value", 2);
  await pass(300);
  assert.equal(notices.at(-1), "unconnected");
});

test("a message that cannot be sent has nobody to go to", async () => {
  model.send = () => { throw new Error("no comm"); };
  slider.set("value", 2);
  await pass(300);
  assert.equal(notices.at(-1), "gone");
});

test("a control whose value is sent in another form is compared in that form", async () => {
  slider.constructor = { serializers: { value: { serialize: (value) => [value] } } };
  slider.set("value", 2);
  model.traits.drawn_for = [["slider", "value", [2]]];
  watch.stateCame();
  await pass(300);
  assert.deepEqual([notices, asked.length], [[], 0]);
});

test("when it ends nothing listens any more", async () => {
  slider.set("value", 2);
  watch.end();
  await pass(60_000);
  assert.deepEqual([notices, asked.length], [[], 0]);
  assert.deepEqual([slider.listeners, button.listeners, model.listeners], [[], [], []]);
});

test("data are the same whatever the order of their names; undefined is null", () => {
  assert.ok(isSameData({ a: [1, null], b: 2 }, { b: 2, a: [1, undefined] }));
  for (const [one, other] of [[1, "1"], [[1], [1, 2]], [{ a: 1 }, { b: 1 }], [null, 0], [{}, null], [0, false]]) {
    assert.ok(!isSameData(one, other), JSON.stringify([one, other]));
  }
});
