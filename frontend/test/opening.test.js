import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { mountBook } from "../src/book.js";
import { joinBoxes } from "../src/handles.js";
import { closed, closedInside, findMoved, findNames, nextAlarm, openingIndex } from "../src/opening.js";
import { mountPanel } from "../src/panel.js";
import { makeState, openPage, press } from "./page.js";

const NAMES = {
  m: ["n0", ""], "m.a": ["n0", ""], "m.b": ["n1", ""], "m.b.x": ["n1", "m.b"], "m.b.x.weight": ["n1", "m.b"],
  "m.c": ["n2", ""], "m.never": ["", ""],
};
const OUTLINE = { opened: [], crumbs: [[["m", "m"]]], inside: {}, red: ["m.b"], alarms: ["n1", "n2"], names: NAMES };
const OPENED = {
  opened: ["m.b"], crumbs: [[["m", "m"], ["b", "m.b"]]], inside: { "m.b": ["n1", "n2"] }, red: [], alarms: ["n1", "n3"],
  names: { ...NAMES, "m.b.x": ["n1", ""], "m.b.x.weight": ["n1", ""], "m.c": ["n3", ""] },
};

function withOpens(state, opens) {
  for (const [cardId, name] of Object.entries(opens)) state.cards[cardId].opens = name;
  return state;
}
const closedState = () => withOpens(makeState(["a", "b", "c"], { outline: OUTLINE }), { n1: "m.b" });
const openedState = () => makeState(["a", "x", "y", "c"], { outline: OPENED, afresh: true });

// ---- reckoning

test("closing a module closes all inside it, and nothing with a longer name", () => {
  const opened = ["m.b", "m.b.x", "m.bb"];
  assert.deepEqual(closed(opened, "m.b"), ["m.bb"]);
  assert.deepEqual(closedInside(opened, "m.b"), ["m.b", "m.bb"]);
  assert.deepEqual(closedInside(opened, "m"), []);
});

test("what was opened or closed is known with its cards in both pictures", () => {
  assert.deepEqual(findMoved(OUTLINE, OPENED), { name: "m.b", before: ["n1"], after: ["n1", "n2"] });
  assert.deepEqual(findMoved(OPENED, OUTLINE), { name: "m.b", before: ["n1", "n2"], after: ["n1"] });
  assert.equal(findMoved(OUTLINE, OUTLINE), null);
  assert.equal(findMoved(null, OPENED), null);
  assert.equal(findMoved({ ...OUTLINE, names: {} }, OPENED), null); // of another model
});

test("the next red card comes after the selected one, and after the last the first", () => {
  const order = ["n0", "n1", "n2", "n3"];
  assert.equal(nextAlarm(["n1", "n3"], order, ""), "n1");
  assert.equal(nextAlarm(["n1", "n3"], order, "n1"), "n3");
  assert.equal(nextAlarm(["n1", "n3"], order, "n2"), "n3");
  assert.equal(nextAlarm(["n1", "n3"], order, "n3"), "n1");
  assert.equal(nextAlarm([], order, "n3"), "");
});

test("a search finds whole names first, then ends, then parts", () => {
  const names = Object.fromEntries(["m.h.1", "m.h.11", "m.h.1.attn", "m.out.h.1"].map((name) => [name, ["n0", ""]]));
  assert.deepEqual(findNames({ ...OUTLINE, names }, " H.1 "), ["m.h.1", "m.out.h.1", "m.h.11", "m.h.1.attn"]);
  assert.deepEqual(findNames({ ...OUTLINE, names }, "zzz"), []);
  assert.deepEqual(findNames({ ...OUTLINE, names }, "  "), []);
});

test("a book opens one way, and several only where it has just these", () => {
  const openings = { "": 0, "m.a\nm.b": 1, "m.b": 2, "m.b\nm.b.x": 3 };
  const book = { openings, states: [], controls: [], title: "", code: {} };
  assert.equal(openingIndex(book, []), 0);
  assert.equal(openingIndex(book, ["m.a", "m.b"]), 1);
  assert.equal(openingIndex(book, ["m.c", "m.b"]), 2);
  assert.equal(openingIndex(book, ["m.b.x"]), 3);
  assert.equal(openingIndex(book, ["m.c"]), -1);
  assert.equal(openingIndex({ ...book, openings: undefined }, ["m.b"]), -1);
});

test("the box around boxes", () => {
  assert.deepEqual(joinBoxes([{ x: 1, y: 2, w: 3, h: 4 }, { x: 0, y: 5, w: 1, h: 9 }]), { x: 0, y: 2, w: 4, h: 12 });
  assert.equal(joinBoxes([]), null);
});

// ---- in a panel: what is asked for

let el, asked, picked, panel, missing;
beforeEach(() => {
  openPage();
  el = document.createElement("div");
  document.body.append(el);
  [asked, picked, missing] = [[], [], []];
  const has = (opened) => !opened.some((one) => missing.includes(one));
  const opener = { open: (opened) => asked.push(opened), has };
  panel = mountPanel(el, { onSelect: (cardId) => picked.push(cardId), opener, prefix: "p" });
});

