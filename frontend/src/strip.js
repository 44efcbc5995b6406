// The strip under a picture: what its signs mean, or all that is known of a card. Never over the picture.

import { makeElement } from "./dom.js";
import { sentence } from "./words.js";

/** @import { Card } from "./types.d.ts" */

/**
 * Makes the strip. It tells of the card that the reader points at or goes to, else of the one that is selected, else
 * what the signs mean.
 *
 * @param {string} prefix
 */
export function makeStrip(prefix) {
  const facts = makeElement("div", { className: "gv-facts", id: `${prefix}-facts`, hidden: true });
  const left = { className: "gv-facts-more", ariaHidden: "true", hidden: true };
  const more = makeElement("span", left, sentence("more_facts")); // of what only is pointed at
  const legend = makeElement("p", { className: "gv-legend" });
  const box = makeElement("div", { className: "gv-strip" }, legend, facts, more);
  /** @type {Element | null} */
  let about = null; // the card that the reader points at
  /** @type {Card | null} */
  let pinned = null; // what is selected
  let timer = 0;
  let told = "";

  /** @param {Card | null} card */
  function write(card) {
    facts.hidden = !card;
    legend.classList.toggle("gv-hidden", Boolean(card)); // it keeps its room: nothing below moves
    facts.classList.toggle("gv-pinned", Boolean(card) && card === pinned);
    facts.replaceChildren(...(card ? tellFacts(card) : []));
    more.hidden = !card || card === pinned || facts.scrollHeight <= facts.clientHeight + 1;
  }
  /** @param {Card} card */
  function tellFacts(card) {
    const list = makeElement("dl");
    for (const [label, value] of card.facts ?? []) {
      list.append(makeElement("div", {}, makeElement("dt", {}, label), makeElement("dd", {}, String(value))));
    }
    const title = makeElement("p", { className: "gv-facts-title" }, card.key);
    const opens = card.opens ? sentence("opens", { name: card.opens }) : "";
    return [title, list, makeElement("p", { className: "gv-facts-opens", hidden: !opens }, opens)];
  }
  /** @param {Element | null} element the card that is told of, which only then is described by it */
  function describe(element) {
    about?.removeAttribute("aria-describedby");
    about = element;
    about?.setAttribute("aria-describedby", facts.id);
  }
  /**
   * @param {Element} element
   * @param {Card} card
   */
  function open(element, card) {
    clearTimeout(timer);
    describe(element);
    write(card);
  }
  function close() {
    clearTimeout(timer);
    describe(null);
    write(pinned);
  }
  const keep = () => clearTimeout(timer);
  /**
   * Tells of a card in `ms`, unless something else is asked for first.
   *
   * @param {number} ms
   * @param {Element} element
   * @param {Card} card
   */
  function openSoon(ms, element, card) {
    clearTimeout(timer);
    timer = setTimeout(() => open(element, card), ms);
  }
  function closeSoon() {
    clearTimeout(timer);
    timer = setTimeout(close, 120);
  }
  return {
    element: box,
    open, openSoon, close, closeSoon, keep,
    get about() { return about; },
    /** @param {Card | null} card that is selected */
    pin(card) {
      if (card === pinned) return;
      pinned = card;
      if (!about) write(pinned);
    },
    /**
     * Says what the signs of the picture mean.
     *
     * @param {[kind: string, words: string][]} signs
     * @param {string[]} notes
     */
    tell(signs, notes) {
      const text = JSON.stringify([signs, notes]);
      if (text === told) return;
      told = text;
      const words = signs.map(([kind, word]) => makeElement("span", { className: `gv-sign-${kind}` }, word));
      const hint = makeElement("span", { className: "gv-hint-card" }, sentence("click_a_card"));
      const below = notes.map((note) => makeElement("span", { className: "gv-note" }, note));
      legend.replaceChildren(...words, hint, ...below);
    },
  };
}
