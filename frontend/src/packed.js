// A book as it is sent: deflated JSON in which what its states repeat stands once, as gradviz/picture/packed.py writes
// it.

/** @import { Book } from "./types.d.ts" */

const DRAWN = ["svg", "narrow"]; // parts of a state that are written as the places of their pieces: pictures
const LONG = ["text"]; // and others
const ID = '<g id="';

/**
 * @param {BufferSource} bytes
 * @returns {Promise<Book>}
 */
export async function unpackBook(bytes) {
  const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const { pieces, ...book } = await new Response(inflated).json();
  const lines = pieces.map(withPoints);
  for (const state of book.states) {
    for (const part of DRAWN.filter((name) => name in state)) state[part] = drawn(state[part], lines);
    for (const part of LONG.filter((name) => name in state)) state[part] = at(state[part], pieces).join("");
  }
  return book;
}

/**
 * @param {number[]} places
 * @param {string[]} pieces
 */
function at(places, pieces) {
  return places.map((place) => pieces[place]);
}

/**
 * Returns a picture, which is written as what its ids begin with, and its lines.
 *
 * @param {number[]} places
 * @param {string[]} pieces
 */
function drawn(places, pieces) {
  const [prefix, ...lines] = at(places, pieces);
  if (!prefix) return lines.join("");
  return lines.map((line) => (line.startsWith(`${ID}~`) ? ID + prefix + line.slice(ID.length + 1) : line)).join("");
}

/**
 * Returns a line of a picture with the points of its path, which was written as steps in hundredths.
 *
 * @param {string} line
 */
function withPoints(line) {
  return line.startsWith("<path ") ? line.replace(/ d="~([-\d ]+)"/, (_, steps) => ` d="${pathOf(steps)}"`) : line;
}

/** @param {string} steps */
function pathOf(steps) {
  const numbers = steps.split(" ").map(Number);
  for (let i = 2; i < numbers.length; i += 1) numbers[i] += numbers[i - 2];
  const points = [];
  for (let i = 0; i < numbers.length; i += 2) points.push(`${numbers[i] / 100},${numbers[i + 1] / 100}`);
  return `M${points[0]}C${points.slice(1).join(" ")}`;
}
