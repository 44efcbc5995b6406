// The sentences of the front end, in English or in the language that Python sends. Nothing else has any.

import { ENGLISH } from "./english.js";

/** @import { Words } from "./types.d.ts" */

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
  /** @type {(whole: string, field: string) => string} */
  const fill = (whole, field) => (Object.hasOwn(fields, field) ? String(fields[field]) : whole);
  return table[name].replace(/\{(\w+)\}/g, fill);
}
