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
  const labels = inputs.map((input, i) => makeElement("label", {}, input, makeElement("span", {}, control.options[i])));
  const group = { className: "gv-buttons", role: "radiogroup", "aria-labelledby": `${id}-label` };
  return {
    element: makeElement("div", group, ...labels),
    set(choice) {
      inputs[choice].checked = true;
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
      range.setAttribute("aria-valuetext", control.options[choice]);
      output.value = control.options[choice];
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
  const element = makeElement("button", { type: "button", id, onclick: () => count < last && choose(count + 1) });
  return {
    element,
    set(choice) {
      count = choice;
      element.textContent = sentence("counter", { control: control.label, option: control.options[choice] });
      element.setAttribute("aria-disabled", String(choice === last)); // disabled would drop the focus
      element.title = choice === last ? sentence("counter_ends") : "";
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
 * Makes the row of a control, with its label.
 *
 * @param {Control} control
 * @param {string} id
 * @param {Choose} choose
 */
export function makeControlRow(control, id, choose) {
  const part = MAKERS[control.kind](control, id, choose);
  const row = makeElement("div", { className: `gv-control gv-control-${control.kind}` }, part.element);
  const caption = makeCaption(control, id);
  if (caption) row.prepend(caption);
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
