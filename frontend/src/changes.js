// What is different in a state: to be marked in picture and table, and said in words.

import { sentence } from "./words.js";

/** @import { Arrow, Cell, Changes, Row, State } from "./types.d.ts" */

export const COLUMNS = ["name", "value", "grad", "requires_grad", "is_leaf", "grad_fn", "version", "storage"];
const SAID = ["grad", "requires_grad", "grad_fn", "is_leaf", "value", "version"]; // the weightiest first
const MOST_SAID = 3;

/**
 * Returns the text of a table's cell, as Python writes it.
 *
 * @param {Cell | undefined} cell
 */
export function cellText(cell) {
  if (cell === true) return "True";
  return cell === false ? "False" : String(cell ?? "None");
}

/**
 * Returns what is different in `after`. A card, an arrow or a row of the table is the same one if its key is.
 *
 * @param {State | null} before
 * @param {State} after
 * @returns {Changes}
 */
export function findChanges(before, after) {
  const isFirst = !before?.svg && !before?.problem; // nothing was shown, not even why there is no picture
  if (!before || isFirst || areStrangers(before.cards, after.cards)) {
    return { marks: new Map(), cells: new Map(), texts: [] };
  }
  const marks = new Map([...findMarks(before.cards, after.cards), ...findMarks(before.arrows, after.arrows)]);
  if (before.columns || after.columns) return { marks, cells: new Map(), texts: [] }; // groups are no tensors
  return { marks, ...findTableChanges(before.table, after.table) };
}

/**
 * Tells whether two pictures are of different things: marking everything as new would say nothing.
 *
 * @param {Record<string, Arrow>} before
 * @param {Record<string, Arrow>} after
 */
function areStrangers(before, after) {
  const keys = new Set(Object.values(before).map(({ key }) => key));
  return keys.size > 0 && !Object.values(after).some(({ key }) => keys.has(key));
}

/**
 * @param {Record<string, Arrow>} before
 * @param {Record<string, Arrow>} after
 * @returns {[string, "new" | "changed"][]}
 */
function findMarks(before, after) {
  const looks = new Map(Object.values(before).map(({ key, look }) => [key, look]));
  return Object.entries(after)
    .filter(([, { key, look }]) => looks.get(key) !== look)
    .map(([id, { key }]) => [id, looks.has(key) ? "changed" : "new"]);
}

/**
 * @param {Row[]} before
 * @param {Row[]} after
 */
function findTableChanges(before, after) {
  const old = new Map(before.map((row) => [row.key, row.cells.map(cellText)]));
  /** @type {Map<string, string>} */
  const cells = new Map();
  /** @type {Map<string, string[]>} */
  const byColumn = new Map(SAID.map((column) => [column, []]));
  const appeared = [];
  for (const row of after) {
    const texts = row.cells.map(cellText);
    const oldTexts = old.get(row.key);
    old.delete(row.key);
    if (!oldTexts) {
      cells.set(`${row.key}/0`, "");
      appeared.push(sentence("is_new", { name: texts[0] }));
      continue;
    }
    texts.forEach((text, i) => {
      if (text === oldTexts[i]) return;
      cells.set(`${row.key}/${i}`, oldTexts[i]);
      byColumn.get(COLUMNS[i])?.push(sayChange(COLUMNS[i], texts[0], oldTexts[i], text));
    });
  }
  const disappeared = [...old.values()].map(([name]) => sentence("is_gone", { name }));
  return { cells, texts: [...[...byColumn.values()].flat(), ...appeared, ...disappeared] };
}

/**
 * @param {string} column
 * @param {string} name of the tensor
 * @param {string} before
 * @param {string} after
 */
function sayChange(column, name, before, after) {
  if (column === "value") return sentence("value_changed", { name, before, after });
  if (column === "version") return sentence("version_changed", { name, before, after });
  return sentence("attribute_changed", { name, attribute: column, before, after });
}

/**
 * Returns the weightiest changes in words, and how many more there are.
 *
 * @param {string[]} texts
 */
export function sayChanges(texts) {
  const more = texts.length - MOST_SAID;
  if (more <= 1) return texts.join(" · ");
  return [...texts.slice(0, MOST_SAID), sentence("more_changes", { n: more })].join(" · ");
}
