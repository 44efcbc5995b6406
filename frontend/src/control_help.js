// What the controls of a live panel, which are ipywidgets', lack for keyboards and screen readers.

import { isForNotebook, targetOf } from "./dom.js";

/**
 * Helps the controls of the panel around `el`. `press()` is called when a button is clicked whose own look does not
 * tell of it. Returns a function that ends it.
 *
 * @param {HTMLElement} el
 * @param {() => void} press
 */
export function helpControls(el, press) {
  let frame = requestAnimationFrame(begin);
  /** @type {HTMLElement | null} */
  let controls = null;
  const observer = new MutationObserver(() => controls && labelControls(controls));

  /** Begins as soon as the widget stands in the page. */
  function begin() {
    frame = el.isConnected ? 0 : requestAnimationFrame(begin);
    /** @type {HTMLElement | null} */
    const panel = el.closest(".gradviz-panel");
    controls = panel?.querySelector(".gradviz-controls") ?? null;
    if (!panel || !controls) return;
    if (panel.classList.contains("gradviz-question")) panel.tabIndex = -1; // a click into it gives it the focus
    listenToKeys(panel, controls);
    controls.addEventListener("click", reportClick);
    observer.observe(controls, { subtree: true, childList: true, attributeFilter: ["class"] });
    labelControls(controls);
  }
  /** @param {Event} event */
  function reportClick(event) {
    const button = targetOf(event).closest(".jupyter-button");
    if (button && !button.closest(".widget-toggle-buttons, .widget-toggle-button")) press();
  }
  return () => {
    cancelAnimationFrame(frame);
    observer.disconnect();
    controls?.removeEventListener("click", reportClick);
  };
}

/**
 * @param {HTMLElement} panel
 * @param {HTMLElement} controls
 */
function listenToKeys(panel, controls) {
  panel.onkeydown = (event) => answer(event, panel, controls);
  controls.onkeydown = (event) => { // else an arrow key leaves the cell, and "d" pressed twice deletes it
    answer(event, panel, controls);
    if (!isForNotebook(event)) event.stopPropagation();
  };
}

/**
 * Answers a question before a class: A to D are its answers, R reveals.
 *
 * @param {KeyboardEvent} event
 * @param {HTMLElement} panel
 * @param {HTMLElement} controls
 */
function answer(event, panel, controls) {
  const isPresented = panel.classList.contains("gradviz-present");
  if (!isPresented || event.ctrlKey || event.metaKey || event.altKey) return;
  const key = event.key.toLowerCase();
  const answers = [...controls.querySelectorAll("button")];
  const reveal = answers.pop();
  const button = key === "r" ? reveal : answers[["a", "b", "c", "d"].indexOf(key)];
  if (!button) return;
  button.click();
  event.stopPropagation(); // to the notebook "b" is a new cell
}

/** @param {HTMLElement} controls */
function labelControls(controls) {
  for (const slider of controls.querySelectorAll(".widget-slider")) {
    const parts = slider.querySelectorAll("[role=slider], .widget-readout");
    for (const part of parts) part.setAttribute("aria-label", labelOf(slider));
  }
  for (const group of controls.querySelectorAll(".widget-toggle-buttons")) {
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", labelOf(group));
    for (const button of group.querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(button.classList.contains("mod-active")));
    }
  }
}

/** @param {Element} control */
function labelOf(control) {
  return control.querySelector(".widget-label")?.textContent ?? "";
}
