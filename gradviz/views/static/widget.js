// The widget's two sides: traits of the Python model, and the panel or book that is drawn from them.

/**
 * The controls of gv.explore are ipywidgets': this gives them what they lack for keyboards and screen readers.
 * Returns a function that ends it.
 */
function helpControls(el) {
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
    observer.observe(controls, { subtree: true, childList: true, attributeFilter: ["class"] });
    dress();
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
      if (model.get("state") !== written) state = JSON.parse(written = model.get("state"));
      mounted.show(state);
    }
    mounted.select(model.get("selected"));
    drawing = false;
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
  const unhelp = helpControls(el);
  return () => {
    unhelp();
    for (const name of names) model.off(name, soon);
    cancelAnimationFrame(frame);
    mounted?.destroy();
  };
}

export default { render: renderWidget };
