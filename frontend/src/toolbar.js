// The buttons under a picture.

import { makeElement, makeIcon } from "./dom.js";
import { sentence } from "./words.js";

const ICONS = {
  in: "M3 8h10M8 3v10",
  out: "M3 8h10",
  fit: "M2 6V2h4M10 2h4v4M14 10v4h-4M6 14H2v-4",
  reset: "M3.5 8.5a4.5 4.5 0 1 0 1.6-3.9M4.6 1.6v3.3h3.3",
};

export const ZOOM_IN = 1.25;
export const ZOOM_OUT = 0.8;

/**
 * Makes the toolbar. The settings are the controls', when the picture was made; the hint shows where part of it is
 * hidden.
 *
 * @param {{ fit(): void, reset(): void, zoom(factor: number): void }} view
 * @param {HTMLElement} last what stands at their end
 */
export function makeToolbar(view, last) {
  const fit = makeTool("fit", sentence("fit"), sentence("fit_title"), sentence("fit_spoken"), () => view.fit());
  const [title, spoken] = [sentence("reset_view_title"), sentence("reset_view_spoken")];
  const reset = makeTool("reset", sentence("reset"), title, spoken, () => view.reset());
  const [zoomIn, zoomOut] = [sentence("zoom_in"), sentence("zoom_out")];
  const settings = makeElement("span", { className: "gv-settings" });
  const hint = makeElement("span", { className: "gv-hint" }, sentence("hint"));
  const element = makeElement(
    "div", { className: "gv-toolbar" }, settings, hint, fit, reset,
    makeTool("out", "", zoomOut, zoomOut, () => view.zoom(ZOOM_OUT)),
    makeTool("in", "", zoomIn, zoomIn, () => view.zoom(ZOOM_IN)),
    last,
  );
  return {
    element,
    /** @param {boolean} isShown */
    showHint(isShown) {
      hint.classList.toggle("gv-hidden", !isShown);
    },
    /** @param {string} text */
    showSettings(text) {
      settings.textContent = settings.title = text;
    },
  };
}

/**
 * @param {keyof typeof ICONS} name
 * @param {string} label
 * @param {string} title
 * @param {string} spoken
 * @param {() => void} act
 */
function makeTool(name, label, title, spoken, act) {
  const properties = { type: "button", className: `gv-tool gv-tool-${name}`, title, "aria-label": spoken };
  const button = makeElement("button", properties, makeIcon(ICONS[name]), label);
  button.addEventListener("click", act);
  return button;
}
