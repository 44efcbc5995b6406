// The tensors as a folded table.

import { COLUMNS, cellText } from "./changes.js";
import { makeElement, markCurrent, targetOf, writeText } from "./dom.js";
import { sentence } from "./words.js";

/** @import { Row } from "./types.d.ts" */

/**
 * Makes the table, which is written when it is unfolded: the rows of a large picture take longer than all the rest.
 * Cells are written in place; a row that stands for a card selects it, that of a parameter goes to it.
 *
 * @param {HTMLDetailsElement} el
 * @param {(cardId: string) => void} choose
 * @param {(name: string) => void} goToName
 */
export function makeTable(el, choose, goToName) {
  /** @type {Row[]} */
  let rows = [];
  /** @type {Map<string, string>} */
  let before = new Map(); // texts of changed cells, by "row key/column"
  let selected = "";
  let isWritten = true;
  const summary = makeElement("summary");
  const heads = makeElement("tr", {}, ...COLUMNS.map(makeHeading));
  const head = makeElement("thead", {}, heads);
  let columns = COLUMNS;
  const body = makeElement("tbody");
  const table = makeElement("table", {}, head, body);
  const looks = { className: "gv-scroll", role: "group", ariaLabel: sentence("tensors") };
  const scroll = makeElement("div", { ...looks, tabIndex: 0 }, table); // it scrolls sideways where it is narrow
  el.append(summary, scroll);

  function writeRows() {
    if (isWritten || !el.open) return;
    isWritten = true;
    while (body.rows.length > rows.length) body.deleteRow(-1);
    rows.forEach(writeRow);
    markSelected();
  }
  /**
   * @param {Row} row
   * @param {number} i
   */
  function writeRow(row, i) {
    const line = body.rows[i] ?? body.insertRow();
    line.dataset.card = row.card ?? "";
    line.dataset.name = row.parameter ?? "";
    if (row.level === undefined) delete line.dataset.level;
    else line.dataset.level = String(row.level);
    while (line.cells.length > row.cells.length) line.deleteCell(-1);
    row.cells.forEach((cell, column) => {
      const isButton = column === 0 && Boolean(row.card || row.parameter);
      writeCell(line.cells[column] ?? line.insertCell(), cellText(cell), before.get(`${row.key}/${column}`), isButton);
    });
  }
  function markSelected() {
    if (!el.open) return;
    for (const line of body.rows) {
      const isSelected = selected !== "" && line.dataset.card === selected;
      line.classList.toggle("gv-selected", isSelected);
      markCurrent(line, isSelected ? "true" : "");
    }
  }
  body.addEventListener("click", (event) => {
    const line = targetOf(event).closest("tr");
    if (!line || String(getSelection())) return; // she is marking text to copy it
    if (line.dataset.name) goToName(line.dataset.name);
    else if (line.dataset.card) choose(line.dataset.card);
  });
  el.addEventListener("toggle", () => {
    writeRows();
    markSelected();
  });
  return {
    /**
     * @param {Row[]} nextRows
     * @param {Map<string, string>} changedCells
     * @param {string[]} [nextColumns]
     */
    show(nextRows, changedCells, nextColumns = COLUMNS) {
      [rows, before, isWritten] = [nextRows, changedCells, false];
      el.hidden = !rows.length;
      if (columns.join() !== nextColumns.join()) heads.replaceChildren(...nextColumns.map(makeHeading));
      columns = nextColumns;
      scroll.ariaLabel = sentence(columns === COLUMNS ? "tensors" : "parameters");
      if (columns !== COLUMNS) {
        writeText(summary, sentence("parameters"));
        writeRows();
        return;
      }
      const name = changedCells.size ? "tensors_folded_changed" : "tensors_folded";
      writeText(summary, sentence(name, { n: rows.length, changed: changedCells.size }));
      writeRows();
    },
    /** @param {string} cardId */
    select(cardId) {
      selected = cardId;
      markSelected();
    },
  };
}

/** @param {string} column */
function makeHeading(column) {
  return makeElement("th", { scope: "col" }, nameColumn(column));
}

/**
 * Returns the name of a column: a word, or the attribute as torch calls it.
 *
 * @param {string} column
 */
function nameColumn(column) {
  switch (column) {
    case "name": return sentence("column_name");
    case "value": return sentence("column_value");
    case "version": return sentence("column_version");
    case "storage": return sentence("column_storage");
    default: return column;
  }
}

/**
 * Writes a cell where it is another: its text, and what was there before ("" in a new row).
 *
 * @param {HTMLTableCellElement} cell
 * @param {string} text
 * @param {string | undefined} before
 * @param {boolean} isButton
 */
function writeCell(cell, text, before, isButton) {
  const shown = JSON.stringify([text, before, isButton]);
  if (cell.dataset.shown === shown) return;
  cell.dataset.shown = shown;
  cell.classList.toggle("gv-changed", before !== undefined);
  cell.title = before ? sentence("cell_was", { before }) : "";
  cell.replaceChildren(isButton ? makeElement("button", { type: "button", className: "gv-name" }, text) : text);
  if (before) cell.append(makeElement("span", { className: "gv-sign" }, sentence("cell_changed")));
  else if (before === "") cell.append(makeElement("span", { className: "gv-sign gv-word" }, sentence("new")));
}
