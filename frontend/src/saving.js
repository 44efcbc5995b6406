// Saves or copies the picture that is shown, as an SVG or a PNG.

import { makeElement, makeIcon, writeText } from "./dom.js";
import { sentence } from "./words.js";

const ICON = "M8 2v8M4.5 6.8 8 10.2l3.5-3.4M2.5 11v2.5h11V11";
const FINER = 2; // pixels of a PNG to one of the page, so that it stays sharp when it is enlarged
const LARGEST = 8192; // pixels of its longer side; browsers draw no canvas of any size
const PAPER = "#fff"; // a picture has no ground of its own, and would be unreadable on a dark one
const SAID = 4000; // ms that a message stands

/** @typedef {{ svg: string, name: string }} Saved the picture as it was drawn by Python, and what its file is called */

/**
 * Makes the button and its menu.
 *
 * @param {() => Saved} read
 */
export function makeSaveMenu(read) {
  const said = makeElement("span", { className: "gv-saved", role: "status" });
  const label = sentence("save");
  const menu = makeElement("div", { className: "gv-save-menu", role: "group", ariaLabel: label, hidden: true });
  const words = { title: label, ariaLabel: label, ariaExpanded: "false" };
  const properties = { type: "button", className: "gv-tool gv-tool-save", ...words };
  const opener = makeElement("button", properties, makeIcon(ICON));
  const element = makeElement("span", { className: "gv-save" }, opener, menu, said);
  let timer = 0;

  /** @param {boolean} isOpen */
  function turn(isOpen) {
    menu.hidden = !isOpen;
    opener.ariaExpanded = String(isOpen);
  }
  /** @param {string} text */
  function say(text) {
    clearTimeout(timer);
    writeText(said, text);
    timer = setTimeout(() => writeText(said, ""), SAID);
  }
  /**
   * @param {string} text
   * @param {(saved: Saved) => void | Promise<void>} act
   * @param {string} done
   * @param {string} failed
   */
  function add(text, act, done, failed) {
    const button = makeElement("button", { type: "button" }, text);
    button.addEventListener("click", async () => {
      turn(false);
      opener.focus({ preventScroll: true });
      say(""); // so that the same words, said again, are new
      try {
        await act(read());
        say(done);
      } catch {
        say(failed);
      }
    });
    menu.append(button);
  }
  const [saved, notSaved] = [sentence("saved"), sentence("not_saved")];
  const [copied, notCopied] = [sentence("copied"), sentence("not_copied")];
  add(sentence("save_svg"), ({ svg, name }) => download(svgBlob(svg), `${name}.svg`), saved, notSaved);
  add(sentence("save_png"), async ({ svg, name }) => download(await drawPng(svg), `${name}.png`), saved, notSaved);
  // The promise goes in as it is: Safari lets a page copy only at once.
  add(sentence("copy_png"), ({ svg }) => copy("image/png", drawPng(svg)), copied, notCopied);
  const asText = (/** @type {string} */ svg) => new Blob([svg], { type: "text/plain" });
  add(sentence("copy_svg"), ({ svg }) => copy("text/plain", asText(svg)), copied, notCopied);

  // Safari moves the focus away from a button that is clicked; the menu closes where it leaves.
  element.addEventListener("mousedown", (event) => event.preventDefault());
  opener.addEventListener("click", () => {
    turn(Boolean(menu.hidden));
    opener.focus({ preventScroll: true });
  });
  element.addEventListener("keydown", (event) => {
    if (menu.hidden || event.key !== "Escape") return;
    event.stopPropagation();
    turn(false);
    opener.focus();
  });
  element.addEventListener("focusout", ({ relatedTarget }) => {
    if (!(relatedTarget instanceof Node) || !element.contains(relatedTarget)) turn(false);
  });
  return element;
}

/**
 * Returns a file's name for the settings of controls: "copy=clone mode=no_grad" as "gradviz-copy-clone-mode-no_grad".
 *
 * @param {string} settings
 */
export function fileName(settings) {
  const words = settings.match(/[\p{Letter}\p{Number}_]+/gu) ?? [];
  return ["gradviz", ...words].join("-").slice(0, 80);
}

/** @param {string} svg */
function svgBlob(svg) {
  return new Blob([svg], { type: "image/svg+xml" });
}

/**
 * @param {Blob} blob
 * @param {string} name
 */
function download(blob, name) {
  const href = URL.createObjectURL(blob);
  const link = makeElement("a", { href, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(href), 60_000); // while it may still be asked where to put it
}

/**
 * @param {string} type
 * @param {Blob | Promise<Blob>} content
 */
async function copy(type, content) {
  await navigator.clipboard.write([new ClipboardItem({ [type]: content })]);
}

/**
 * Draws a picture as a PNG.
 *
 * @param {string} svg
 * @returns {Promise<Blob>}
 */
export async function drawPng(svg) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`; // a page's policy allows no blob
  await image.decode();
  const { width, height } = image;
  const scale = Math.min(FINER, LARGEST / Math.max(width, height));
  const canvas = makeElement("canvas", { width: Math.ceil(width * scale), height: Math.ceil(height * scale) });
  const context = canvas.getContext("2d");
  if (!context) throw new Error("canvas");
  context.fillStyle = PAPER;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("canvas"))), "image/png");
  });
}
