// What of an outline is open: pure reckoning over what Python tells of it.

/** @import { Book, Outline } from "./types.d.ts" */

/**
 * Tells whether one module stands inside another.
 *
 * @param {string} inner
 * @param {string} outer
 */
function isInside(inner, outer) {
  return inner.startsWith(`${outer}.`);
}

/**
 * Returns what is open once a module is closed, and everything inside it.
 *
 * @param {string[]} opened
 * @param {string} name
 */
export function closed(opened, name) {
  return opened.filter((one) => one !== name && !isInside(one, name));
}

/**
 * Returns what is open once everything inside a module is closed.
 *
 * @param {string[]} opened
 * @param {string} name
 */
export function closedInside(opened, name) {
  return opened.filter((one) => !isInside(one, name));
}

/**
 * Returns the card that a picture has for a module: the first inside, where it is open.
 *
 * @param {Outline} outline
 * @param {string} name
 */
export function cardOf(outline, name) {
  return outline.inside[name]?.[0] ?? outline.names[name]?.[0] ?? "";
}

/**
 * Returns the module that was opened or closed between two pictures, and its cards in each; null where that was
 * nothing.
 *
 * @param {Outline | null | undefined} before
 * @param {Outline | null | undefined} after
 */
export function findMoved(before, after) {
  if (!before || !after) return null;
  const isOpening = after.opened.some((name) => !before.opened.includes(name));
  const [more, less] = isOpening ? [after, before] : [before, after];
  const name = more.opened.find((one) => !less.opened.includes(one));
  if (name === undefined || less.names[name] === undefined) return null;
  const [inside, around] = [more.inside[name] ?? [], [less.names[name][0]].filter(Boolean)];
  return isOpening ? { name, before: around, after: inside } : { name, before: inside, after: around };
}

/**
 * Returns the card after the selected one among those that tell of something, the first after the last.
 *
 * @param {string[]} alarms
 * @param {string[]} order every card from top to bottom
 * @param {string} selected
 */
export function nextAlarm(alarms, order, selected) {
  const place = order.indexOf(selected);
  return alarms.find((cardId) => order.indexOf(cardId) > place) ?? alarms[0] ?? "";
}

/**
 * Lists the modules and parameters that a text names, the best first: those that are called so, those that end in it,
 * those that have it in their name.
 *
 * @param {Outline} outline
 * @param {string} text
 */
export function findNames(outline, text) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return [];
  const rank = (/** @type {string} */ name) => {
    const lower = name.toLowerCase();
    if (lower === wanted || lower.slice(lower.indexOf(".") + 1) === wanted) return 0;
    if (lower.endsWith(`.${wanted}`)) return 1;
    return lower.includes(wanted) ? 2 : 3;
  };
  const names = Object.keys(outline.names).map((name) => ({ name, rank: rank(name) }));
  const found = names.filter((one) => one.rank < 3).sort((a, b) => a.rank - b.rank);
  return found.map(({ name }) => name);
}

/**
 * Returns the index of the state of a book in which this is open: just this, or else the way to the last of it. -1: the
 * book has none.
 *
 * @param {Book} book
 * @param {string[]} opened
 */
export function openingIndex(book, opened) {
  const openings = book.openings ?? {};
  const exact = opened.join("\n");
  if (Object.hasOwn(openings, exact)) return openings[exact];
  const last = opened.at(-1) ?? "";
  const key = Object.keys(openings).find((one) => one.endsWith(last) && isWayTo(one.split("\n"), last));
  return key === undefined ? -1 : openings[key];
}

/**
 * Returns how an address writes what is open in a state: the last module, where the others stand around it.
 *
 * @param {string} key of `openings`
 */
export function shortKey(key) {
  const names = key.split("\n");
  return isWayTo(names, names[names.length - 1]) ? names[names.length - 1] : key;
}

/**
 * Tells whether these modules stand one inside the other, and end in this one.
 *
 * @param {string[]} names
 * @param {string} last
 */
function isWayTo(names, last) {
  return names.at(-1) === last && names.every((name, i) => i === 0 || isInside(name, names[i - 1]));
}
