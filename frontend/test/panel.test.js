import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { mountPanel } from "../src/panel.js";
import { makeState, openPage, press } from "./page.js";

let el, panel, picked;
beforeEach(() => {
  openPage();
  el = document.createElement("div");
  document.body.append(el);
  picked = [];
  panel = mountPanel(el, { onSelect: (cardId) => picked.push(cardId), prefix: "p" });
});

const find = (selector) => el.querySelector(selector);
const textOf = (selector) => find(selector).textContent;
const card = (cardId) => find(`[data-gv=${cardId}]`);
const click = (element, detail = 1) => element.dispatchEvent(new MouseEvent("click", { bubbles: true, detail }));
const withClass = (name) => [...el.querySelectorAll(`.gv-canvas .${name}`)].flatMap((group) => group.dataset?.gv ?? []);
const unfold = () => {
  find("details").open = true;
  find("details").dispatchEvent(new Event("toggle"));
};

test("all areas of a state are written", () => {
  panel.setCode({ text: "a = 1\nb = a\n", first: 7 });
  panel.show(makeState(["a", "b"], { printed: "hello", error: "RuntimeError: no", lines: [8] }));
  unfold();
  assert.equal(textOf(".gv-said"), "sentence of a,b");
  assert.equal(textOf(".gv-printed"), "hello");
  assert.equal(textOf(".gv-error"), "RuntimeError: no");
  assert.deepEqual([...el.querySelectorAll(".gv-number")].map((n) => n.textContent), ["7", "8"]);
  assert.equal(textOf(".gv-now .gv-source"), "b = a");
  assert.equal(textOf("summary"), "Tensors (2)");
  const rows = [...find("tbody").rows].map((row) => [...row.cells].map((cell) => cell.textContent).join(" "));
  assert.deepEqual(rows, ["a 1 None True True None 0 12 bytes", "b 1 None True False None 0 12 bytes"]);
  assert.equal(card("n0").getAttribute("aria-label"), "card 0");
  assert.equal(find(".gv-view").getAttribute("aria-label"), "alt of the picture");
});

test("names and code of the sentence stand in code font, of what fits as well", () => {
  panel.show(makeState(["a"], { sentence: "c can reach a.", sentence_code: [[0, 1], [12, 13]] }));
  assert.equal(find(".gv-said").textContent, "c can reach a.");
  assert.deepEqual([...find(".gv-said").querySelectorAll("code")].map((code) => code.textContent), ["c", "a"]);
  panel.show(makeState(["b"], { sentence: "c can reach a." }));
  assert.equal(find(".gv-said").innerHTML, "c can reach a.");
});

test("only short code is never divided between two lines", () => {
  panel.show(makeState(["a"], { sentence: "a * 2 + b * 3 * c is a * 2", sentence_code: [[0, 17], [21, 26]] }));
  assert.deepEqual([...el.querySelectorAll(".gv-unbroken")].map((code) => code.textContent), ["a * 2"]);
});

test("what the author asks stands there until something changes, and again after Reset", () => {
  const asked = () => [textOf(".gv-changes"), find(".gv-changes").classList.contains("gv-task")];
  panel.setCode({ text: "a = 1", first: 1, task: { text: "Is a cut?", code: [[3, 4]] } });
  panel.show(makeState(["a"]));
  assert.deepEqual(asked(), ["Is a cut?", true]);
  assert.equal(find(".gv-changes code").textContent, "a");
  panel.show(makeState(["a", "b"]));
  assert.match(asked()[0], /^Changed: /);
  assert.equal(asked()[1], false);
  panel.show(makeState(["a"], { afresh: true }));
  assert.deepEqual(asked(), ["Is a cut?", true]);
  panel.show(makeState(["a"], { afresh: true, error: "RuntimeError: no" }));
  assert.equal(textOf(".gv-changes"), "");
});

test("signs on a card are said in words", () => {
  const state = makeState(["a", "b"]);
  panel.show({ ...state, cards: { ...state.cards, n0: { ...state.cards.n0, spoken: [["card 0", "mean $& 0"]] } } });
  assert.deepEqual(["n0", "n1"].map((id) => card(id).getAttribute("aria-label")), ["mean $& 0", "card 1"]);
});

test("without a picture stand why, and all of it in words", () => {
  panel.show(makeState([], { svg: "", problem: "too large", text: "the twin" }));
  assert.deepEqual([textOf(".gv-problem"), textOf(".gv-twin")], ["too large", "the twin"]);
  assert.equal(find(".gv-view").hidden, true);
  panel.show(makeState(["a"], { svg: "<svg><script>", text: "<b>" }));
  assert.deepEqual([textOf(".gv-problem"), textOf(".gv-twin")], ["This picture could not be read.", "<b>"]);
  panel.show(makeState(["a"]));
  assert.deepEqual([find(".gv-view").hidden, find(".gv-plain").hidden], [false, true]);
});

