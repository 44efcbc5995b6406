// A book as it is sent: deflated JSON. Its states repeat each other, so it is a tenth of their size.

/** @import { Book } from "./types.d.ts" */

/**
 * @param {BufferSource} bytes
 * @returns {Promise<Book>}
 */
export async function unpackBook(bytes) {
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
}
