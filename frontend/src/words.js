// The sentences of the front end, in English or in the language that Python sends. Nothing else has any.

import { ENGLISH } from "./english.js";

/** @import { Told, Words } from "./types.d.ts" */

/** @type {Words} */
let table = ENGLISH;

/**
 * Takes the words from another table; what it lacks stays English.
 *
 * @param {Partial<Words> | null | undefined} words
 */
export function useWords(words) {
  table = { ...ENGLISH, ...words };
}

/**
 * Returns the sentence of this name with its fields filled in.
 *
 * @param {keyof Words} name
 * @param {Record<string, string | number>} [fields]
 */
export function sentence(name, fields = {}) {
  return tell(name, fields).text;
}

/**
 * Returns the same sentence, with what of it is code: what the table has between backticks, and what is code in a
 * field.
 *
 * @param {keyof Words} name
 * @param {Record<string, string | number | Told>} [fields]
 * @returns {Told}
 */
export function tell(name, fields = {}) {
  /** @type {Told[]} */
  const parts = [];
  table[name].split("`").forEach((quoted, i) => {
    for (const [whole, field] of quoted.matchAll(/\{(\w+)\}|[^{]+|\{/g)) {
      const filled = Object.hasOwn(fields, field) ? fields[field] : whole;
      const part = typeof filled === "object" ? filled : { text: String(filled), code: [] };
      parts.push(i % 2 ? asCode(part.text) : part);
    }
  });
  return together(parts);
}

/**
 * Returns a text all of which is code.
 *
 * @param {string} text
 * @returns {Told}
 */
export function asCode(text) {
  return { text, code: text ? [[0, text.length]] : [] };
}

/**
 * Joins texts; what touches is one piece of code.
 *
 * @param {Told[]} parts
 * @returns {Told}
 */
export function together(parts) {
  /** @type {Told} */
  const whole = { text: "", code: [] };
  for (const { text, code } of parts) {
    for (const [start, end] of code) {
      const [from, to] = [whole.text.length + start, whole.text.length + end];
      const last = whole.code.at(-1);
      if (last && last[1] === from) last[1] = to;
      else whole.code.push([from, to]);
    }
    whole.text += text;
  }
  return whole;
}
