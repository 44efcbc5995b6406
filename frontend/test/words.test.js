import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { afterEach, test } from "node:test";
import { mountBook } from "../src/book.js";
import { findChanges, sayChanges } from "../src/changes.js";
import { makePrintMenu } from "../src/printing.js";
import { mountQuestion } from "../src/question.js";
import { ENGLISH } from "../src/english.js";
import { asCode, sentence, tell, useWords } from "../src/words.js";
import { makeState, openPage, press } from "./page.js";

afterEach(() => useWords(null));

const SOURCES = new URL("../src/", import.meta.url);
const code = readdirSync(SOURCES).filter((name) => name.endsWith(".js") && name !== "english.js")
  .map((name) => readFileSync(new URL(name, SOURCES), "utf8")).join("\n");

test("fields are filled in one pass, whatever they hold", () => {
  useWords({ cell_was: "{before} $& {other}" });
  assert.equal(sentence("cell_was", { before: "{other} $1" }), "{other} $1 $& {other}");
});

test("what of a sentence is code stays with it, and nobody sees the backticks", () => {
  useWords({ grad_kept: "`{name}.grad` is {grad}", changed_to: "Changed: {changes}" });
  const kept = tell("grad_kept", { name: "a`b", grad: asCode("None") });
  assert.deepEqual(kept, { text: "a`b.grad is None", code: [[0, 8], [12, 16]] });
  assert.deepEqual(tell("changed_to", { changes: kept }).code, [[9, 17], [21, 25]]);
  assert.equal(sentence("grad_kept", { name: "a", grad: 1 }), "a.grad is 1");
});

test("what another language lacks stays English", () => {
  useWords({ play: "Abspielen" });
  assert.deepEqual([sentence("play"), sentence("pause")], ["Abspielen", "Pause"]);
});

test("every sentence is used somewhere", () => {
  const unused = Object.keys(ENGLISH).filter((name) => !code.includes(`"${name}"`));
  assert.deepEqual(unused, []);
});

