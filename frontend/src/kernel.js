// Whether what is shown belongs to what the controls show, and what became of the kernel: the NOTE in widget.py.

import { makePrefix } from "./dom.js";

/** @import { DrawnFor, Kernel, Model, NoticeKind } from "./types.d.ts" */

const PATIENCE = 300; // ms without a new state, after which the old one is said to be old
const ASKED_AGAIN = [1000, 2000, 4000, 8000, 15000]; // ms between questions to a kernel that does not answer
const DYING = ["restarting", "autorestarting", "dead", "terminating"];

/**
 * Watches the controls that the model's state was drawn for, and the kernel. `showNotice` is called with what to say,
 * or with null where all is well again.
 *
 * @param {Model} model
 * @param {(kind: NoticeKind | null) => void} showNotice
 */
export function watchKernel(model, showNotice) {
  const manager = model.widget_manager;
  const viewId = makePrefix(); // another view of the same model hears the same answers
  const controls = makeControls(model, { onChange: check, onClick: press });
  /** @type {Kernel | null} */
  let home = null; // the kernel of these widgets
  let isUnknown = false; // the widgets are unknown to it now
  let isEnded = false;
  let isClicked = false; // a click without an answer
  let isWaiting = false; // for a state that belongs to the controls
  let isSaid = false;
  let waitTimer = 0;
  const question = { asked: 0, answered: 0, tries: 0, timer: 0 };

  // ---- the kernel

  /** Returns the kernel of now, null where there is none, undefined where the front end does not tell. */
  function currentKernel() {
    return manager && "kernel" in manager ? manager.kernel : undefined;
  }
  /**
   * @param {unknown} _
   * @param {string} status
   */
  function follow(_, status) {
    if (DYING.includes(status)) lose();
  }
  function lose() {
    isUnknown = true;
    check();
  }
  function isGone() {
    if (isUnknown || controls.isAnyDead()) return true;
    const kernel = currentKernel();
    home ??= kernel ?? null;
    if (kernel === undefined) return false;
    return !kernel || kernel.isDisposed || kernel.id !== home?.id || DYING.includes(kernel.status);
  }
  /** @returns {NoticeKind} */
  function noticeKind() {
    if (isGone()) return "gone";
    const connection = currentKernel()?.connectionStatus ?? "connected";
    return connection === "connected" ? "waiting" : "unconnected";
  }

  // ---- waiting

  /** Looks again: a control, the state or the kernel may have changed. */
  function check() {
    if (isEnded) return;
    if (!isClicked && !controls.isAnyMoved()) return rest();
    if (isGone()) isSaid = true;
    if (isSaid) return showNotice(noticeKind());
    if (!isWaiting) waitTimer = setTimeout(loseLimit, PATIENCE);
    isWaiting = true;
  }
  /** Begins the limit anew where a state came, so a slider that is dragged does not wait; a change alone does not. */
  function restartLimit() {
    clearTimeout(waitTimer);
    isWaiting = false;
    check();
  }
  function loseLimit() {
    isSaid = true;
    ask();
    check();
  }
  function rest() {
    clearTimeout(waitTimer);
    clearTimeout(question.timer);
    if (isWaiting || isSaid) showNotice(null);
    isWaiting = isSaid = false;
    question.tries = 0;
  }

  // ---- questions

  /** Asks whether Python is there, and again while nothing comes of it. */
  function ask() {
    clearTimeout(question.timer);
    if (isEnded || isGone()) return check();
    const isLost = question.tries > 1 && question.answered === question.asked; // answered, and still no state
    question.asked += 1;
    if (!send(question.asked, isLost)) return lose(); // there is nobody to send it to
    const pause = ASKED_AGAIN[Math.min(question.tries, ASKED_AGAIN.length - 1)];
    question.tries += 1;
    question.timer = setTimeout(() => {
      if (isClicked || controls.isAnyMoved()) ask();
    }, pause);
  }
  /**
   * Sends a question; returns false where that fails.
   *
   * @param {number} number
   * @param {boolean} again whether Python is to send everything again; what is chosen here then holds
   */
  function send(number, again) {
    /** @param {{ content: { execution_state: string } }} message */
    function status({ content }) {
      if (content.execution_state !== "idle") return;
      // The kernel has done with the message; the answer would have come before.
      setTimeout(() => question.answered < number && lose(), PATIENCE);
    }
    try {
      model.send({ ask: [viewId, number], again, values: model.get("values") ?? {} }, { iopub: { status } });
      return true;
    } catch {
      return false;
    }
  }
  /** @param {{ answer?: [string, number], busy?: boolean } | undefined} content */
  function hear(content) {
    const [asker, number] = content?.answer ?? ["", 0];
    if (asker !== viewId) return;
    question.answered = Math.max(question.answered, number);
    if (!content?.busy && number === question.asked) isClicked = false; // it had come before the question
    check();
  }
  /** A click on a button that shows nothing of it, as Reset: whether it was heard, Python has to say. */
  function press() {
    isClicked = true;
    if (isGone()) return check();
    ask();
    check();
  }

  function meetControls() {
    controls.meet().then(restartLimit);
  }
  if (typeof manager?.get_model === "function") {
    home = currentKernel() ?? null;
    home?.statusChanged?.connect(follow);
    model.on("msg:custom", hear);
    model.on("change:drawn_for", meetControls);
    meetControls();
  }
  return {
    press,
    /** A new state was drawn. */
    stateCame() {
      if (isClicked) ask();
      restartLimit();
    },
    end() {
      isEnded = true;
      clearTimeout(waitTimer);
      clearTimeout(question.timer);
      home?.statusChanged?.disconnect(follow);
      model.off("msg:custom", hear);
      model.off("change:drawn_for", meetControls);
      controls.end();
    },
  };
}

