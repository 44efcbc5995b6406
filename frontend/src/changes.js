// What is different in a state: to be marked in picture and table, and said in words.

import { asCode, tell, together } from "./words.js";

/** @import { Arrow, Cell, Changes, State, Told, Words } from "./types.d.ts" */

export const COLUMNS = ["name", "value", "grad", "requires_grad", "is_leaf", "grad_fn", "version", "storage"];
const [NAME, VALUE, GRAD, TRACKED, LEAF, GRAD_FN] = COLUMNS.keys();

/**
 * Returns the text of a table's cell, as Python writes it.
 *
 * @param {Cell | undefined} cell
 */
export function cellText(cell) {
  if (cell === true) return "True";
  return cell === false ? "False" : String(cell ?? "None");
}

const MOST_NAMED = 3; // cards
/** @type {Told} */
export const NOTHING = { text: "", code: [] };

/** @typedef {[before: string[], now: string[]]} Pair the cells of one tensor in two states */

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
    return { marks: new Map(), cells: new Map(), texts: [], kept: null, isCompared: false };
  }
  const marks = new Map([...findMarks(before.cards, after.cards), ...findMarks(before.arrows, after.arrows)]);
  const seen = Object.entries(after.cards).flatMap(([id, { key }]) => (marks.has(id) ? [key] : []));
  const isNamed = seen.length <= MOST_NAMED; // cards of which only the drawing changed, such as a badge
  const drawn = isNamed ? sayOf(seen, "picture_changed_one", "picture_changed") : [];
  if (before.columns || after.columns) { // groups are no tensors
    return { marks, cells: new Map(), texts: [], kept: null, isCompared: marks.size === 0 };
  }
  const { cells, texts, kept } = findTableChanges(before, after);
  return { marks, cells, texts: texts.length ? texts : drawn, kept, isCompared: true };
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
 * @param {State} before
 * @param {State} after
 */
function findTableChanges(before, after) {
  const old = new Map(before.table.map((row) => [row.key, row.cells.map(cellText)]));
  /** @type {Map<string, string>} */
  const cells = new Map();
  /** @type {Pair[]} */
  const pairs = [];
  const appeared = [];
  for (const row of after.table) {
    const now = row.cells.map(cellText);
    const was = old.get(row.key);
    old.delete(row.key);
    if (!was) {
      cells.set(`${row.key}/0`, "");
      appeared.push(tell("is_new", { name: asCode(now[NAME]) }));
      continue;
    }
    pairs.push([was, now]);
    now.forEach((text, i) => text !== was[i] && cells.set(`${row.key}/${i}`, was[i]));
  }
  const disappeared = [...old.values()].map((was) => tell("is_gone", { name: asCode(was[NAME]) }));
  const texts = [...sayGradients(pairs), ...sayTracked(pairs), ...sayMemory(before, after), ...sayRest(pairs)];
  return { cells, texts: [...texts, ...appeared, ...disappeared], kept: sayKept(pairs) };
}

/**
 * @param {Pair[]} pairs
 * @param {number} column
 */
function differing(pairs, column) {
  return pairs.filter(([was, now]) => was[column] !== now[column]);
}

/** @param {Pair} pair */
function isLeaf(pair) {
  return pair.some((cells) => cells[LEAF] === "True" && cells[TRACKED] === "True");
}

/**
 * Says what became of the gradients of leaves, and of their values.
 *
 * @param {Pair[]} pairs
 */
function sayGradients(pairs) {
  const leaves = pairs.filter(isLeaf);
  return [
    ...differing(leaves, GRAD).map((pair) => tell("grad_changed", change(pair, GRAD))),
    ...differing(leaves, VALUE).map((pair) => tell("value_changed", change(pair, VALUE))),
  ];
}

/**
 * Says the same of one tensor or card, or of several; nothing of none.
 *
 * @param {string[]} names
 * @param {keyof Words} ofOne
 * @param {keyof Words} ofSeveral
 */
function sayOf(names, ofOne, ofSeveral) {
  return names.length ? [tell(names.length > 1 ? ofSeveral : ofOne, { names: join(names) })] : [];
}

/** @param {Pair[]} pairs */
function sayTracked(pairs) {
  const differ = differing(pairs, TRACKED);
  const namesOf = (/** @type {string} */ word) =>
    differ.flatMap(([, now]) => (now[TRACKED] === word ? [now[NAME]] : []));
  const [lost, found] = [namesOf("False"), namesOf("True")];
  return [
    ...sayOf(lost, "untracked_now_one", "untracked_now"),
    ...sayOf(found, "tracked_now_one", "tracked_now"),
  ];
}

/**
 * Says whose memory is shared now, or its own.
 *
 * @param {State} before
 * @param {State} after
 */
function sayMemory(before, after) {
  const shared = (/** @type {State} */ state) => new Map(
    Object.values(state.cards).map(({ key, memory }) => [key, memory?.length > 1]),
  );
  const [was, now] = [shared(before), shared(after)];
  const both = [...now.keys()].filter((key) => was.has(key) && was.get(key) !== now.get(key));
  const sharing = both.filter((key) => now.get(key));
  const own = both.filter((key) => !now.get(key));
  return [...sayOf(sharing, "shared_now_one", "shared_now"), ...sayOf(own, "own_now_one", "own_now")];
}

/**
 * Says which nodes and values are others; of a tensor that is tracked only now, or no more, that is said already.
 *
 * @param {Pair[]} pairs
 */
function sayRest(pairs) {
  const same = pairs.filter(([was, now]) => was[TRACKED] === now[TRACKED]);
  const results = pairs.filter((pair) => !isLeaf(pair));
  return [
    ...differing(same, GRAD_FN).map((pair) => tell("grad_fn_changed", change(pair, GRAD_FN))),
    ...differing(results, VALUE).map((pair) => tell("value_changed", change(pair, VALUE))),
  ];
}

/**
 * @param {Pair} pair
 * @param {number} column
 */
function change([was, now], column) {
  return { name: now[NAME], before: was[column], after: now[column] };
}

/**
 * @param {string[]} names
 * @returns {Told}
 */
function join(names) {
  const told = names.map(asCode);
  if (told.length < 2) return together(told);
  const others = told.slice(0, -1).flatMap((one, i) => (i ? [{ text: ", ", code: [] }, one] : [one]));
  return tell("and", { names: together(others), last: told[told.length - 1] });
}

/**
 * Says which gradient is what it was: what a learner looks for after a click.
 *
 * @param {Pair[]} pairs
 */
function sayKept(pairs) {
  const same = pairs.find((pair) => isLeaf(pair) && pair[1][TRACKED] === "True" && pair[0][GRAD] === pair[1][GRAD]);
  return same ? tell("grad_kept", { name: same[1][NAME], grad: same[1][GRAD] }) : null;
}

/**
 * Says the weightiest changes, at most two, and the second one only where both are short enough. Where nothing changed,
 * or only what no sentence tells (the reason of a cut, a version), it says that.
 *
 * @param {Changes} changes
 * @param {number} [most] letters
 * @returns {Told}
 */
export function sayChanges({ texts, kept, isCompared, marks, cells }, most = Infinity) {
  if (!isCompared) return NOTHING;
  if (!texts.length && !marks.size && !cells.size) {
    return kept ? tell("nothing_changed_but", { kept }) : tell("nothing_changed");
  }
  const [one, other = kept?.text.endsWith("None") ? null : kept] = texts;
  if (!one) return kept ? tell("details_changed_but", { kept }) : tell("details_changed");
  const both = other && tell("two_changes", { one, other });
  return tell("changed_to", { changes: both && both.text.length <= most ? both : one });
}
