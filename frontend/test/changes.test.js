import assert from "node:assert/strict";
import { test } from "node:test";
import { cellText, findChanges, sayChanges } from "../src/changes.js";
import { makeState } from "./page.js";

const plain = (texts) => texts.map(({ text }) => text);

test("cells are written as Python writes them", () => {
  const texts = [true, false, null, undefined, 0, "", "x"].map(cellText);
  assert.deepEqual(texts, ["True", "False", "None", "None", "0", "", "x"]);
});

test("a changed value is marked on its card, in its cell, and said", () => {
  const { marks, cells, texts } = findChanges(makeState(["a", "b"]), makeState(["a", "b"], { values: { b: 5 } }));
  assert.deepEqual([...marks], [["n1", "changed"]]);
  assert.deepEqual([...cells], [["b/1", "1"]]);
  assert.deepEqual(plain(texts), ["b: 1 → 5"]);
});

test("what is new or gone goes by its key, not by its number in the picture", () => {
  const { marks, cells, texts } = findChanges(makeState(["a", "b"]), makeState(["z", "a"]));
  assert.deepEqual([...marks], [["n0", "new"], ["e0", "new"]]);
  assert.deepEqual([...cells], [["z/0", ""], ["a/4", "True"]]);
  assert.deepEqual(plain(texts), ["z is new", "b is gone"]);
});

/** The state with some cells of the table set: name → column → cell. */
function withCells(state, cells) {
  for (const row of state.table) Object.assign(row.cells, cells[row.key] ?? {});
  return state;
}

test("gradients of leaves are said first, then what is tracked, then memory", () => {
  const [before, after] = [0, 1].map(() => makeState(["a", "b", "c"]));
  withCells(before, { a: { 2: "5" } });
  withCells(after, { a: { 2: "2", 6: 3 }, b: { 2: "not tracked", 3: false, 5: "None" }, c: { 3: false } });
  after.cards.n0.memory = after.cards.n1.memory = ["n0", "n1"];
  const changes = findChanges(before, after);
  assert.deepEqual(plain(changes.texts), [
    "a.grad: 5 → 2", "b and c are no longer tracked", "a and b share memory now",
  ]);
  assert.equal(sayChanges(changes).text, "Changed: a.grad: 5 → 2 · b and c are no longer tracked");
  assert.equal(sayChanges(changes, 20).text, "Changed: a.grad: 5 → 2"); // there is no room for both
  const back = findChanges(after, before).texts;
  assert.deepEqual(plain(back), ["a.grad: 2 → 5", "b and c are tracked now", "a and b have their own memory now"]);
});

test("a gradient that stayed is said where there is room, and where nothing changed", () => {
  const state = () => withCells(makeState(["a", "b"]), { a: { 2: "2" } });
  assert.equal(sayChanges(findChanges(state(), state())).text, "Nothing changed in the picture: a.grad is still 2.");
  const other = withCells(state(), { b: { 5: "CloneBackward0" } });
  const said = "Changed: b.grad_fn: None → CloneBackward0 · a.grad is still 2";
  assert.equal(sayChanges(findChanges(state(), other)).text, said);
  const without = withCells(makeState(["a"]), { a: { 3: false } });
  assert.equal(sayChanges(findChanges(without, without)).text, "Nothing changed in the picture.");
});

test("what only the picture shows is said by the names of its cards", () => {
  const after = makeState(["a", "b"]);
  after.cards.n1.look = "other words";
  assert.deepEqual(findChanges(makeState(["a", "b"]), after).texts.map(({ text }) => text), ["the card of b"]);
});

test("where only the reason of a cut changed, that is said, too", () => {
  const state = (/** @type {string} */ look) => {
    const made = withCells(makeState(["a", "b"]), { a: { 2: "2" } });
    made.arrows.e0.look = look;
    return made;
  };
  const said = sayChanges(findChanges(state("cut ✂ no_grad"), state("cut ✂ inference_mode"))).text;
  assert.equal(said, "Only details changed: a.grad is still 2.");
});

test("nothing is said at first, after nothing, and between pictures of different things", () => {
  const after = makeState(["a"]);
  for (const before of [null, { ...makeState(["b"]), svg: "" }, makeState(["b"])]) {
    const changes = findChanges(before, after);
    assert.deepEqual([changes.isCompared, changes.marks.size, changes.texts], [false, 0, []]);
    assert.equal(sayChanges(changes).text, "");
  }
});

test("after a reason why there is no picture, all of the first one is new", () => {
  const { marks, texts } = findChanges(makeState([], { svg: "", problem: "nothing yet" }), makeState(["a"]));
  assert.deepEqual([[...marks], plain(texts)], [[["n0", "new"]], ["a is new"]]);
});

test("at most two changes are said", () => {
  const names = ["a", "b", "c", "d", "e"];
  const after = makeState(names, { values: Object.fromEntries(names.map((name) => [name, 2])) });
  assert.equal(sayChanges(findChanges(makeState(names), after)).text, "Changed: a: 1 → 2 · b: 1 → 2");
});

test("names and code of what is said are known, and nothing else is code", () => {
  const [before, after] = [0, 1].map(() => makeState(["a", "b", "c"]));
  withCells(after, { b: { 3: false }, c: { 3: false } });
  const { text, code } = sayChanges(findChanges(withCells(before, { a: { 2: "5" } }), after), Infinity);
  assert.equal(text, "Changed: a.grad: 5 → None · b and c are no longer tracked");
  assert.deepEqual(code.map(([start, end]) => text.slice(start, end)), ["a.grad", "b", "c"]);
});
