// The bar above an outline: what is open, the way to what is red, and a search by name. It has a line for what it
// says, so that the picture below it stays where it is.

import { makeElement, writeText } from "./dom.js";
import { findNames } from "./opening.js";
import { sentence } from "./words.js";

/** @import { Outline } from "./types.d.ts" */

const LISTED = 1000; // names that the browser offers while something is typed

/**
 * @param {string} prefix
 * @param {{
 *   closeInside(name: string): void,
 *   openRed(): void,
 *   goToNextRed(): void,
 *   goToName(name: string): void,
 *   openMember(name: string): void,
 * }} actions
 */
export function makeOutlineBar(prefix, actions) {
  const crumbs = makeElement("nav", { className: "gv-crumbs", ariaLabel: sentence("crumbs") });
  const openRed = makeTool(sentence("open_red"), sentence("open_red_title"), actions.openRed);
  const nextRed = makeTool(sentence("next_red"), sentence("next_red_title"), actions.goToNextRed);
  const label = sentence("search");
  const listId = `${prefix}-names`;
  const search = makeElement("input", {
    type: "search", className: "gv-search", placeholder: label, "aria-label": label, spellcheck: false,
  });
  search.setAttribute("list", listId);
  const list = makeElement("datalist", { id: listId });
  const status = makeElement("p", { className: "gv-outline-said", role: "status" });
  const title = sentence("members_title");
  const offered = { className: "gv-tool gv-members", title, "aria-label": title, hidden: true };
  const members = makeElement("select", offered);
  members.addEventListener("keydown", (event) => event.stopPropagation());
  members.addEventListener("change", () => members.value && actions.openMember(members.value));
  const tools = makeElement("div", { className: "gv-outline-tools" }, openRed, nextRed, search, list, members);
  const bar = { className: "gv-outline-bar", role: "group", ariaLabel: sentence("outline_tools"), hidden: true };
  const element = makeElement("div", bar, crumbs, tools, status);

  /** @type {Outline | null} */
  let shown = null;
  let listed = ""; // the names in the list
  let asked = ""; // what was searched for last
  let place = 0; // and which of the names was gone to

  /** @param {string[]} names */
  function listNames(names) {
    const next = names.slice(0, LISTED).join(" ");
    if (next === listed) return;
    listed = next;
    list.replaceChildren(...names.slice(0, LISTED).map((value) => makeElement("option", { value })));
  }
  function find() {
    if (!shown) return;
    const text = search.value.trim();
    const names = findNames(shown, text);
    place = text === asked ? (place + 1) % Math.max(names.length, 1) : 0;
    asked = text;
    if (!text) return say("");
    const name = names[place];
    if (name === undefined) return say(sentence("not_found", { text }));
    const fields = { name, text, total: names.length };
    say(sentence(names.length > 1 ? "found_of" : "found", fields));
    actions.goToName(name);
  }
  search.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key !== "Enter") return;
    event.preventDefault();
    find();
  });
  /** @param {string} text */
  function say(text) {
    writeText(status, text);
  }

  return {
    element,
    say,
    get said() { return status.textContent ?? ""; },
    /**
     * Offers the modules of a card of several equal ones.
     *
     * @param {string[]} names
     */
    offer(names) {
      const offered = [...members.options].slice(1).map((option) => option.value);
      if (offered.join() === names.join()) return;
      members.hidden = !names.length;
      const first = makeElement("option", { value: "" }, sentence("members", { n: names.length }));
      members.replaceChildren(first, ...names.map((value) => makeElement("option", { value }, value)));
    },
    /** @param {Outline | null} outline null: there is nothing to open */
    show(outline) {
      shown = outline;
      element.hidden = !outline || !Object.keys(outline.names).length;
      if (!outline) return;
      const hadFocus = crumbs.contains(document.activeElement);
      crumbs.replaceChildren(...outline.crumbs.map((trail) => makeTrail(trail, actions.closeInside)));
      if (hadFocus) [...crumbs.querySelectorAll("button")].at(-1)?.focus();
      // their room stays, so that the picture below stays where it is
      for (const tool of [openRed, nextRed]) tool.style.visibility = outline.alarms.length ? "" : "hidden";
      openRed.disabled = !outline.red.length;
      listNames(Object.keys(outline.names));
    },
  };
}

/**
 * @param {[label: string, name: string][]} trail
 * @param {(name: string) => void} closeInside
 */
function makeTrail(trail, closeInside) {
  const steps = trail.map(([label, name], i) => {
    const title = sentence("crumb_title", { name });
    const button = makeElement("button", { type: "button", className: "gv-crumb", title }, label);
    if (i === trail.length - 1) button.setAttribute("aria-current", "true");
    button.addEventListener("click", () => closeInside(name));
    return makeElement("li", {}, button);
  });
  return makeElement("ol", {}, ...steps);
}

/**
 * @param {string} label
 * @param {string} title
 * @param {() => void} act
 */
function makeTool(label, title, act) {
  const properties = { type: "button", className: "gv-tool", title, "aria-label": `${label}: ${title}` };
  const button = makeElement("button", properties, label);
  button.addEventListener("click", act);
  return button;
}
