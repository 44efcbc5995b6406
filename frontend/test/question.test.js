import assert from "node:assert/strict";
import { test } from "node:test";
import { mountPage } from "../src/exported_page.js";
import { makeState, openPage, pack } from "./page.js";

const BOOK = {
  title: "Question", code: { text: "b = a.clone()" }, controls: [], states: [makeState(["a", "b"])],
  question: {
    text: "What is b.grad?", text_code: [[8, 14]], settings: "copy=clone", answers: ["5", "None"], right: 1,
    replies: [
      { sentence: "You said 5.", sentence_code: [[9, 10]], card: "n1" },
      { sentence: "Yes.", card: "" }, { sentence: "It is None.", card: "" },
    ],
  },
};

async function visit(query = "", book = BOOK) {
  const window = openPage(`https://example.org/page.html${query}`);
  const data = pack(book).toString("base64");
  document.body.innerHTML = '<header id="gv-head"></header><main id="gv-app"></main>'
    + `<script id="gv-data">${data}</script>`;
  await mountPage();
  return window;
}

const find = (selector) => document.querySelector(selector);
const inputs = () => [...document.querySelectorAll(".gv-answers input")];
const marks = () => [...document.querySelectorAll(".gv-mark")].map((mark) => mark.textContent);

function press(key, more = {}) {
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, ...more }));
}

function answer(i) {
  inputs()[i].checked = true;
  inputs()[i].dispatchEvent(new Event("change"));
}

test("before an answer the page shows what is asked, and nothing that tells", async () => {
  await visit();
  assert.equal(find(".gv-asked").textContent, "What is b.grad?copy=clone");
  assert.equal(find(".gv-asked code").textContent, "b.grad");
  assert.ok(find(".gv-code").textContent.includes("b = a.clone()"));
  assert.equal(find("svg .node"), null);
  assert.equal(find(".gv-said").textContent, "");
  assert.deepEqual(marks(), ["", ""]);
  assert.ok(find(".gv-question").classList.contains("gv-open"));
});

test("an answer shows reply, picture and the card that it is about; another answer replaces it", async () => {
  await visit();
  answer(0);
  assert.equal(find(".gv-said").textContent, "You said 5.");
  assert.equal(find(".gv-said code").textContent, "5");
  assert.deepEqual(marks(), ["✗", "✓"]);
  assert.equal(document.querySelectorAll("[aria-pressed=true]").length, 1);
  answer(1);
  assert.equal(find(".gv-said").textContent, "Yes.");
  assert.equal(find(".gv-said code"), null);
  assert.deepEqual(marks(), ["", "✓"]);
  assert.equal(document.querySelectorAll("[aria-pressed=true]").length, 0);
  assert.ok(!find(".gv-question").classList.contains("gv-open"));
});

test("one may just look", async () => {
  await visit();
  find(".gv-show").click();
  assert.equal(find(".gv-said").textContent, "It is None.");
  assert.deepEqual(inputs().map((input) => input.checked), [false, false]);
});

test("where no answer is right, none is marked so", async () => {
  await visit("", { ...BOOK, question: { ...BOOK.question, right: null } });
  answer(0);
  assert.deepEqual(marks(), ["✗", ""]);
});

test("the keys of a class answer and reveal, and leave the browser its own", async () => {
  await visit("?present");
  press("a", { ctrlKey: true });
  press("c"); // there is no third answer
  press("Tab");
  assert.equal(find(".gv-said").textContent, "");
  press("b");
  assert.equal(find(".gv-said").textContent, "Yes.");
  press("R");
  assert.equal(find(".gv-said").textContent, "It is None.");
});

test("inside another page there is no heading, and the page around is told the height", async () => {
  const window = await visit("?embed");
  assert.ok(document.documentElement.classList.contains("gv-embedded"));
  const told = [];
  window.parent.postMessage = (message) => told.push(message);
  globalThis.parent = window.parent;
  globalThis.ResizeObserver = class {
    constructor(tell) { this.tell = tell; }
    observe() { this.tell(); }
  };
  const { embed } = await import("../src/embedding.js");
  embed();
  assert.deepEqual(told, [{ gradviz: { height: 0 } }]);
});