/**
 * Knows the models of the controls that a state was drawn for.
 *
 * @param {Model} model
 * @param {{ onChange: () => void, onClick: () => void }} given
 */
function makeControls(model, { onChange, onClick }) {
  /** @type {Map<string, Model>} */
  const models = new Map(); // by id
  /** @type {Map<string, string>} */
  const traits = new Map(); // that are listened to, by id
  let isEnded = false;

  /** @returns {DrawnFor[]} */
  function drawnFor() {
    return model.get("drawn_for") ?? [];
  }
  /**
   * @param {string} id
   * @param {string} trait
   * @param {() => void} listener
   */
  async function listen(id, trait, listener) {
    traits.set(id, trait);
    const control = await model.widget_manager?.get_model(id).catch(() => null);
    if (!control || isEnded) return;
    models.set(id, control);
    control.on(`change:${trait}`, listener);
    control.on("comm_live_update", onChange);
  }
  return {
    /** Listens to the controls that are new. */
    async meet() {
      for (const [id, trait, ...value] of drawnFor()) {
        if (traits.get(id) !== trait) await listen(id, trait, value.length ? onChange : onClick);
      }
    },
    isAnyDead() {
      return [...models.values()].some((control) => control.comm_live === false);
    },
    /** Tells whether a control shows another value than the one that the state was drawn for. */
    isAnyMoved() {
      return drawnFor().some(([id, trait, ...value]) => {
        const control = models.get(id);
        return control && value.length > 0 && !isSameData(sentTrait(control, trait), value[0]);
      });
    },
    end() {
      isEnded = true;
      for (const [id, control] of models) {
        control.off(`change:${traits.get(id)}`, onChange);
        control.off(`change:${traits.get(id)}`, onClick);
        control.off("comm_live_update", onChange);
      }
    },
  };
}

/**
 * Returns a trait as it is sent to Python; an ipywidgets model may hold dates and the like.
 *
 * @param {Model} model
 * @param {string} trait
 */
function sentTrait(model, trait) {
  const { serializers } = /** @type {Exclude<Model["constructor"], Function>} */ (model.constructor);
  const codec = serializers?.[trait];
  const value = model.get(trait);
  return codec?.serialize ? codec.serialize(value, model) : value;
}

/**
 * Tells whether two values of JSON are the same; undefined is null.
 *
 * @param {any} one
 * @param {any} other
 * @returns {boolean}
 */
export function isSameData(one, other) {
  if (one === other || (one ?? null) === (other ?? null)) return true;
  if (typeof one !== "object" || typeof other !== "object" || !one || !other) return false;
  const names = Object.keys(one);
  if (names.length !== Object.keys(other).length) return false;
  return names.every((name) => Object.hasOwn(other, name) && isSameData(one[name], other[name]));
}
