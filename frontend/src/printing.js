// A book on paper: one state a sheet.

import { choicesOf } from "./address.js";
import { makeElement, tellPieces } from "./dom.js";
import { cleanSvg } from "./safe_svg.js";
import { sentence } from "./words.js";

/** @import { Book } from "./types.d.ts" */
/** @import { MountedBook } from "./book.js" */

const LARGEST_TEXT = 8; // points
const TALLEST_PICTURE = 120; // mm
const WIDE = 70; // letters a line: a table, which goes across both columns

/**
 * Makes the menu that chooses what is printed: "1-3,7", all, or the state that is shown.
 *
 * @param {Book} book
 * @param {MountedBook} mounted
 * @param {string | null} asked the numbers that the address asks for
 */
export function makePrintMenu(book, mounted, asked) {
  const least = firstNumber(book);
  const count = book.openings ? 1 : book.states.length; // what a reader may open is not all of a row
  const most = least + count - 1;
  const placeholder = `${least}-${Math.min(most, least + 2)}`;
  const label = sentence("print_numbers");
  const list = makeElement("input", { type: "text", value: asked ?? "", size: 12, placeholder, ariaLabel: label });
  const radios = {
    this: makeElement("input", { type: "radio", name: "gv-print", value: "this", checked: asked === null || !asked }),
    all: makeElement("input", { type: "radio", name: "gv-print", value: "all" }),
    list: makeElement("input", { type: "radio", name: "gv-print", value: "list", checked: Boolean(asked) }),
  };
  const form = makeElement(
    "form", { className: "gv-print-form" },
    makeElement("label", {}, radios.this, sentence("print_this")),
    makeElement("label", {}, radios.all, sentence("print_all", { n: count })),
    makeElement("div", {}, makeElement("label", {}, radios.list, sentence("print_list")), list),
    makeElement("button", { type: "submit" }, sentence("print")),
  );
  list.oninput = () => {
    radios.list.checked = true;
  };
  form.onsubmit = (event) => {
    event.preventDefault();
    print();
  };
  function chosenIndices() {
    if (radios.this.checked) return [mounted.index];
    const numbers = readNumbers(radios.list.checked ? list.value : `${least}-${most}`, least, most);
    return numbers.length ? numbers.map((number) => number - least) : [mounted.index];
  }
  const sheets = makeElement("div", { className: "gv-sheets", ariaHidden: "true" });
  addEventListener("beforeprint", () => {
    const made = chosenIndices().map((index) => makeSheet(book, index));
    sheets.replaceChildren(...made);
    document.body.append(sheets);
    made.forEach(fitSheet);
  });
  addEventListener("afterprint", () => sheets.remove());
  return makeElement("details", { className: "gv-print" }, makeElement("summary", {}, sentence("print_menu")), form);
}

/**
 * Returns the numbers of a list, "1-3,7" -> [1, 2, 3, 7]; whatever is not a number of a state is left out.
 *
 * @param {string} text
 * @param {number} least
 * @param {number} most
 */
export function readNumbers(text, least, most) {
  const numbers = new Set();
  for (const part of text.split(/[,;\s]+/)) {
    const [, from, to = from] = /^(\d+)(?:[-–](\d+))?$/.exec(part) ?? [];
    for (let n = Math.max(least, Number(from)); n <= Math.min(most, Number(to)); n++) numbers.add(n);
  }
  return [...numbers].sort((a, b) => a - b);
}

/**
 * Returns the number of the first state: a player's are numbered by their steps, which start with 0.
 *
 * @param {Book} book
 */
function firstNumber({ controls }) {
  const isPlayer = controls.length === 1 && controls[0].kind === "steps";
  return isPlayer ? Number(controls[0].options[0]) : 1;
}

/**
 * @param {Book} book
 * @param {number} index
 */
function nameState(book, index) {
  const choices = choicesOf(book, index);
  const parts = book.controls.map(({ kind, label, options }, i) =>
    sentence(kind === "steps" ? "sheet_step" : "sheet_setting", { control: label, option: options[choices[i]] }));
  return parts.join(" · ");
}

/**
 * Makes the sheet of one state: name, picture, what happened, the text.
 *
 * @param {Book} book
 * @param {number} index
 */
function makeSheet(book, index) {
  const state = book.states[index];
  const picture = state.svg ? cleanSvg(state.svg, `gv-sheet${index}`) : null;
  const texts = [book.code?.text ?? "", ...(state.text ?? "").split("\n\n")].filter((text) => text !== "");
  const sheet = makeElement("section", { className: "gv-sheet" }, makeElement("h2", {}, book.title));
  addText(sheet, "gv-sheet-name", nameState(book, index));
  sheet.append(makeElement("p", {}, ...tellPieces({ text: state.sentence, code: state.sentence_code ?? [] })));
  if (picture) sheet.append(makeElement("div", { className: "gv-sheet-picture" }, turnGrey(picture)));
  addText(sheet, "", state.problem);
  sheet.append(makeElement("div", { className: "gv-sheet-text" }, ...texts.map(makeBlock)));
  return sheet;
}

/**
 * @param {HTMLElement} sheet
 * @param {string} className
 * @param {string} text
 */
function addText(sheet, className, text) {
  if (text) sheet.append(makeElement("p", { className }, text));
}

/** @param {string} text */
function makeBlock(text) {
  const isWide = text.length > WIDE * text.split("\n").length;
  return makeElement("pre", { className: isWide ? "gv-wide" : "" }, text);
}

/** @param {SVGElement} svg */
function turnGrey(svg) {
  for (const part of svg.querySelectorAll("*")) {
    for (const name of ["fill", "stroke"]) {
      const pairs = /^#(..)(..)(..)$/.exec(part.getAttribute(name) ?? "");
      if (!pairs) continue;
      const [red, green, blue] = pairs.slice(1).map((pair) => parseInt(pair, 16));
      const grey = Math.round(0.299 * red + 0.587 * green + 0.114 * blue);
      part.setAttribute(name, `rgb(${grey},${grey},${grey})`);
    }
  }
  return svg;
}

/**
 * Makes text and picture smaller and smaller, until one sheet of paper holds them; what is still too long runs on to a
 * second one.
 *
 * @param {HTMLElement} sheet
 */
function fitSheet(sheet) {
  const isTooLong = () => sheet.scrollHeight > sheet.clientHeight;
  for (let step = 0; step < 8 && isTooLong(); step++) {
    sheet.style.setProperty("--gv-text", `${LARGEST_TEXT - step / 2}pt`);
    sheet.style.setProperty("--gv-tall", `${TALLEST_PICTURE - 8 * Math.max(0, step - 2)}mm`);
  }
  sheet.classList.toggle("gv-long", isTooLong());
}