const find = (selector) => el.querySelector(selector);
const card = (cardId) => find(`[data-gv=${cardId}]`);
const fire = (element, type, detail = 1) => element.dispatchEvent(new MouseEvent(type, { bubbles: true, detail }));
const button = (text) => [...el.querySelectorAll("button")].find((one) => one.textContent === text);
const status = () => find(".gv-outline-said").textContent;
const settle = () => new Promise((resolve) => { setTimeout(resolve); });
function search(text) {
  find(".gv-search").value = text;
  press(find(".gv-search"), "Enter");
}

test("a card that opens says so, others do not", () => {
  panel.show(closedState());
  assert.equal(card("n1").getAttribute("aria-expanded"), "false");
  assert.equal(card("n0").hasAttribute("aria-expanded"), false);
  assert.deepEqual([...el.querySelectorAll(".gv-handle")].map((one) => one.dataset.name), ["m.b"]);
  assert.equal(find(".gv-handle title").textContent, "Open m.b");
});

test("a click selects, the second opens; a card that opens nothing is let go", () => {
  panel.show(closedState());
  fire(card("n1"), "click");
  assert.deepEqual([asked, picked], [[], ["n1"]]);
  fire(card("n1"), "click");
  assert.deepEqual([asked, picked], [[["m.b"]], ["n1"]]);
  fire(card("n0"), "click");
  fire(card("n0"), "click");
  assert.deepEqual([asked.length, picked], [1, ["n1", "n0", ""]]);
});

test("a double click opens once, and not what came in its place", () => {
  panel.show(closedState());
  fire(card("n1"), "click");
  fire(card("n1"), "click", 2);
  fire(card("n1"), "dblclick", 2);
  assert.deepEqual(asked, [["m.b"]]);
  fire(card("n1"), "click"); // still selected: this opens
  panel.show(withOpens(openedState(), { n1: "m.b.x" }));
  fire(card("n1"), "dblclick", 2);
  assert.equal(asked.length, 2);
});

test("Enter opens, or selects what does not open; the space bar selects", () => {
  panel.show(closedState());
  press(card("n1"), " ");
  assert.deepEqual([asked, panel.selected], [[], "n1"]);
  press(card("n1"), "Enter");
  assert.deepEqual(asked, [["m.b"]]);
  press(card("n0"), "Enter");
  assert.deepEqual([asked.length, panel.selected], [1, "n0"]);
});

test("signs open and close by mouse and key", () => {
  panel.show(closedState());
  fire(find(".gv-handle-open"), "click");
  assert.deepEqual(asked.at(-1), ["m.b"]);
  panel.show(openedState());
  const sign = find(".gv-handle-close");
  const told = ["role", "tabindex", "aria-expanded", "aria-label"].map((name) => sign.getAttribute(name));
  assert.deepEqual(told, ["button", "0", "true", "Close m.b"]);
  assert.ok(press(sign, "Enter"));
  assert.deepEqual(asked.at(-1), []);
  fire(sign, "click");
  assert.deepEqual(asked.length, 3);
});

test("Escape lets go first, then closes the innermost", () => {
  panel.show(openedState());
  panel.select("n0");
  press(card("n0"), "Escape");
  assert.deepEqual([panel.selected, asked], ["", []]);
  press(card("n0"), "Escape");
  assert.deepEqual(asked, [[]]);
  panel.show(closedState());
  press(card("n0"), "Escape");
  assert.equal(asked.length, 1);
});

test("crumbs say what is open, and close what is inside", () => {
  panel.show(openedState());
  assert.deepEqual([...el.querySelectorAll(".gv-crumb")].map((one) => one.textContent), ["m", "b"]);
  assert.equal(find(".gv-crumb[aria-current]").textContent, "b");
  find(".gv-crumb").click();
  assert.deepEqual(asked, [[]]);
});

test("what is red opens at once, and is gone to one after the other", () => {
  panel.show(closedState());
  button("Next ✗").click();
  button("Next ✗").click();
  button("Next ✗").click();
  assert.deepEqual(picked, ["n1", "n2", "n1"]);
  button("Open all red").click();
  assert.deepEqual(asked, [["m.b"]]);
  panel.show(openedState());
  assert.equal(button("Open all red").disabled, true);
  panel.show(makeState(["a"], { outline: { ...OUTLINE, red: [], alarms: [] } }));
  const tools = [button("Next ✗"), button("Open all red")];
  assert.deepEqual(tools.map((tool) => tool.style.visibility), ["hidden", "hidden"]);
});

