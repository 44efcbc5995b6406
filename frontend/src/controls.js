// The controls of a book: one row each, with its label.

import { makeElement } from "./dom.js";
import { makeTransport } from "./transport.js";
import { sentence } from "./words.js";

/** @import { Control } from "./types.d.ts" */

/**
 * `element` is what the reader uses; `set` shows an option that was chosen elsewhere. A player's control also takes the
 * page's keys and can be paused.
 *
 * @typedef {{
 *   element: HTMLElement,
 *   set(choice: number): void,
 *   press?(event: KeyboardEvent): void,
 *   pause?(): void,
 * }} ControlPart
 */

/**
 * Called when the reader chooses an option.
 *
 * @typedef {(choice: number) => void} Choose
 */

/**
 * @param {Control} control
 * @param {string} id
 * @param {Choose} choose
 * @returns {ControlPart}
 */
function makeButtons(control, id, choose) {
  const inputs = control.options.map((_, choice) =>
    makeElement("input", { type: "radio", name: id, onchange: () => choose(choice) }));
  const labels = inputs.map((input, i) => {
    const text = control.options[i];
    return makeElement("label", {}, input, makeElement("span", { "data-text": text }, text));
  });
  const group = { className: "gv-buttons", role: "radiogroup", ariaLabel: control.label };
  return {
    element: makeElement("div", group, ...labels),
    set(choice) {
      inputs.forEach((input, i) => { input.checked = i === choice; });
    },
  };
}

/**
 * @param {Control} control
 * @param {string} id
 * @param {Choose} choose
 * @returns {ControlPart}
 */
function makeDropdown(control, id, choose) {
  const options = control.options.map((text, choice) => makeElement("option", { value: choice }, text));
  const element = makeElement("select", { id, onchange: () => choose(element.selectedIndex) }, ...options);
  return {
    element,
    set(choice) {
      element.selectedIndex = choice;
    },
  };
}

/**
 * @param {Control} _
 * @param {string} id
 * @param {Choose} choose
 * @returns {ControlPart}
 */
function makeCheckbox(_, id, choose) {
  const element = makeElement("input", { type: "checkbox", id, onchange: () => choose(Number(element.checked)) });
  return {
    element,
    set(choice) {
      element.checked = choice === 1;
    },
  };
}

/**
 * @param {Control} control
 * @param {string} id
 * @param {Choose} choose
 * @returns {ControlPart}
 */
function makeSlider(control, id, choose) {
  const range = makeElement("input", { type: "range", id, min: 0, max: control.options.length - 1, step: 1 });
  const output = makeElement("output", { htmlFor: id });
  range.oninput = () => choose(range.valueAsNumber);
  return {
    element: makeElement("div", { className: "gv-slider" }, range, output),
    set(choice) {
      range.value = String(choice);
      range.setAttribute("aria-valuetext", control.options[choice] ?? "");
      output.value = control.options[choice] ?? "";
    },
  };
}

/**
 * @param {Control} control
 * @param {string} id
 * @param {Choose} choose
 * @returns {ControlPart}
 */
function makeCounter(control, id, choose) {
  const last = control.options.length - 1;
  let count = 0;
  const isLast = () => !control.endless && count >= last;
  const element = makeElement("button", { type: "button", id, onclick: () => isLast() || choose(count += 1) });
  return {
    element,
    set(choice) {
      count = Math.max(0, choice);
      const { label } = control;
      element.textContent = count ? sentence("counter", { control: label, option: String(count) }) : label;
      element.setAttribute("aria-disabled", String(isLast())); // disabled would drop the focus
      element.title = isLast() ? sentence("counter_ends") : "";
    },
  };
}

const MAKERS = {
  buttons: makeButtons,
  dropdown: makeDropdown,
  checkbox: makeCheckbox,
  slider: makeSlider,
  counter: makeCounter,
  steps: makeTransport,
};

/**
 * Makes the row of a control, with its label. Buttons and a list at a line of the code need none that is seen: the line
 * says what they are.
 *
 * @param {Control} control
 * @param {string} id
 * @param {Choose} choose
 * @param {boolean} [isAtLine]
 */
export function makeControlRow(control, id, choose, isAtLine = false) {
  const part = MAKERS[control.kind](control, id, choose);
  const row = makeElement("div", { className: `gv-control gv-control-${control.kind}` }, part.element);
  row.dataset.name = control.name;
  const caption = makeCaption(control, id);
  const isSaid = isAtLine && (control.kind === "buttons" || control.kind === "dropdown");
  if (isSaid) part.element.setAttribute("aria-label", control.label);
  else if (caption && control.kind === "checkbox") row.append(caption);
  else if (caption) row.prepend(caption);
  return { ...part, row };
}

/**
 * Returns a control's label, or null for a control that says its name itself.
 *
 * @param {Control} control
 * @param {string} id
 */
function makeCaption({ kind, label }, id) {
  if (kind === "counter" || kind === "steps") return null;
  if (kind === "buttons") return makeElement("span", { id: `${id}-label` }, label); // they have a label each
  return makeElement("label", { id: `${id}-label`, htmlFor: id }, label);
}