test("a click selects a card and lights its gradient; a second one, or one beside, lets go", () => {
  panel.show(makeState(["a", "b", "c"]));
  click(card("n1").querySelector("text"));
  assert.deepEqual([withClass("gv-lit"), withClass("gv-dim")], [["n0", "n1", "e0"], ["n2", "e1"]]);
  assert.equal(card("n1").getAttribute("aria-pressed"), "true");
  click(card("n1"), 2); // of a double click
  click(card("n1"));
  assert.deepEqual([withClass("gv-lit"), withClass("gv-dim")], [[], []]);
  click(card("n2"));
  click(find(".gv-view"));
  assert.deepEqual(picked, ["n1", "", "n2", ""]);
});

test("cards that share memory are marked on both", () => {
  const state = makeState(["a", "b"]);
  state.cards.n0.memory = state.cards.n1.memory = ["n0", "n1"];
  panel.show(state);
  panel.select("n0");
  assert.equal(el.querySelectorAll(".gv-mark-memory").length, 2);
  assert.equal(textOf(".gv-tag-memory text"), "same memory");
  assert.deepEqual(picked, []); // what Python says is not said back to it
});

test("a frame around cards that share memory is lit with them, and both halves of an arrow", () => {
  const state = makeState(["a", "b", "c"]);
  state.cards.n0.memory = state.cards.n1.memory = ["n0", "n1"];
  state.cards.n0.lit = ["e0"];
  const frame = (id, right) => `<g id="${id}" class="cluster"><path d="M-5,-5L${right},-5L${right},45"/></g>`;
  const half = '<g id="e0f" class="edge forward"><path d="M80,20L100,20"/></g>';
  state.svg = state.svg.replace("</g></svg>", `${frame("clust1", 170)}${frame("clust2", 20)}${half}</g></svg>`);
  panel.show(state);
  panel.select("n0");
  assert.deepEqual(withClass("gv-lit"), ["n0", "n1", "e0", "clust1", "e0f"]);
  assert.deepEqual(withClass("gv-dim"), ["n2", "e1", "clust2"]);
  const next = { ...state, arrows: { ...state.arrows, e0: { ...state.arrows.e0, look: "cut" } } };
  panel.show(next);
  assert.deepEqual(withClass("gv-changed"), ["e0", "e0f"]);
});

test("a selection stays with its card when numbers change, and its line is marked", () => {
  panel.setCode({ text: "1\n2\n3" });
  panel.show(makeState(["a", "b"]));
  click(card("n0"));
  panel.show(makeState(["z", "y", "a"]));
  assert.deepEqual([panel.selected, picked], ["n2", ["n0", "n2"]]);
  assert.equal(textOf(".gv-here .gv-source"), "3");
  panel.show(makeState(["q"]));
  assert.deepEqual([panel.selected, picked], ["", ["n0", "n2", ""]]);
});

test("what changed glows and is said", () => {
  panel.show(makeState(["a", "b"]));
  unfold();
  panel.show(makeState(["a", "b", "c"], { values: { b: 7 } }));
  assert.equal(textOf(".gv-changes"), "Changed: b: 1 → 7 · c is new");
  assert.deepEqual(withClass("gv-changed"), ["n1", "n2", "e1"]);
  assert.equal(card("n1").getAttribute("aria-label"), "card 1, changed");
  assert.equal(textOf("summary"), "Tensors (3) · 2 changed");
  assert.deepEqual([...el.querySelectorAll("td.gv-changed")].map((cell) => [cell.textContent, cell.title]), [
    ["7 (changed)", "was 1"],
    ["cnew", ""],
  ]);
});

test("the same state again keeps its marks; one that is told to be afresh has none", () => {
  panel.show(makeState(["a"]));
  panel.show(makeState(["a"], { values: { a: 2 } }));
  panel.show(makeState(["a"], { values: { a: 2 } }));
  assert.equal(textOf(".gv-changes"), "Changed: a: 1 → 2");
  panel.show(makeState(["a"], { afresh: true }));
  assert.equal(textOf(".gv-changes"), "");
});

test("a picture that is drawn again in another width leaves all else as it is", () => {
  panel.show(makeState(["a"]));
  const state = makeState(["a"], { values: { a: 2 } });
  panel.show(state);
  panel.select("n0");
  const svg = state.svg.replace("<svg", "<svg data-width=''");
  assert.notEqual(svg, state.svg);
  panel.show({ ...state, svg });
  assert.equal(textOf(".gv-changes"), "Changed: a: 1 → 2");
  assert.equal(panel.selected, "n0");
});

