// The widget's two sides: traits of the Python model, and the panel or book that is drawn from them.

/** Draws the newest traits once a frame, however many changes came. All state is in traits, so it can be called again. */
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
  let [mounted, book, frame] = [null, null, 0];

  function mount() {
    mounted?.destroy();
    book = model.get("book")?.states?.length && typeof mountBook === "function" ? model.get("book") : null;
    const host = book ? htmlNode("div") : el;
    if (book) el.replaceChildren(host);
    mounted = book ? mountBook(host, book, { onSelect, onState, start: model.get("step") }) : mountPanel(el, { onSelect });
  }
  function draw() {
    [frame, drawing] = [0, true]; // what Python says is not said back to it
    if (!mounted || (model.get("book")?.states?.length ? model.get("book") : null) !== book) mount();
    if (book) {
      if (mounted.index !== model.get("step")) mounted.go(model.get("step"));
    } else {
      mounted.setCode(model.get("code"));
      mounted.show(model.get("state"));
    }
    mounted.select(model.get("selected"));
    drawing = false;
  }
  function soon() {
    frame ||= requestAnimationFrame(draw);
  }
  const names = ["state", "code", "book", "selected", "step"].map((name) => `change:${name}`);
  for (const name of names) model.on(name, soon);
  draw();
  return () => {
    for (const name of names) model.off(name, soon);
    cancelAnimationFrame(frame);
    mounted?.destroy();
  };
}

export default { render: renderWidget };
