import assert from "node:assert/strict";
import { test } from "node:test";
import { choicesOf, readAddress, stateIndex, writeAddress } from "../src/address.js";
import { readNumbers } from "../src/printing.js";

const makeControl = ([name, ...options]) => ({ name, label: name, options });
const makeBook = (...controls) => ({ controls: controls.map(makeControl) });
const BOOK = makeBook(["copy", "clone", "detach"], ["k", "1", "2", "3"], ["a=b&c#d", "\ud800", "ü %41 +", "%"]);

test("the last control varies fastest", () => {
  assert.equal(stateIndex(BOOK, [1, 2, 0]), 15);
  assert.deepEqual(choicesOf(BOOK, 15), [1, 2, 0]);
});

test("every state has an address that leads back to it, whatever its controls are called", () => {
  const addresses = new Set();
  for (let index = 0; index < 18; index++) {
    const address = writeAddress(BOOK, index);
    addresses.add(address);
    assert.equal(stateIndex(BOOK, choicesOf(BOOK, index)), index);
    assert.equal(readAddress(BOOK, address, 17 - index), index);
  }
  assert.equal(addresses.size, 18);
});

test("what an address does not name, or names wrongly, stays as it is", () => {
  assert.equal(readAddress(BOOK, "", 7), 7);
  assert.equal(readAddress(BOOK, "#k=9&nonsense&copy", 7), 7);
  assert.equal(readAddress(BOOK, "#k=%&%=%&k=3", 0), stateIndex(BOOK, [0, 2, 0]));
});

test("numbers to print are read from a list", () => {
  assert.deepEqual(readNumbers("1-3,7", 1, 9), [1, 2, 3, 7]);
  assert.deepEqual(readNumbers("7; 2 2–3", 1, 9), [2, 3, 7]);
  assert.deepEqual(readNumbers("0-2 8-99", 1, 9), [1, 2, 8, 9]);
  assert.deepEqual(readNumbers("x, -3, 2-", 1, 9), []);
});
