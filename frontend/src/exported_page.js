// The exported page: a book or a question, and the bar above it.

import { mountBook } from "./book.js";
import { makeElement } from "./dom.js";
import { embed } from "./embedding.js";
import { unpackBook } from "./packed.js";
import { makePrintMenu } from "./printing.js";
import { mountQuestion } from "./question.js";
import { sentence, useWords } from "./words.js";

const PRESENTED = 2.5; // times as large

/** Reads the book that the page holds, and puts it in the place of what is read with scripts off. */
export async function mountPage() {
  const book = await readBook();
  useWords(book.words);
  const query = new URLSearchParams(location.search);
  const root = document.documentElement;
  const app = findById("gv-app");
  app.replaceChildren();
  if (query.has("embed")) embed();
  const [mounted, menu] = mount(app, book, query.get("print"));
  const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
  const dark = makeToggle(sentence("dark"), isDark, (isOn) => {
    root.style.colorScheme = isOn ? "dark" : "light";
  });
  const present = makeToggle(sentence("present"), query.has("present"), (isOn) => {
    root.classList.toggle("gv-present", isOn);
    mounted.enlarge(isOn ? PRESENTED : 1);
  });
  findById("gv-head").append(makeElement("div", { className: "gv-bar" }, dark, present, ...menu));
}

/**
 * Puts what the page holds into it. A question has one picture, which the browser's own command prints.
 *
 * @param {HTMLElement} app
 * @param {import("./types.d.ts").Book} book
 * @param {string | null} printed
 * @returns {[{ enlarge(factor: number): void }, HTMLElement[]]}
 */
function mount(app, book, printed) {
  const { question } = book;
  if (question) return [mountQuestion(app, { ...book, question }), []];
  const mounted = mountBook(app, book, { hasAddresses: true });
  return [mounted, [makePrintMenu(book, mounted, printed)]];
}

async function readBook() {
  const packed = atob(findById("gv-data").textContent ?? "");
  return unpackBook(Uint8Array.from(packed, (letter) => letter.charCodeAt(0)));
}

/** @param {string} id */
function findById(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}

/**
 * Makes a button that is on or off, and does at once what it stands for.
 *
 * @param {string} label
 * @param {boolean} isOn
 * @param {(isOn: boolean) => void} act
 */
function makeToggle(label, isOn, act) {
  const button = makeElement("button", { type: "button", ariaPressed: String(isOn) }, label);
  button.onclick = () => {
    const isNowOn = button.ariaPressed !== "true";
    button.ariaPressed = String(isNowOn);
    act(isNowOn);
  };
  act(isOn);
  return button;
}
