// SVG from an allow-list: what is not listed here, with a value of the listed form, is never made.

import { SVG_NAMESPACE, makeSvgElement } from "./dom.js";

const DEEPEST = 12; // elements in elements
const KEPT = 64; // pictures
const TAGS = new Set(["g", "path", "polygon", "polyline", "ellipse", "text", "tspan"]);
const CLASSES = new Set(["graph", "cluster", "node", "edge", "gradient", "zeros", "forward", "cut", "raise", "of"]);
const NUMBER = /^-?[\d.]+(e-?\d+)?(px|pt)?$/i;
const NUMBERS = /^[-\d.,e\s]*$/i;
const COLOUR = /^(#[\da-f]{3,8}|[a-z]+)$/i;
const PLAIN_WORDS = /^[\w ,.-]*$/;
const ATTRIBUTES = new Map([
  ["d", /^[-\d.,e\sMLHVCSQTAZ]*$/i],
  ["points", NUMBERS],
  ["stroke-dasharray", NUMBERS],
  ["fill", COLOUR],
  ["stroke", COLOUR],
  ["transform", /^((translate|scale|rotate)\([-\d.,e ]*\)\s*)*$/],
  ["font-family", PLAIN_WORDS],
  ["font-weight", PLAIN_WORDS],
  ["font-style", PLAIN_WORDS],
  ["text-anchor", PLAIN_WORDS],
  ["text-decoration", PLAIN_WORDS],
  ["baseline-shift", PLAIN_WORDS],
  ["x", NUMBER],
  ["y", NUMBER],
  ["cx", NUMBER],
  ["cy", NUMBER],
  ["rx", NUMBER],
  ["ry", NUMBER],
  ["font-size", NUMBER],
  ["stroke-width", NUMBER],
  ["opacity", NUMBER],
  ["fill-opacity", NUMBER],
  ["stroke-opacity", NUMBER],
]);

/**
 * Builds an <svg> element from `text`, with nothing in it that could run, load or link.
 *
 * @param {string} text
 * @param {string} prefix of its ids
 * @returns {SVGSVGElement | null} null where the text is no SVG
 */
export function cleanSvg(text, prefix) {
  if (/<!(DOCTYPE|ENTITY)/i.test(text)) return null; // the only way to entities that mean something else
  const root = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  if (root.namespaceURI !== SVG_NAMESPACE || root.localName !== "svg") return null;
  if (root.getElementsByTagNameNS("*", "parsererror").length) return null;
  const box = (root.getAttribute("viewBox") ?? "").trim().split(/[\s,]+/).map(Number);
  if (box.length !== 4 || !box.every(Number.isFinite) || !(box[2] > 0 && box[3] > 0)) return null;
  const width = parseFloat(root.getAttribute("width") ?? "") || box[2] * 4 / 3; // a point is 4/3 CSS pixels
  const svg = makeSvgElement("svg", { viewBox: box.join(" "), width, height: width * box[3] / box[2] });
  copyAllowed(root, svg, prefix, 0);
  return svg;
}

/**
 * Copies what is allowed of the children of one element into another.
 *
 * @param {Element} from
 * @param {SVGElement} to
 * @param {string} prefix
 * @param {number} depth
 */
function copyAllowed(from, to, prefix, depth) {
  const holdsText = to.localName === "text" || to.localName === "tspan";
  for (const child of from.childNodes) {
    if (child.nodeType === Node.TEXT_NODE && holdsText) to.append(/** @type {Text} */ (child).data);
    if (child.nodeType !== Node.ELEMENT_NODE) continue;
    const element = /** @type {Element} */ (child);
    if (element.namespaceURI !== SVG_NAMESPACE || !TAGS.has(element.localName)) continue;
    const copy = /** @type {SVGElement} */ (document.createElementNS(SVG_NAMESPACE, element.localName));
    copyAttributes(element, copy, prefix);
    if (depth < DEEPEST) copyAllowed(element, copy, prefix, depth + 1);
    to.append(copy);
  }
}

/**
 * Copies the allowed attributes. Ids get the prefix, and stand bare in `data-gv`; classes get "gv-".
 *
 * @param {Element} from
 * @param {SVGElement} to
 * @param {string} prefix
 */
function copyAttributes(from, to, prefix) {
  for (const { name, value } of from.attributes) {
    if (ATTRIBUTES.get(name)?.test(value)) to.setAttribute(name, value);
    else if (name === "class") copyClasses(value, to);
    else if (name === "id") copyId(value, to, prefix);
  }
}

/**
 * @param {string} value
 * @param {SVGElement} to
 */
function copyClasses(value, to) {
  const known = value.split(/\s+/).filter((name) => CLASSES.has(name));
  if (known.length) to.setAttribute("class", known.map((name) => `gv-${name}`).join(" "));
}

/**
 * @param {string} value
 * @param {SVGElement} to
 * @param {string} prefix
 */
function copyId(value, to, prefix) {
  const bare = /(?:^|-)((?:n|e|clust|graph)\d+f?)$/.exec(value)?.[1];
  if (!bare) return;
  to.dataset.gv = bare;
  to.id = `${prefix}-${bare}`;
}

/**
 * Returns a `cleanSvg` that keeps the pictures used last: to come back to one costs a copy, not a parse.
 *
 * @param {string} prefix
 */
export function makeCleaner(prefix) {
  /** @type {Map<string, SVGSVGElement | null>} */
  const kept = new Map(); // the last used one stands last

  /** @param {string} text */
  return function clean(text) {
    const svg = kept.get(text) ?? cleanSvg(text, prefix);
    kept.delete(text);
    kept.set(text, svg);
    const oldest = kept.keys().next().value;
    if (kept.size > KEPT && oldest !== undefined) kept.delete(oldest);
    return svg && /** @type {SVGSVGElement} */ (svg.cloneNode(true));
  };
}
