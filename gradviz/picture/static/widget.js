// The widget's two sides: traits of the Python model, and the panel or book that is drawn from them.

/**
 * The controls of gv.explore are ipywidgets': this gives them what they lack for keyboards and screen readers.
 * `press()` is called when a button is clicked whose own look does not tell of it. Returns a function that ends it.
 */
function helpControls(el, press) {
  let [frame, controls, panel] = [requestAnimationFrame(begin), null, null];
  const observer = new MutationObserver(dress);
  function begin() {
    frame = el.isConnected ? 0 : requestAnimationFrame(begin);
    panel = el.closest(".gradviz-panel");
    controls = panel?.querySelector(".gradviz-controls");
    if (!controls) return;
    if (panel.classList.contains("gradviz-question")) panel.tabIndex = -1; // a click into it gives it the focus
    panel.onkeydown = present;
    controls.onkeydown = (event) => { // else an arrow key leaves the cell, and "d" pressed twice deletes it
      const own = event.ctrlKey || event.metaKey || event.altKey || (event.shiftKey && event.key === "Enter");
      present(event);
      if (!own) event.stopPropagation();
    };
    controls.addEventListener("click", pressed);
    observer.observe(controls, { subtree: true, childList: true, attributeFilter: ["class"] });
    dress();
  }
  function pressed({ target }) {
    const button = target.closest(".jupyter-button");
    if (button && !button.closest(".widget-toggle-buttons, .widget-toggle-button")) press();
  }
  function dress() {
    const name = (whole, part) => part?.setAttribute("aria-label", whole.querySelector(".widget-label")?.textContent ?? "");
    for (const slider of controls.querySelectorAll(".widget-slider")) {
      name(slider, slider.querySelector("[role=slider]"));
      name(slider, slider.querySelector(".widget-readout"));
    }
    for (const group of controls.querySelectorAll(".widget-toggle-buttons")) {
      group.setAttribute("role", "group");
      name(group, group);
      for (const button of group.querySelectorAll("button")) {
        button.setAttribute("aria-pressed", String(button.classList.contains("mod-active")));
      }
    }
  }
  /** A question before a class: A to D are its answers, R reveals. */
  function present(event) {
    if (!panel.classList.contains("gradviz-present") || event.ctrlKey || event.metaKey || event.altKey) return;
    const [key, answers] = [event.key.toLowerCase(), [...controls.querySelectorAll("button")]];
    const reveal = answers.pop();
    const button = key === "r" ? reveal : answers[["a", "b", "c", "d"].indexOf(key)];
    if (!button) return;
    button.click();
    event.stopPropagation(); // to the notebook "b" is a new cell
  }
  return () => {
    cancelAnimationFrame(frame);
    observer.disconnect();
    controls?.removeEventListener("click", pressed);
  };
}

const PATIENCE = 300; // ms without a new state, after which the old one is said to be old
const ASKED_AGAIN = [1000, 2000, 4000, 8000, 15000]; // ms between questions to a kernel that does not answer

/** As it is sent to Python; an ipywidgets model may hold dates and the like. */
function traitSent(model, name) {
  const codec = model.constructor.serializers?.[name];
  return codec?.serialize ? codec.serialize(model.get(name), model) : model.get(name);
}

function sameData(a, b) {
  if (a === b || (a ?? null) === (b ?? null)) return true;
  if (typeof a !== "object" || typeof b !== "object" || !a || !b) return false;
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => Object.hasOwn(b, name) && sameData(a[name], b[name]));
}

/**
 * Watches whether the state that is shown belongs to what the controls show, and what became of the kernel: the NOTE in
 * widget.py. `tell(words)` is called with what to say of it, "" where all is well.
 *
 * Returns {check(): a new state may have come, end()}.
 */
