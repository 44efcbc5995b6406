import assert from "node:assert/strict";
import { test } from "node:test";
import { mountPage } from "../src/exported_page.js";
import { makeState, openPage, pack } from "./page.js";

const control = { name: "copy", label: "copy", kind: "buttons", options: ["clone", "detach"], start: 1 };
const BOOK = {
  title: "The title", code: { text: "b = copy(a)" }, controls: [control],
  states: [makeState(["a"], { sentence: "cloned" }), makeState(["a"], { sentence: "detached" })],
};

/** Opens the page as Python writes it, with this query, and runs its script. */
async function visit(query, book = BOOK) {
  const window = openPage(`https://example.org/page.html${query}`);
  const data = pack(book).toString("base64");
  document.body.innerHTML = '<header id="gv-head"></header><main id="gv-app">old</main>'
    + `<script id="gv-data">${data}</script>`;
  await mountPage();
  return window;
}

const find = (selector) => document.querySelector(selector);
const buttons = () => [...document.querySelectorAll(".gv-bar > button")];

/** Returns what is on each sheet of paper. */
function print(window) {
  window.dispatchEvent(new window.Event("beforeprint"));
  const sheets = [...document.querySelectorAll(".gv-sheet")].map((sheet) => sheet.textContent);
  const fills = [...document.querySelectorAll(".gv-sheet path")].map((path) => path.getAttribute("fill"));
  window.dispatchEvent(new window.Event("afterprint"));
  assert.equal(find(".gv-sheet"), null);
  return { sheets, fills };
}

test("the book stands where the page without scripts was, with its own controls", async () => {
  await visit("");
  assert.equal(find(".gv-said").textContent, "detached");
  assert.ok(!find("#gv-app").textContent.includes("old"));
  const toggles = buttons().map((button) => [button.textContent, button.ariaPressed]);
  assert.deepEqual(toggles, [["Dark", "false"], ["Present", "false"]]);
  buttons()[0].click();
  assert.equal(document.documentElement.style.colorScheme, "dark");
  buttons()[1].click();
  assert.ok(document.documentElement.classList.contains("gv-present"));
});

test("an address may ask for the presenter's size", async () => {
  await visit("?present");
  assert.ok(document.documentElement.classList.contains("gv-present"));
  assert.equal(buttons()[1].ariaPressed, "true");
});

test("one sheet a state: this one, all, or a list", async () => {
  const window = await visit("");
  const { sheets, fills } = print(window);
  assert.equal(sheets.length, 1);
  const texts = ["The title", "copy = detach", "detached", "b = copy(a)", "twin"];
  assert.deepEqual(texts.filter((text) => !sheets[0].includes(text)), []);
  assert.deepEqual(fills, ["rgb(255,255,255)"]);
  find("[value=all]").checked = true;
  assert.equal(print(window).sheets.length, 2);
  find("[type=text]").value = "1";
  find("[type=text]").dispatchEvent(new Event("input"));
  assert.ok(print(window).sheets[0].includes("copy = clone"));
  find("[type=text]").value = "9";
  assert.ok(print(window).sheets[0].includes("copy = detach")); // no such state: the one that is shown
});

test("an address may ask for the sheets; a player's states are numbered by their steps", async () => {
  const player = { ...control, kind: "steps", label: "step", options: ["5", "6"], start: 0 };
  const window = await visit("?print=6", { ...BOOK, controls: [player] });
  const { sheets } = print(window);
  assert.deepEqual(sheets.map((sheet) => sheet.includes("step 6")), [true]);
});

test("the words may be another language's", async () => {
  await visit("", { ...BOOK, words: { dark: "Dunkel" } });
  assert.equal(buttons()[0].textContent, "Dunkel");
});
