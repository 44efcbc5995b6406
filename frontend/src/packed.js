// A book as it is sent: deflated JSON in which what its states repeat stands once, as gradviz/picture/packed.py writes
// it.

/** @import { Book } from "./types.d.ts" */

const LONG = ["svg", "narrow", "text"]; // parts of a state that are written as the places of their pieces

/**
 * @param {BufferSource} bytes
 * @returns {Promise<Book>}
 */
export async function unpackBook(bytes) {
  const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const { pieces, ...book } = await new Response(inflated).json();
  for (const state of book.states) {
    for (const part of LONG.filter((name) => name in state)) {
      state[part] = state[part].map((/** @type {number} */ place) => pieces[place]).join("");
    }
  }
  return book;
}
