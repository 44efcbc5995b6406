// Which state of a book the controls choose, and the address of it.

import { openingIndex, shortKey } from "./opening.js";

/** @import { Book } from "./types.d.ts" */

const OPEN = "open"; // what stands in an address before the names of modules

/**
 * Returns the index of the state that these options choose. States stand in mixed-radix order: the last control varies
 * fastest.
 *
 * @param {Book} book
 * @param {number[]} choices the chosen option of each control
 */
export function stateIndex(book, choices) {
  return book.controls.reduce((index, control, i) => index * control.options.length + choices[i], 0);
}

/**
 * Returns the option of each control in the state of this index.
 *
 * @param {Book} book
 * @param {number} index
 */
export function choicesOf(book, index) {
  const choices = [];
  for (const { options } of [...book.controls].reverse()) {
    choices.unshift(index % options.length);
    index = Math.floor(index / options.length);
  }
  return choices;
}

/**
 * Returns the address of a state, as "#copy=clone&k=3", or "#open=model.h.5" where modules are opened.
 *
 * @param {Book} book
 * @param {number} index
 */
export function writeAddress(book, index) {
  if (book.openings) return `#${OPEN}=${encode(shortKey(openedAt(book, index)))}`;
  const choices = choicesOf(book, index);
  const parts = book.controls.map(({ name, options }, i) => `${encode(name)}=${encode(options[choices[i]])}`);
  return `#${parts.join("&")}`;
}

/**
 * Returns the index of the state that an address names. What it does not name, or names wrongly, stays as it is.
 *
 * @param {Book} book
 * @param {string} address
 * @param {number} index of the state to start from
 */
export function readAddress(book, address, index) {
  if (book.openings) return readOpening(book, address, index);
  const choices = choicesOf(book, index);
  for (const part of address.replace(/^#/, "").split("&")) {
    const [name, value] = part.split("=").map(decode);
    const i = book.controls.findIndex((control) => decode(encode(control.name)) === name);
    const choice = book.controls[i]?.options.findIndex((option) => decode(encode(option)) === value) ?? -1;
    if (choice >= 0) choices[i] = choice;
  }
  return stateIndex(book, choices);
}

/**
 * @param {Book} book
 * @param {number} index
 */
function openedAt(book, index) {
  return Object.entries(book.openings ?? {}).find(([, place]) => place === index)?.[0] ?? "";
}

/**
 * @param {Book} book
 * @param {string} address
 * @param {number} index
 */
function readOpening(book, address, index) {
  const [name, value] = address.replace(/^#/, "").split("=").map(decode);
  const found = name === OPEN ? openingIndex(book, value ? value.split("\n") : []) : -1;
  return found < 0 ? index : found;
}

/**
 * encodeURIComponent refuses half of a surrogate pair, which a user's string may hold.
 *
 * @param {string} text
 */
function encode(text) {
  return encodeURIComponent(text.toWellFormed?.() ?? text.replace(/[\ud800-\udfff]/g, "\ufffd"));
}

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
