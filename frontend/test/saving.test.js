// Saving and copying a picture: what is handed to the browser, and what is said of it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fileName, makeSaveMenu } from "../src/saving.js";
import { useWords } from "../src/words.js";
import { openPage, press } from "./page.js";

const SVG = '<svg xmlns="http://www.w3.org/2000/svg"><text>1</text></svg>';

/** Opens a page with the menu in it. */
function openMenu() {
  const window = openPage();
  useWords({});
  const element = makeSaveMenu(() => ({ svg: SVG, name: "gradviz-copy-clone" }));
  document.body.append(element);
  const opener = element.querySelector(".gv-tool-save");
  const menu = element.querySelector(".gv-save-menu");
  const choose = async (text) => {
    opener.click();
    [...menu.querySelectorAll("button")].find((button) => button.textContent === text).click();
    for (let turn = 0; turn < 5; turn += 1) await null;
    return element.querySelector('[role="status"]').textContent;
  };
  return { window, opener, menu, choose };
}

test("the menu opens, and closes by Escape and when the focus leaves it", () => {
  const { opener, menu } = openMenu();
  assert.equal(menu.hidden, true);
  opener.click();
  assert.deepEqual([menu.hidden, opener.ariaExpanded], [false, "true"]);
  press(menu.querySelector("button"), "Escape");
  assert.deepEqual([menu.hidden, opener.ariaExpanded, document.activeElement], [true, "false", opener]);
  opener.click();
  opener.dispatchEvent(new Event("focusout", { bubbles: true })); // to nowhere
  assert.equal(menu.hidden, true);
});

test("the picture is saved as Python drew it, under a name that says its settings", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] }); // Node waits for what is to come in a minute
  const { choose, window } = openMenu();
  const made = [];
  const clicked = [];
  const released = [];
  URL.revokeObjectURL = (href) => released.push(href);
  URL.createObjectURL = (blob) => (made.push(blob), "blob:1");
  window.HTMLAnchorElement.prototype.click = function click() { clicked.push(this.download); };
  assert.equal(await choose("Save as SVG"), "Saved");
  assert.deepEqual([await made[0].text(), made[0].type, clicked], [SVG, "image/svg+xml", ["gradviz-copy-clone.svg"]]);
  t.mock.timers.tick(60_000);
  assert.deepEqual(released, ["blob:1"]);
});

test("where a browser lets no page copy, that is said", async () => {
  const { choose } = openMenu();
  assert.match(await choose("Copy the SVG's text"), /^This browser lets no page copy here/);
  const copied = [];
  globalThis.ClipboardItem = class { constructor(parts) { this.parts = parts; } };
  const clipboard = { write: async (items) => copied.push(...items) };
  Object.defineProperty(navigator, "clipboard", { value: clipboard, configurable: true });
  assert.equal(await choose("Copy the SVG's text"), "Copied");
  assert.equal(await copied[0].parts["text/plain"].text(), SVG);
});

test("a file is called by its settings", () => {
  const names = ["copy=clone mode=no_grad", "", "a/b=../c", "模式=开"].map(fileName);
  assert.deepEqual(names, ["gradviz-copy-clone-mode-no_grad", "gradviz", "gradviz-a-b-c", "gradviz-模式-开"]);
});
