// A book as it is sent: deflated JSON in which what its states repeat stands once, as gradviz/picture/packed.py writes
// it.

/** @import { Book } from "./types.d.ts" */

const PIECES = "$pieces"; // the key of a text that is written as the places of its pieces

/**
 * @param {BufferSource} bytes
 * @returns {Promise<Book>}
 */
export async function unpackBook(bytes) {
  const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const { pieces, book } = await new Response(inflated).json();
  return /** @type {Book} */ (restore(book, pieces));
}

/**
 * Returns a value with its texts whole again.
 *
 * @param {unknown} value
 * @param {string[]} pieces
 * @returns {unknown}
 */
function restore(value, pieces) {
  if (Array.isArray(value)) return value.map((part) => restore(part, pieces));
  if (typeof value !== "object" || value === null) return value;
  if (PIECES in value) return /** @type {number[]} */ (value[PIECES]).map((place) => pieces[place]).join("");
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, restore(part, pieces)]));
}