test("no literal outside of the table is prose", () => {
  const bare = code.replace(/\/\*\*[\s\S]*?\*\//g, "").replace(/\/\/ .*$/gm, "");
  const literals = [...bare.matchAll(/(["'`])((?:(?!\1).)*)\1/g)].map(([, , text]) => text);
  const isProse = (text) => /[A-Za-z]{2,} [A-Za-z]{2,}/.test(text) || /^[A-Z][a-z]+…?$/.test(text);
  const notProse = ["True", "False", "None", "Enter", "Home", "End", "Escape"]; // Python's, and keys
  assert.ok(literals.length > 500);
  assert.deepEqual(literals.filter((text) => isProse(text) && !text.startsWith("gv-") && !notProse.includes(text)), []);
});

/** Returns what stands outside of sentences, or was filled into one. */
function listProse(text) {
  const prose = [];
  let rest = text;
  for (let match; (match = /⟦[^⟦⟧]*⟧/.exec(rest)); rest = rest.replace(match[0], "")) {
    prose.push(...[...match[0].matchAll(/⟪([^⟪⟫]*)⟫/g)].map(([, field]) => field));
  }
  return [...prose, ...rest.split(" · ")].map((part) => part.trim()).filter(Boolean);
}

/** Returns every text that a reader sees or hears, each once. */
function textsOf(root) {
  const texts = new Set();
  for (const element of [root, ...root.querySelectorAll("*")]) {
    const attributes = ["aria-label", "title", "placeholder", "data-title"];
    for (const name of attributes) texts.add(element.getAttribute(name) ?? "");
    if (element.localName === "code") continue; // a part of a sentence
    if (element.querySelector(":scope > code")) texts.add(element.textContent);
    else for (const node of element.childNodes) if (node.nodeType === 3) texts.add(node.data);
    if (element.localName === "output") texts.add(element.value);
  }
  return [...texts].map((text) => text.trim()).filter(Boolean);
}

/** Returns a book in which "m.b" opens, and "m.a" would if it were there. */
function makeOutlineBook() {
  const names = { m: ["n0", ""], "m.a": ["n0", ""], "m.b": ["n1", ""], "m.never": ["", ""] };
  const shut = { opened: [], crumbs: [[["m", "m"]]], inside: {}, red: ["m.b"], alarms: ["n1"], names };
  const open = { ...shut, opened: ["m.b"], crumbs: [[["m", "m"], ["b", "m.b"]]], inside: { "m.b": ["n1"] } };
  const states = [makeState(["a", "b"], { outline: shut }), makeState(["a", "x"], { outline: open })];
  [states[0].cards.n0.opens, states[0].cards.n1.opens] = ["m.a", "m.b"];
  return { title: "t", code: {}, controls: [], states, openings: { "": 0, "m.b": 1 } };
}

/** States that differ in all that is said of a change. */
function changedStates() {
  const set = (state, ...cells) => {
    cells.forEach((some, i) => Object.assign(state.table[i].cells, some));
    return state;
  };
  const share = (state) => {
    state.cards.n0.memory = state.cards.n1.memory = ["n0", "n1"];
    return state;
  };
  const shareOne = () => {
    const state = makeState(["a"]);
    state.cards.n0.memory = ["n0", "n5"];
    return state;
  };
  const both = () => makeState(["a", "b"]);
  const looks = both();
  looks.cards.n0.look = looks.cards.n1.look = "8";
  const one = both();
  one.cards.n1.look = "9";
  const untracked = { 3: false };
  const cutOtherwise = set(both(), { 2: "5" });
  const cutOfUntracked = set(both(), untracked, untracked);
  for (const state of [cutOtherwise, cutOfUntracked]) state.arrows.e0.look = "cut for another reason";
  return [
    set(both(), { 2: "5" }), set(both(), { 2: "5" }), set(both(), { 2: "5" }, { 5: "7" }),
    set(both(), untracked, untracked), set(both(), untracked, untracked), looks,
    set(both(), {}, untracked), both(), share(both()), both(), looks,
    makeState(["a"]), share(makeState(["a", "b"])), makeState(["a"]), makeState(["a"]),
    shareOne(), makeState(["a"]), both(), one,
    set(both(), { 2: "5" }), cutOtherwise, set(both(), untracked, untracked), cutOfUntracked,
  ];
}

test("all that is said comes from the table, the state or the code", () => {
  openPage();
  // What a sentence says stands in brackets, and what is filled into it in others: between the two there is no prose.
  useWords(Object.fromEntries(Object.entries(ENGLISH).map(([name, text]) => [
    name, `⟦${name}${(text.match(/\{\w+\}/g) ?? []).map((field) => `⟪${field}⟫`).join("")}⟧`,
  ])));
  const states = [
    makeState(["a", "b"], { legend: [["forward", ""]] }),
    makeState(["a", "c"], { values: { a: 2 } }),
    makeState(["a"], { svg: "<svg>", text: "", sentence: "s" }),
  ];
  states[2].table[0].cells[2] = "[1]";
  states[2].table[0].cells[6] = 4;
  states[1].cards.n0.memory = states[1].cards.n1.memory = ["n0", "n1"];
  const counter = { name: "again", label: "again", kind: "counter", options: ["0", "1", "2"], start: 0 };
  const book = { title: "t", code: { text: "b = copy(a)" }, controls: [counter], states };
  const el = document.createElement("div");
  document.body.append(el);
  const mounted = mountBook(el, book);
  el.append(makePrintMenu(book, mounted, null));
  el.querySelector("details").open = true;
  const texts = new Set();
  const look = () => textsOf(el).forEach((text) => texts.add(text));
  look();
  el.querySelector("details").dispatchEvent(new Event("toggle"));
  mounted.go(1);
  mounted.select("n0");
  look();
  mounted.go(2);
  look();
  changedStates().forEach((state, i, all) => i && texts.add(sayChanges(findChanges(all[i - 1], state)).text));
  const steps = document.createElement("div");
  const player = { name: "step", label: "again", kind: "steps", options: ["0", "1", "2"], start: 0 };
  mountBook(steps, { ...book, controls: [player] });
  textsOf(steps).forEach((text) => texts.add(text));
  press(steps.querySelector(".gv-range"), " ");
  textsOf(steps).forEach((text) => texts.add(text));

  const outlineBook = makeOutlineBook();
  const outline = document.createElement("div");
  document.body.append(outline);
  mountBook(outline, outlineBook);
  const lookAround = () => textsOf(outline).forEach((text) => texts.add(text));
  outline.querySelector("[data-gv=n1]").focus(); // its facts say how it opens
  const typed = ["m.a", "m.", "m.never", "nothing", "m.b"];
  for (const name of typed) {
    outline.querySelector(".gv-search").value = name;
    press(outline.querySelector(".gv-search"), "Enter");
    lookAround();
  }
  press(outline.querySelector("[data-gv=n0]"), "Enter");
  lookAround();
  press(outline.querySelector("[data-gv=n1]"), "Enter");
  lookAround();

  const asked = { text: "t", settings: "", answers: ["t"], replies: [{ sentence: "s", card: "" }], right: 0 };
  const question = document.createElement("div");
  mountQuestion(question, { ...book, controls: [], question: asked });
  question.querySelector("input").dispatchEvent(new Event("change"));
  textsOf(question).forEach((text) => texts.add(text));

  const rows = [
    { key: "lost", card: "", cells: ["lost", "", ""], level: 0 },
    { key: "h.*", card: "n0", cells: ["h.*", "2", "none"], level: 1 },
  ];
  const columns = ["groups", "number", "state"];
  const byGroups = { ...book, controls: [], states: [{ ...makeState(["a"]), table: rows, columns }] };
  const groups = document.createElement("div");
  mountBook(groups, byGroups);
  groups.querySelector("details").open = true;
  groups.querySelector("details").dispatchEvent(new Event("toggle"));
  textsOf(groups).forEach((text) => texts.add(text));
  const all = (what) => [...groups.querySelectorAll(what)];
  assert.deepEqual(all("th").map((head) => head.textContent), columns);
  assert.deepEqual(all("tbody tr").map((row) => row.dataset.level), ["0", "1"]);

  const names = ["True", "False", "None", "grad", "requires_grad", "is_leaf", "grad_fn"];
  const given = JSON.stringify([book, outlineBook, byGroups, typed, names]);
  const prose = [...texts].flatMap(listProse);
  const strange = prose.filter((text) => !given.includes(text) && !/^[\d\s✓✗-]*$/.test(text));
  assert.deepEqual(strange, []);

  const said = [...texts].join();
  const unseen = Object.keys(ENGLISH).filter((name) => !said.includes(`⟦${name}`));
  // Those of the widget and the page, and those that stand where these two books do not come.
  const elsewhere = ["waiting", "unconnected", "old_picture", "gone", "gone_detail", "dark", "present"];
  const rare = ["picture", "sheet_step", "sheet_setting", "saved", "copied", "not_saved", "not_copied"];
  assert.deepEqual(unseen.filter((name) => !elsewhere.includes(name) && !rare.includes(name)), []);
});