test("the table is written when it is unfolded", () => {
  panel.show(makeState(["a", "b"]));
  assert.equal(find("tbody").rows.length, 0);
  unfold();
  assert.equal(find("tbody").rows.length, 2);
  panel.show(makeState(["a"]));
  assert.equal(find("tbody").rows.length, 1);
});

test("a row of the table selects its card, but not while text is marked", () => {
  panel.show(makeState(["a", "b"]));
  unfold();
  getSelection().selectAllChildren(find("tbody"));
  click(find("tbody tr:nth-child(2) button"));
  assert.deepEqual(picked, []);
  getSelection().removeAllRanges();
  click(find("tbody tr:nth-child(2) button"));
  assert.deepEqual(picked, ["n1"]);
  assert.equal(find("tr.gv-selected button").textContent, "b");
});

test("keys go from card to card, select and let go; the rest stays the notebook's", () => {
  panel.show(makeState(["a", "b", "c"]));
  assert.deepEqual([...el.querySelectorAll('.gv-node[tabindex="0"]')].map(({ dataset }) => dataset.gv), ["n0"]);
  card("n0").focus();
  assert.ok(press(document.activeElement, "ArrowRight"));
  assert.equal(document.activeElement.dataset.gv, "n1");
  assert.ok(press(document.activeElement, "Enter"));
  assert.equal(panel.selected, "n1");
  assert.ok(press(document.activeElement, "Escape")); // closes what is known of the card
  assert.equal(panel.selected, "n1");
  assert.ok(press(document.activeElement, "Escape"));
  assert.equal(panel.selected, "");
  assert.ok(press(document.activeElement, "End"));
  assert.equal(document.activeElement.dataset.gv, "n2");
  for (const key of ["x", "d", "Tab"]) assert.ok(!press(document.activeElement, key));
  assert.ok(!press(document.activeElement, "f", { ctrlKey: true }));
});

test("what is known of a card is shown while it has the focus", () => {
  panel.show(makeState(["a", "b"]));
  card("n1").focus();
  assert.equal(textOf(".gv-facts"), "bshape[3]");
  assert.equal(card("n1").getAttribute("aria-describedby"), find(".gv-facts").id);
  assert.ok(find(".gv-mark-focus"));
  panel.show(makeState(["z"]));
  assert.equal(textOf(".gv-facts"), "zshape[3]"); // the card is gone: the focus is on the first one
  assert.equal(el.querySelectorAll(".gv-mark-focus").length, 1);
});

test("the focus stays with its card in another picture", () => {
  panel.show(makeState(["a", "b"]));
  card("n1").focus();
  panel.show(makeState(["z", "y", "b"]));
  assert.equal(document.activeElement, card("n2"));
});

test("a notice stands for the sentence, and what is old is out of reach", () => {
  panel.show(makeState(["a"], { lines: [1] }));
  panel.setNotice({ title: "Wait.", detail: "It is old." });
  assert.equal(textOf(".gv-notice"), "Wait.\nIt is old.");
  assert.equal(textOf(".gv-notice strong"), "Wait.");
  const isOld = () => [find(".gv-said").hidden, find(".gv-picture").inert, el.getAttribute("aria-busy")];
  assert.deepEqual(isOld(), [true, true, "true"]);
  panel.setNotice(null);
  assert.deepEqual(isOld(), [false, false, "false"]);
  assert.equal(find(".gv-notice").hidden, true);
});

test("nothing is left when it is destroyed", () => {
  panel.show(makeState(["a"]));
  panel.destroy();
  assert.equal(el.outerHTML, '<div class="" data-lm-suppress-shortcuts="true"></div>');
});

test("the place of an explanation leads to what is marked, and is lit up by it", () => {
  const points = { title: "Where", text: "line 7", ids: ["n1"] };
  panel.show(makeState(["a", "b"], { points }));
  assert.equal(textOf(".gv-place"), "Where line 7");
  assert.deepEqual(withClass("gv-pointed"), ["n1"]);
  const lit = () => find(".gv-place").classList.contains("gv-lit");
  assert.equal(lit(), false);
  click(find(".gv-place button"));
  assert.deepEqual([picked, lit()], [["n1"], true]);
  click(card("n0"));
  assert.equal(lit(), false);
  panel.show(makeState(["a", "b"]));
  assert.equal(find(".gv-place").hidden, true);
  assert.deepEqual(withClass("gv-pointed"), []);
});
