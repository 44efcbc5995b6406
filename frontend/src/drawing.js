// One drawn picture: its cards, its groups, where they stand, and which card lies in which direction.

import { boxAround, nearestCard, readingOrder, shapesOf } from "./geometry.js";
import { makeSvgElement } from "./dom.js";

/** @import { Box } from "./types.d.ts" */

const LOOK = ["font-size", "font-family", "font-weight", "fill"];

export class Drawing {
  /** @type {Map<string, SVGElement>} */
  cards = new Map(); // by id
  /** @type {SVGElement | null} */
  headline = null; // above the cards of an outline
  /** @type {SVGElement[]} */
  groups = []; // cards, arrows and boxes around cards
  /** The upper end of the picture in the numbers of its shapes. */
  top = 0;
  /** From the numbers of its shapes to those of the page. */
  shift = { x: 0, y: 0 };
  /** @type {Map<string, Box>} */
  #boxes = new Map();
  /** @type {string[]} */
  #order = [];

  /**
   * Takes a picture over: its elements stand in `page` afterwards.
   *
   * @param {SVGSVGElement | null} svg nothing is drawn where it is null
   */
  constructor(svg) {
    const [left, top, width, height] = (svg?.getAttribute("viewBox") ?? "0 0 1 1").split(" ").map(Number);
    this.page = makeSvgElement("g", { transform: `translate(${-left} ${-top})` });
    this.size = { width, height, natural: 1, smallestText: 10 };
    /** @type {Element} */
    this.graph = this.page;
    if (!svg) return;
    this.graph = svg.querySelector(".gv-graph") ?? this.page;
    const shift = /translate\((\S+)[ ,](\S+)\)/.exec(this.graph.getAttribute("transform") ?? "");
    this.shift = { x: (Number(shift?.[1]) || 0) - left, y: (Number(shift?.[2]) || 0) - top };
    this.top = -this.shift.y;
    this.size.natural = Number(svg.getAttribute("width")) / width;
    this.size.smallestText = smallestText(svg);
    this.page.append(...svg.childNodes);
    this.groups = [...this.graph.querySelectorAll(".gv-node, .gv-edge, .gv-cluster")].map(asSvg);
    for (const group of this.groups) {
      const isNode = group.classList.contains("gv-node");
      if (isNode) for (const line of group.querySelectorAll("text")) line.after(" "); // not one word with the next
      if (isNode && group.dataset.gv) this.cards.set(group.dataset.gv, group);
      else if (isNode) this.headline = group;
      else group.setAttribute("aria-hidden", "true"); // the alt text and the cards' labels say it in words
    }
  }

  /**
   * Returns the box around a card.
   *
   * @param {string} cardId
   */
  boxOf(cardId) {
    const known = this.#boxes.get(cardId);
    const card = this.cards.get(cardId);
    const box = known ?? (card && boxAround(shapesOf(card)));
    if (box) this.#boxes.set(cardId, box);
    return box ?? null;
  }

  /**
   * Returns where the picture begins, in the numbers of the page: the box around its headline, which is text and has to
   * be measured, else around its first card.
   *
   * @returns {Box | null}
   */
  firstBox() {
    const [cardId] = this.cards.keys();
    const box = this.headline?.isConnected ? boxOfText(this.headline) : this.boxOf(cardId ?? "");
    return box && { ...box, x: box.x + this.shift.x, y: box.y + this.shift.y };
  }

  /**
   * Returns all that stands on a card, line by line: what a screen reader says of it.
   *
   * @param {string} cardId
   * @param {[string, string][]} [spoken] What stands there in signs, each with its words.
   */
  textOf(cardId, spoken = []) {
    let said = "";
    let look = "";
    for (const line of this.cards.get(cardId)?.querySelectorAll("text") ?? []) {
      const before = look;
      look = LOOK.map((name) => line.getAttribute(name)).join();
      const pause = look === before ? " " : ", "; // what looks like the line before may go on with it
      said += (said && pause) + (line.textContent ?? "").trim();
    }
    for (const [signs, words] of spoken) said = said.replace(signs, () => words);
    return said;
  }

  /**
   * Returns the id of the card that a key leads to.
   *
   * @param {string} from
   * @param {string} key
   */
  neighbourOf(from, key) {
    for (const cardId of this.cards.keys()) this.boxOf(cardId);
    if (key === "ArrowUp" || key === "ArrowDown") {
      return nearestCard(this.#boxes, from, key === "ArrowUp" ? -1 : 1) ?? from;
    }
    if (!this.#order.length) this.#order = readingOrder(this.#boxes);
    const order = this.#order;
    if (key === "Home") return order[0];
    if (key === "End") return order[order.length - 1];
    const next = order.indexOf(from) + (key === "ArrowLeft" ? -1 : 1);
    return order[Math.max(0, Math.min(order.length - 1, next))];
  }
}

/** @param {Element} element */
function asSvg(element) {
  return /** @type {SVGElement} */ (element);
}

/**
 * @param {SVGElement} group
 * @returns {Box}
 */
function boxOfText(group) {
  const { x, y, width, height } = /** @type {SVGGraphicsElement} */ (group).getBBox();
  return { x, y, w: width, h: height };
}

/** @param {Element} svg */
function smallestText(svg) {
  const sizes = [...svg.querySelectorAll("text")].map((text) => parseFloat(text.getAttribute("font-size") ?? ""));
  const smallest = Math.min(...sizes.filter((size) => size > 0));
  return Number.isFinite(smallest) ? smallest : 10;
}

/**
 * Returns the card that something in a picture belongs to.
 *
 * @param {EventTarget | null} target
 * @returns {SVGElement | null}
 */
export function cardAround(target) {
  return target instanceof Element ? target.closest(".gv-node") : null;
}
