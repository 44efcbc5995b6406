// Elements, made and written. Text is always text: nothing here parses it.

/** @import { Told } from "./types.d.ts" */

export const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

/**
 * Makes an HTML element. What it has as a property is set as one, anything else as an attribute.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, unknown>} [properties]
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function makeElement(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) Reflect.set(element, name, value);
    else element.setAttribute(name, String(value));
  }
  element.append(...children);
  return element;
}

/**
 * Makes an SVG element.
 *
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, unknown>} [attributes]
 * @param {...(Node | string)} children
 * @returns {SVGElementTagNameMap[Tag]}
 */
export function makeSvgElement(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG_NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/**
 * Makes an icon of 16 × 16 from the data of one path.
 *
 * @param {string} path
 */
export function makeIcon(path) {
  return makeSvgElement("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, makeSvgElement("path", { d: path }));
}

/**
 * Writes text only where it is another: a live region speaks of every write.
 *
 * @param {Element} element
 * @param {string} text
 */
export function writeText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * Writes a text with its code in code font, only where it is another.
 *
 * @param {Element} element
 * @param {Told} told
 */
export function writeTold(element, told) {
  const pieces = tellPieces(told);
  const textOf = (/** @type {Node | string} */ piece) => (typeof piece === "string" ? piece : piece.textContent);
  const now = [...element.childNodes];
  const isPiece = (/** @type {ChildNode} */ node, /** @type {number} */ i) =>
    (node.nodeType === Node.TEXT_NODE) === (typeof pieces[i] === "string") && node.textContent === textOf(pieces[i]);
  const isSame = now.length === pieces.length && now.every(isPiece);
  if (!isSame) element.replaceChildren(...pieces);
}

const UNBROKEN = 12; // letters of code that are never divided between two lines

/**
 * Returns a text in pieces: what is code stands in elements of its own.
 *
 * @param {Told} told
 */
export function tellPieces({ text, code }) {
  let at = 0;
  const pieces = code.flatMap(([start, end]) => {
    const before = text.slice(at, start);
    at = end;
    const className = end - start <= UNBROKEN ? "gv-unbroken" : "";
    return [before, makeElement("code", { className }, text.slice(start, end))];
  });
  return [...pieces, text.slice(at)].filter((piece) => piece !== "");
}

/**
 * Sets or removes `aria-current`.
 *
 * @param {Element} element
 * @param {string} current "" for none
 */
export function markCurrent(element, current) {
  if (current) element.setAttribute("aria-current", current);
  else element.removeAttribute("aria-current");
}

/**
 * Tells whether a key that is pressed in a panel is one of the notebook's own commands.
 *
 * @param {KeyboardEvent} event
 */
export function isForNotebook(event) {
  return event.ctrlKey || event.metaKey || event.altKey || (event.shiftKey && event.key === "Enter");
}

/** Tells whether the reader asked her system for less motion. */
export function isCalm() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

/** Returns a prefix for ids that no other picture of the page has; every widget loads a copy of this module. */
export function makePrefix() {
  return `gv${Math.random().toString(36).slice(2, 9)}`;
}

/**
 * Returns the element that an event of the page happened at.
 *
 * @param {Event} event
 */
export function targetOf(event) {
  return /** @type {Element} */ (event.target);
}