function watchKernel(model, tell) {
  const [manager, me] = [model.widget_manager, freeId()];
  const controls = new Map(); // id -> model
  let [home, lost, ended] = [null, false, false]; // the kernel of these widgets; whether they are unknown to it now
  let [clicked, waits, loud, timer] = [false, false, false, 0]; // a click without an answer; since when, and is it said
  let [serial, answered, tries, asking] = [0, 0, 0, 0];

  const kernel = () => (manager && "kernel" in manager ? manager.kernel : undefined); // JupyterLab and Notebook 7 tell
  const DYING = ["restarting", "autorestarting", "dead", "terminating"];
  const follow = (_, status) => {
    if (DYING.includes(status)) lose();
  };
  function lose() {
    lost = true;
    check();
  }
  function isGone() {
    if (lost || [...controls.values()].some((control) => control.comm_live === false)) return true;
    const now = kernel();
    home ??= now;
    return now !== undefined && (!now || now.isDisposed || now.id !== home.id || DYING.includes(now.status));
  }
  const isOld = () => (model.get("drawn_for") ?? []).some(([id, name, ...value]) => {
    const control = controls.get(id);
    return control && value.length > 0 && !sameData(traitSent(control, name), value[0]);
  });

  function words() {
    if (isGone()) return "The kernel is gone: run this cell again.\nUntil then the controls do nothing.";
    const away = kernel()?.connectionStatus ?? "connected";
    return `Waiting for the kernel${away === "connected" ? "" : ": this page has lost its connection to it"}.`;
  }
  /** Anything may have changed: a control, the state, the kernel. */
  function check() {
    if (ended) return;
    if (!clicked && !isOld()) return rest();
    if (isGone()) loud = true;
    if (loud) return tell(words());
    if (!waits) timer = setTimeout(speak, PATIENCE);
    waits = true;
  }
  /** A state came: the limit begins anew, so a slider that is dragged does not wait. A change alone begins nothing anew. */
  function came() {
    clearTimeout(timer);
    waits = false;
    check();
  }
  function speak() {
    loud = true;
    ask();
    check();
  }
  function rest() {
    clearTimeout(timer);
    clearTimeout(asking);
    if (waits || loud) tell("");
    [waits, loud, tries] = [false, false, 0];
  }
  /** Asks whether Python is there, and again while nothing comes of it. */
  function ask() {
    clearTimeout(asking);
    if (ended || isGone()) return check();
    const [number, again] = [serial + 1, tries > 1 && answered === serial];
    serial = number;
    const done = ({ content }) => { // the kernel has done with the message; the answer would have come before
      if (content.execution_state === "idle") setTimeout(() => answered < number && lose(), PATIENCE);
    };
    try {
      model.send({ ask: [me, number], again }, { iopub: { status: done } });
    } catch {
      return lose(); // there is nobody to send it to
    }
    asking = setTimeout(() => {
      if (clicked || isOld()) ask();
    }, ASKED_AGAIN[Math.min(tries++, ASKED_AGAIN.length - 1)]);
  }
  function hear(content) {
    const [who, number] = content?.answer ?? [];
    if (who !== me) return; // another view of the same model
    answered = Math.max(answered, number);
    if (!content.busy && number === serial) clicked = false; // it had come before the question
    check();
  }
  /** A click on a button that shows nothing of it, as Reset: whether it was heard, Python has to say. */
  function press() {
    clicked = true;
    if (isGone()) return check();
    ask();
    check();
  }

  const names = new Map(); // id -> trait that is listened to
  async function meet() {
    for (const [id, name, ...value] of model.get("drawn_for") ?? []) {
      if (names.get(id) === name) continue;
      names.set(id, name);
      const control = await manager.get_model(id).catch(() => null);
      if (!control || ended) continue;
      controls.set(id, control);
      control.on(`change:${name}`, value.length ? check : press);
      control.on("comm_live_update", check);
    }
    came();
  }
  function begin() {
    home = kernel() ?? null;
    home?.statusChanged?.connect(follow);
    model.on("msg:custom", hear);
    model.on("change:drawn_for", meet);
    meet();
  }
  if (typeof manager?.get_model === "function") begin();
  return {
    press,
    /** A new state was drawn. */
    check() {
      if (clicked) ask();
      came();
    },
    end() {
      ended = true;
      clearTimeout(timer);
      clearTimeout(asking);
      home?.statusChanged?.disconnect(follow);
      model.off("msg:custom", hear);
      model.off("change:drawn_for", meet);
      for (const [id, control] of controls) {
        control.off(`change:${names.get(id)}`, check);
        control.off(`change:${names.get(id)}`, press);
        control.off("comm_live_update", check);
      }
    },
  };
}

/**
 * Draws the newest traits at once, and then at most once a frame, however many changes came. All state is in traits, so
 * it can be called again.
 */
function renderWidget({ model, el }) {
  let [telling, drawing] = [false, false];
  /** What one event changes goes to Python in one message: a selection is only valid in its own step. */
  function tell(name, value) {
    if (drawing || value === model.get(name)) return;
    model.set(name, value);
    if (!telling) queueMicrotask(() => {
      telling = false;
      model.save_changes();
    });
    telling = true;
  }
  const onSelect = (card) => tell("selected", card);
  const onState = (step) => tell("step", step);
  let [mounted, book, frame, waiting] = [null, null, 0, false];
  let [packed, unpacked] = [null, null]; // a book as it came, and as it is once that is done
  let [written, state] = ["", null]; // a state as it came, and read
  let kernel = null; // what watches it

  function currentBook() {
    const given = model.get("book");
    if (!given?.packed) return given?.states?.length ? given : null;
    if (given !== packed) {
      [packed, unpacked] = [given, null];
      unpackBook(given.packed).then((ready) => {
        if (packed !== given) return;
        unpacked = ready;
        soon();
      });
    }
    return unpacked;
  }
  function mount() {
    mounted?.destroy();
    book = currentBook();
    const host = book ? htmlNode("div") : el;
    if (book) el.replaceChildren(host);
    mounted = book ? mountBook(host, book, { onSelect, onState, start: model.get("step") }) : mountPanel(el, { onSelect });
  }
  function draw() {
    [waiting, drawing] = [false, true]; // what Python says is not said back to it
    if (!mounted || currentBook() !== book) mount();
    if (book) {
      if (mounted.index !== model.get("step")) mounted.go(model.get("step"));
    } else {
      mounted.setCode(model.get("code"));
      const fresh = model.get("state") !== written;
      if (fresh) state = JSON.parse(written = model.get("state"));
      mounted.show(state);
      if (fresh) kernel?.check();
    }
    mounted.select(model.get("selected"));
    drawing = false;
  }
  /** A book has all its states here, and waits for nobody. */
  function say(words) {
    const more = words && !words.includes("\n") && mounted.hasPicture ? "\nThe picture is still the one from before." : "";
    mounted.say(words + more);
    el.closest(".gradviz-panel")?.classList.toggle("gradviz-old", Boolean(words));
  }
  function soon() {
    if (waiting) return;
    waiting = true;
    if (frame) return; // one was drawn in this frame already
    queueMicrotask(draw); // by then all traits of the message are set
    frame = requestAnimationFrame(() => {
      frame = 0;
      if (waiting) draw();
    });
  }
  const names = ["state", "code", "book", "selected", "step"].map((name) => `change:${name}`);
  for (const name of names) model.on(name, soon);
  draw();
  kernel = watchKernel(model, say);
  const unhelp = helpControls(el, kernel.press);
  return () => {
    unhelp();
    kernel.end();
    for (const name of names) model.off(name, soon);
    cancelAnimationFrame(frame);
    mounted?.destroy();
  };
}

export default { render: renderWidget };