test("a search selects the card, opens on the way, and says what it found", async () => {
  panel.show(closedState());
  search("m.c");
  assert.deepEqual([panel.selected, status()], ["n2", "m.c is in this card."]);
  search("x");
  assert.deepEqual(asked, [["m.b"]]);
  assert.equal(status(), "m.b.x is in this card. Enter: the next of 2 names with “x”.");
  panel.show(openedState());
  panel.select(""); // as whoever shows a state does
  await settle();
  assert.equal(panel.selected, "n1");
  press(find(".gv-search"), "Enter");
  assert.match(status(), /^m\.b\.x\.weight is/);
  search("never");
  assert.equal(status(), "m.never has no card here: it was never called.");
  search("nothing");
  assert.equal(status(), "No module or parameter has “nothing” in its name.");
  search("");
  assert.equal(status(), "");
});

test("what cannot be opened here says so, and a search goes to what contains it", () => {
  missing.push("m.b");
  panel.show(closedState());
  assert.ok(find(".gv-handle").classList.contains("gv-handle-away"));
  press(card("n1"), "Enter");
  assert.match(status(), /^This page was saved without m\.b opened\. .*focus="m\.b"/);
  search("m.b.x");
  assert.deepEqual([asked, panel.selected], [[], "n1"]);
});

test("a picture in which nothing opens has no bar", () => {
  panel.show(makeState(["a"]));
  assert.equal(find(".gv-outline-bar").hidden, true);
  panel.show(closedState());
  assert.equal(find(".gv-outline-bar").hidden, false);
  panel.show(makeState([], { outline: OUTLINE, svg: "" }));
  assert.equal(find(".gv-outline-bar").hidden, true);
});

test("nothing is marked as changed where something opens, and the focus goes inside", () => {
  panel.show(closedState());
  card("n1").focus();
  panel.show(openedState());
  assert.equal(el.querySelectorAll(".gv-changed").length, 0);
  assert.equal(document.activeElement, card("n1"));
  assert.equal(find(".gv-facts").hidden, true); // what came was not asked about
  assert.equal(find(".gv-facts-title"), null); // and what went is not told of
});

test("what comes below a mouse that rests where it opened a card is not pointed at", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const at = (type, clientX, clientY) => {
    const event = new MouseEvent(type, { bubbles: true, detail: 1 });
    // a click has whole CSS pixels, a pointer fractions of them
    for (const [name, value] of Object.entries({ clientX, clientY })) Object.defineProperty(event, name, { value });
    card("n1").dispatchEvent(event);
  };
  panel.show(closedState());
  at("click", 20, 12);
  at("click", 20, 12);
  assert.deepEqual(asked, [["m.b"]]);
  panel.show(openedState());
  at("pointerover", 20.4, 12.6);
  t.mock.timers.tick(1000);
  assert.equal(find(".gv-facts").hidden, true);
  at("pointerover", 21.4, 12.6); // it moved
  t.mock.timers.tick(1000);
  assert.equal(find(".gv-facts").hidden, false);
});

// ---- a book

test("a book shows its states, writes and reads their address, and turns no pages", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const openings = { "": 0, "m.b": 1 };
  const book = { title: "t", code: {}, controls: [], states: [closedState(), openedState()], openings };
  const host = document.createElement("div");
  document.body.append(host);
  const mounted = mountBook(host, book, { hasAddresses: true });
  press(host.querySelector("[data-gv=n1]"), "Enter");
  assert.equal(mounted.index, 1);
  t.mock.timers.tick(200);
  assert.equal(location.hash, "#open=m.b");
  press(document.body, "PageDown");
  assert.equal(mounted.index, 1);
  press(host.querySelector("[data-gv=n1]"), "Escape");
  assert.equal(mounted.index, 0);
  mounted.destroy();
  location.hash = "#open=m.b";
  const again = mountBook(host, book, { hasAddresses: true });
  assert.equal(again.index, 1);
  again.destroy();
  location.hash = "#open=m.zzz";
  const wrong = mountBook(host, book, { hasAddresses: true });
  assert.equal(wrong.index, 0);
  wrong.destroy();
});

test("a card of several equal modules offers each of them while it is selected", () => {
  const state = closedState();
  state.cards.n1.members = ["m.b", "m.c"];
  panel.show(state);
  const offered = () => (find(".gv-members").hidden ? [] : [...find(".gv-members").options].map((one) => one.value));
  assert.deepEqual(offered(), []);
  fire(card("n1"), "click");
  assert.deepEqual(offered(), ["", "m.b", "m.c"]);
  find(".gv-members").value = "m.c";
  find(".gv-members").dispatchEvent(new Event("change"));
  assert.deepEqual(asked, [["m.c"]]);
  fire(card("n0"), "click");
  assert.deepEqual(offered(), []);
});

test("a search for a parameter opens its own card, where there is one", () => {
  const names = { ...NAMES, "m.b.x.weight": ["n1", "m.b", "leaf"] };
  panel.show(withOpens(makeState(["a", "b", "c"], { outline: { ...OUTLINE, names } }), { n1: "m.b" }));
  search("x.weight");
  assert.deepEqual(asked, [["m.b.x.weight"]]);
  missing = ["m.b.x.weight"];
  search("x.weight");
  assert.deepEqual(asked.at(-1), ["m.b"]);
});
