// The control of a player: first, back, play, next, last, and a slider over all steps.

import { isCalm, makeElement, makeIcon, targetOf } from "./dom.js";
import { sentence } from "./words.js";

/** @import { Control } from "./types.d.ts" */
/** @import { Choose, ControlPart } from "./controls.js" */

const PACE = 900; // ms a step while playing
const ICONS = {
  first: "M3 2h2v12H3zM13 2v12L6 8z",
  back: "M10 2 4 8l6 6 1.6-1.6L7.2 8l4.4-4.4z",
  play: "M4 2v12l9-6z",
  pause: "M3 2h4v12H3zM9 2h4v12H9z",
  next: "M6 2l6 6-6 6-1.6-1.6L8.8 8 4.4 3.6z",
  last: "M11 2h2v12h-2zM3 2v12l7-6z",
};

/**
 * @param {Control} control
 * @param {string} id
 * @param {Choose} choose
 * @returns {ControlPart}
 */
export function makeTransport(control, id, choose) {
  const last = control.options.length - 1;
  let now = 0;
  let timer = 0; // 0 while it does not play

  /** @param {number} choice */
  function goTo(choice) {
    pause();
    choose(Math.max(0, Math.min(last, choice)));
  }
  function pause() {
    clearTimeout(timer);
    timer = 0;
    showPlaying();
  }
  function play() {
    if (now === last) choose(0);
    timer = setTimeout(playStep, PACE / 2);
    showPlaying();
  }
  function playStep() {
    choose(now + 1);
    if (now === last) return pause();
    timer = setTimeout(playStep, isCalm() ? 2 * PACE : PACE);
  }
  function toggle() {
    if (timer) pause();
    else play();
  }
  function showPlaying() {
    playButton.title = playButton.ariaLabel = sentence(timer ? "pause" : "play");
    playButton.replaceChildren(makeIcon(timer ? ICONS.pause : ICONS.play));
  }

  /** @type {Record<string, () => void>} */
  const moves = {
    ArrowLeft: () => goTo(now - 1),
    ArrowRight: () => goTo(now + 1),
    Home: () => goTo(0),
    End: () => goTo(last),
    " ": toggle,
  };
  /** @param {KeyboardEvent} event */
  function press(event) {
    if (event.key === " " && targetOf(event).closest("button")) return; // it presses the button
    if (event.altKey || event.ctrlKey || event.metaKey || !moves[event.key]) return;
    event.preventDefault();
    moves[event.key]();
  }

  const playButton = makeIconButton(ICONS.play, sentence("play"), toggle);
  const buttons = makeElement(
    "div", { className: "gv-transport", role: "group", ariaLabel: control.label },
    makeIconButton(ICONS.first, sentence("first_step"), moves.Home),
    makeIconButton(ICONS.back, sentence("step_back"), moves.ArrowLeft),
    playButton,
    makeIconButton(ICONS.next, sentence("next_step"), moves.ArrowRight),
    makeIconButton(ICONS.last, sentence("last_step"), moves.End),
  );
  const limits = { min: 0, max: last, step: 1 };
  const range = makeElement("input", { type: "range", id, className: "gv-range", ariaLabel: control.label, ...limits });
  range.oninput = () => goTo(range.valueAsNumber);
  const output = makeElement("output", { htmlFor: id });
  return {
    element: makeElement("div", { className: "gv-steps", onkeydown: press }, buttons, range, output),
    press,
    pause,
    set(choice) {
      now = choice;
      range.value = String(choice);
      output.value = sentence("step_of", { step: control.options[choice], last: control.options[last] });
      range.setAttribute("aria-valuetext", output.value);
    },
  };
}

/**
 * @param {string} path
 * @param {string} label
 * @param {() => void} act
 */
function makeIconButton(path, label, act) {
  const properties = { type: "button", className: "gv-icon", title: label, ariaLabel: label, onclick: act };
  return makeElement("button", properties, makeIcon(path));
}
