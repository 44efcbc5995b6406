// The live widget: traits of the Python model, and the panel or book that is drawn from them.

import { mountBook } from "./book.js";
import { helpControls } from "./control_help.js";
import { makeElement } from "./dom.js";
import { watchKernel } from "./kernel.js";
import { unpackBook } from "./packed.js";
import { mountPanel } from "./panel.js";
import { cleanSvg } from "./safe_svg.js";
import { bringIntoSight } from "./sight.js";
import { sentence, useWords } from "./words.js";

/** @import { Book, BookTrait, Model, Notice, NoticeKind, State } from "./types.d.ts" */

const TRAITS = ["state", "code", "controls", "values", "book", "selected", "step"]; // `opened` comes with a state
// CSS pixels for a picture, by the views of this widget: each widget loads its own copy of this module.
/** @type {Map<HTMLElement, number>} */
const rooms = new Map();
const STEP = 20; // CSS pixels; Python is not told of each one while a window is made smaller

/**
 * Draws the newest traits at once, and then at most once a frame, however many changes came. All state is in traits, so
 * it can be called again.
 *
 * @param {{ model: Model, el: HTMLElement }} given
 */
function render({ model, el }) {
  useWords(model.get("words"));
  const readBook = makeBookReader(model, drawSoon);
  const tell = makeTeller(model);
  const onSelect = (/** @type {string} */ cardId) => isDrawing || tell("selected", cardId);
  const onState = (/** @type {number} */ step) => isDrawing || tell("step", step);
  const onRoom = (/** @type {number} */ width) => tellRooms(Math.floor(width / STEP) * STEP);
  const opener = {
    /** @param {string[]} opened */
    open(opened) {
      if (tell("opened", opened)) queueMicrotask(() => kernel?.press()); // behind what was told
    },
    has: () => true,
  };
  const chooser = {
    /**
     * @param {string} name
     * @param {number} choice
     */
    choose(name, choice) {
      tell("values", { ...model.get("values"), [name]: choice });
    },
    reset() {
      try {
        model.send({ reset: true });
      } catch {
        // there is nobody to send it to: press() finds that out, and says so
      }
      kernel?.press(); // behind what was sent
    },
  };
  let isDrawing = false; // what Python says is not said back to it
  let isWaiting = false; // to be drawn
  let frame = 0;
  let stateText = ""; // the state as it came
  /** @type {Partial<State>} */
  let state = {};
  /** @type {ReturnType<typeof watchKernel> | null} */
  let kernel = null;
  let shown = mount(readBook());

  /** @param {Book | null} book */
  function mount(book) {
    if (!book) return { book, panel: mountPanel(el, { onSelect, onRoom, chooser, opener }), mountedBook: null };
    const host = makeElement("div");
    el.replaceChildren(host);
    const given = { onSelect, onState, onRoom, start: model.get("step") };
    return { book, panel: null, mountedBook: mountBook(host, book, given) };
  }
  /**
   * Tells Python how much room there is for a picture, here and in other views.
   *
   * @param {number} width 0 where this view is gone
   */
  function tellRooms(width) {
    if (width) rooms.set(el, width);
    else rooms.delete(el);
    if (rooms.size) tell("rooms", [...rooms.values()]);
  }
  function unmount() {
    (shown.panel ?? shown.mountedBook)?.destroy();
  }
  function draw() {
    isWaiting = false;
    isDrawing = true;
    const book = readBook();
    if (book !== shown.book) {
      unmount();
      shown = mount(book);
    }
    if (shown.panel) drawPanel(shown.panel);
    else if (shown.mountedBook.index !== model.get("step")) shown.mountedBook.go(model.get("step"));
    (shown.panel ?? shown.mountedBook).select(model.get("selected"));
    isDrawing = false;
  }
  /** @param {import("./panel.js").Panel} panel */
  function drawPanel(panel) {
    const isFresh = model.get("state") !== stateText;
    if (isFresh) {
      stateText = model.get("state");
      state = JSON.parse(stateText);
    }
    panel.setCode(model.get("code"), model.get("controls") ?? []);
    panel.show(state);
    panel.setChoices(model.get("values") ?? {});
    if (isFresh) kernel?.stateCame();
  }
  function drawSoon() {
    if (isWaiting) return;
    isWaiting = true;
    if (frame) return; // one was drawn in this frame already
    queueMicrotask(draw); // by then all traits of the message are set
    frame = requestAnimationFrame(() => {
      frame = 0;
      if (isWaiting) draw();
    });
  }
  /**
   * A book has all its states here, and waits for nobody.
   *
   * @param {NoticeKind | null} kind
   */
  function showNotice(kind) {
    shown.panel?.setNotice(kind && writeNotice(kind, shown.panel.hasPicture));
    el.closest(".gradviz-panel")?.classList.toggle("gradviz-old", kind !== null);
  }

  for (const trait of TRAITS) model.on(`change:${trait}`, drawSoon);
  draw();
  kernel = watchKernel(model, showNotice);
  const endHelp = helpControls(el, kernel.press);
  const endScrolling = bringIntoSight(el);
  return () => {
    endScrolling();
    endHelp();
    kernel.end();
    for (const trait of TRAITS) model.off(`change:${trait}`, drawSoon);
    cancelAnimationFrame(frame);
    unmount();
    tellRooms(0);
  };
}

/**
 * Returns a function that tells Python the value of a trait. What one event changes goes in one message: a selection is
 * only valid in its own step.
 *
 * @param {Model} model
 */
function makeTeller(model) {
  let isTelling = false;

  /**
   * @param {string} trait
   * @param {unknown} value
   * @returns {boolean} whether it was another one
   */
  return function tell(trait, value) {
    if (JSON.stringify(value) === JSON.stringify(model.get(trait))) return false;
    if (!isTelling) {
      isTelling = true;
      queueMicrotask(() => { // in front of what `set` makes this view draw: Python works meanwhile
        isTelling = false;
        model.save_changes();
      });
    }
    model.set(trait, value);
    return true;
  };
}

/**
 * Returns a function that reads the model's book: null where it has none, or while it is unpacked. `onReady` is called
 * when that is done.
 *
 * @param {Model} model
 * @param {() => void} onReady
 */
function makeBookReader(model, onReady) {
  /** @type {BookTrait | null} */
  let packed = null; // as it came
  /** @type {Book | null} */
  let unpacked = null;

  return function readBook() {
    /** @type {BookTrait | null} */
    const given = model.get("book");
    if (!given?.packed) return given?.states?.length ? /** @type {Book} */ (given) : null;
    if (given !== packed) {
      [packed, unpacked] = [given, null];
      unpackBook(given.packed).then((book) => {
        if (packed !== given) return;
        unpacked = book;
        onReady();
      });
    }
    return unpacked;
  };
}

/**
 * @param {NoticeKind} kind
 * @param {boolean} hasPicture
 * @returns {Notice}
 */
function writeNotice(kind, hasPicture) {
  if (kind === "gone") return { title: sentence("gone"), detail: sentence("gone_detail") };
  return { title: sentence(kind), detail: hasPicture ? sentence("old_picture") : "" };
}

export { cleanSvg, mountPanel }; // for the tests, which take it apart
export default { render };
