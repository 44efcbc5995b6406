import assert from "node:assert/strict";
import { test } from "node:test";
import { cellText, findChanges, sayChanges } from "../src/changes.js";
import { makeState } from "./page.js";

test("cells are written as Python writes them", () => {
  const texts = [true, false, null, undefined, 0, "", "x"].map(cellText);
  assert.deepEqual(texts, ["True", "False", "None", "None", "0", "", "x"]);
});

test("a changed value is marked on its card, in its cell, and said", () => {
  const { marks, cells, texts } = findChanges(makeState(["a", "b"]), makeState(["a", "b"], { values: { b: 5 } }));
  assert.deepEqual([...marks], [["n1", "changed"]]);
  assert.deepEqual([...cells], [["b/1", "1"]]);
  assert.deepEqual(texts, ["b: 1 → 5"]);
});

test("what is new or gone goes by its key, not by its number in the picture", () => {
  const { marks, cells, texts } = findChanges(makeState(["a", "b"]), makeState(["z", "a"]));
  assert.deepEqual([...marks], [["n0", "new"], ["e0", "new"]]);
  assert.deepEqual([...cells], [["z/0", ""], ["a/4", "True"]]);
  assert.deepEqual(texts, ["a.is_leaf: True → False", "z is new", "b is gone"]);
});

test("the weightiest change is said first", () => {
  const after = makeState(["a"], { values: { a: 2 } });
  after.table[0].cells[2] = "[1]"; // grad
  after.table[0].cells[6] = 3; // version
  after.table[0].cells[7] = "24 bytes"; // storage, which is marked and not said
  const { cells, texts } = findChanges(makeState(["a"]), after);
  assert.deepEqual(texts, ["a.grad: None → [1]", "a: 1 → 2", "a version: 0 → 3"]);
  assert.deepEqual([...cells.keys()], ["a/1", "a/2", "a/6", "a/7"]);
});

test("nothing is marked at first, after nothing, and between pictures of different things", () => {
  const after = makeState(["a"]);
  const none = { marks: new Map(), cells: new Map(), texts: [] };
  assert.deepEqual(findChanges(null, after), none);
  assert.deepEqual(findChanges({ ...makeState(["b"]), svg: "" }, after), none);
  assert.deepEqual(findChanges(makeState(["b"]), after), none);
});

test("after a reason why there is no picture, all of the first one is new", () => {
  const { marks, texts } = findChanges(makeState([], { svg: "", problem: "nothing yet" }), makeState(["a"]));
  assert.deepEqual([[...marks], texts], [[["n0", "new"]], ["a is new"]]);
});

test("at most three changes are said, and four rather than 'one more'", () => {
  assert.equal(sayChanges([]), "");
  assert.equal(sayChanges(["1", "2", "3"]), "1 · 2 · 3");
  assert.equal(sayChanges(["1", "2", "3", "4"]), "1 · 2 · 3 · 4");
  assert.equal(sayChanges(["1", "2", "3", "4", "5"]), "1 · 2 · 3 · and 2 more changes");
});
