// A book: precomputed states and the controls that choose among them. The player in a notebook and the exported page.

const BOOK_PACE = 900; // ms a step while playing
const BOOK_ICONS = {
  first: "M3 2h2v12H3zM13 2v12L6 8z", last: "M11 2h2v12h-2zM3 2v12l7-6z",
  back: "M10 2 4 8l6 6 1.6-1.6L7.2 8l4.4-4.4z",
  play: "M4 2v12l9-6z", pause: "M3 2h4v12H3zM9 2h4v12H9z",
  next: "M6 2l6 6-6 6-1.6-1.6L8.8 8 4.4 3.6z",
};

function bookNode(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in node) node[name] = value;
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

// States stand in mixed-radix order: the last control varies fastest.
function bookIndex(book, places) {
  return book.controls.reduce((index, control, i) => index * control.options.length + places[i], 0);
}

function bookPlaces(book, index) {
  const places = [];
  for (const control of [...book.controls].reverse()) {
    places.unshift(index % control.options.length);
    index = Math.floor(index / control.options.length);
  }
  return places;
}

// encodeURIComponent refuses half of a surrogate pair, which a user's string may hold.
const bookWord = (text) => encodeURIComponent(text.toWellFormed?.() ?? text.replace(/[\ud800-\udfff]/g, "\ufffd"));

function bookRead(word) {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}

function bookAddress(book, index) {
  const places = bookPlaces(book, index);
  return "#" + book.controls.map((c, i) => `${bookWord(c.name)}=${bookWord(c.options[places[i]])}`).join("&");
}

// What the address does not name, or names wrongly, stays as it is.
function bookVisit(book, hash, index) {
  const places = bookPlaces(book, index);
  for (const part of hash.replace(/^#/, "").split("&")) {
    const [name, value] = part.split("=").map(bookRead);
    const i = book.controls.findIndex((c) => bookRead(bookWord(c.name)) === name);
    const place = book.controls[i]?.options.findIndex((o) => bookRead(bookWord(o)) === value) ?? -1;
    if (place >= 0) places[i] = place;
  }
  return bookIndex(book, places);
}

// ---- controls: each is {element, set(place)} and calls choose(place) when the reader changes it

function bookButtons(control, id, choose) {
  const inputs = control.options.map((_, place) =>
    bookNode("input", { type: "radio", name: id, onchange: () => choose(place) }));
  const labels = inputs.map((input, i) => bookNode("label", {}, input, bookNode("span", {}, control.options[i])));
  const element = bookNode("div", { className: "gv-buttons", role: "radiogroup", "aria-labelledby": `${id}-label` }, ...labels);
  return { element, set: (place) => { inputs[place].checked = true; } };
}

function bookDropdown(control, id, choose) {
  const options = control.options.map((text, place) => bookNode("option", { value: place }, text));
  const element = bookNode("select", { id, onchange: () => choose(element.selectedIndex) }, ...options);
  return { element, set: (place) => { element.selectedIndex = place; } };
}

function bookCheckbox(control, id, choose) {
  const element = bookNode("input", { type: "checkbox", id, onchange: () => choose(Number(element.checked)) });
  return { element, set: (place) => { element.checked = place === 1; } };
}

function bookSlider(control, id, choose) {
  const range = bookNode("input", { type: "range", id, min: 0, max: control.options.length - 1, step: 1 });
  const output = bookNode("output", { htmlFor: id });
  range.oninput = () => choose(range.valueAsNumber);
  const set = (place) => {
    range.value = place;
    range.setAttribute("aria-valuetext", control.options[place]);
    output.value = control.options[place];
  };
  return { element: bookNode("div", { className: "gv-slider" }, range, output), set };
}

function bookCounter(control, id, choose) {
  let now = 0;
  const last = control.options.length - 1;
  const element = bookNode("button", { type: "button", id, onclick: () => now < last && choose(now + 1) });
  const set = (place) => {
    now = place;
    element.textContent = `${control.label}: ${control.options[place]}`;
    element.setAttribute("aria-disabled", String(place === last)); // disabled would drop the focus
    element.title = place === last ? "This page holds no further state; Reset starts again." : "";
  };
  return { element, set };
}

function bookSteps(control, id, choose) {
  const last = control.options.length - 1;
  let now = 0;
  let timer = 0;
  const button = (name, label, action) => bookNode(
    "button", { type: "button", className: "gv-icon", title: label, ariaLabel: label, onclick: action }, icon(BOOK_ICONS[name]));
  const pause = () => {
    clearTimeout(timer);
    timer = 0;
    dress();
  };
  const go = (place) => {
    pause();
    choose(Math.max(0, Math.min(last, place)));
  };
  const tick = () => {
    choose(now + 1);
    if (now === last) return pause();
    timer = setTimeout(tick, matchMedia("(prefers-reduced-motion: reduce)").matches ? 2 * BOOK_PACE : BOOK_PACE);
  };
  const toggle = () => {
    if (timer) return pause();
    if (now === last) choose(0);
    timer = setTimeout(tick, BOOK_PACE / 2);
    dress();
  };
  const play = button("play", "Play", toggle);
  const dress = () => {
    const label = timer ? "Pause" : "Play";
    play.title = play.ariaLabel = label;
    play.replaceChildren(icon(BOOK_ICONS[label.toLowerCase()]));
  };
  const range = bookNode("input", { type: "range", id, className: "gv-range", min: 0, max: last, step: 1 });
  range.oninput = () => go(range.valueAsNumber);
  const output = bookNode("output", { htmlFor: id });
  const moves = {
    ArrowLeft: () => go(now - 1), ArrowRight: () => go(now + 1), Home: () => go(0), End: () => go(last), " ": toggle,
  };
  const key = (event) => {
    if (event.key === " " && event.target.closest("button")) return; // it presses the button
    if (event.altKey || event.ctrlKey || event.metaKey || !moves[event.key]) return;
    event.preventDefault();
    moves[event.key]();
  };
  const keys = bookNode("div", { className: "gv-transport", role: "group", ariaLabel: control.label },
    button("first", "First step", moves.Home), button("back", "Step back", moves.ArrowLeft), play,
    button("next", "Next step", moves.ArrowRight), button("last", "Last step", moves.End));
  const element = bookNode("div", { className: "gv-steps", onkeydown: key }, keys, range, output);
  const set = (place) => {
    now = place;
    range.value = place;
    output.value = `step ${control.options[place]} of ${control.options[last]}`;
    range.setAttribute("aria-valuetext", output.value);
  };
  return { element, set, key, pause };
}

const BOOK_CONTROLS = {
  buttons: bookButtons, dropdown: bookDropdown, checkbox: bookCheckbox, slider: bookSlider, counter: bookCounter, steps: bookSteps,
};

function bookRow(control, id, choose) {
  const part = BOOK_CONTROLS[control.kind](control, id, choose);
  const label = { buttons: "span", counter: "", steps: "" }[control.kind] ?? "label";
  const caption = label && bookNode(label, { id: `${id}-label` }, control.label);
  if (label === "label") caption.htmlFor = id;
  if (control.kind === "steps") part.element.querySelector("input").ariaLabel = control.label;
  const row = bookNode("div", { className: `gv-control gv-control-${control.kind}` }, ...(caption ? [caption] : []), part.element);
  return { ...part, row };
}

// A picture is never shown larger than its own size, so for a projector it is given a larger one.
function bookScaled(state, scale) {
  if (scale === 1) return state;
  const larger = (_, name, size) => ` ${name}="${size * scale}"`;
  return { ...state, svg: state.svg.replace(/^[^>]*>/, (tag) => tag.replace(/ (width|height)="([\d.]+)"/g, larger)) };
}

// Puts a book into `el`. `addresses` is for a page of its own: it then owns the address bar and the presenter keys.
function mountBook(el, book, { onSelect, onState, start, addresses = false } = {}) {
  const id = freeId();
  const first = bookIndex(book, book.controls.map((control) => control.start ?? 0));
  let index = addresses ? bookVisit(book, location.hash, start ?? first) : (start ?? first);
  let [shown, writing, scale] = [undefined, 0, 1];

  const root = bookNode("div", { className: "gv-book" });
  const room = bookNode("div", { className: "gv-room" }, root); // its width decides between one column and two
  const rows = book.controls.map((control, i) => bookRow(control, `${id}-${i}`, (place) => {
    const places = bookPlaces(book, index);
    places[i] = place;
    show(bookIndex(book, places));
  }));
  const reset = bookNode("button", { type: "button", className: "gv-reset", onclick: () => go(first) }, "Reset");
  const controls = bookNode("div", { className: "gv-controls", role: "group", ariaLabel: "Controls" }, 
    ...rows.map((r) => r.row), ...(rows.every((row) => row.pause) ? [] : [reset]));
  el.append(room);
  const panel = mountPanel(root, { onSelect, id });
  if (rows.length) root.prepend(controls);
  panel.setCode(book.code ?? {});

  function show(next) {
    index = next;
    bookPlaces(book, index).forEach((place, i) => rows[i].set(place));
    if (shown !== index) panel.show(bookScaled(book.states[index], scale), book.states[shown]);
    const moved = shown !== undefined && shown !== index;
    shown = index;
    if (moved) onState?.(index);
    if (moved && addresses) write();
  }

  function go(next) {
    rows.forEach((row) => row.pause?.());
    show(Math.max(0, Math.min(book.states.length - 1, next)));
  }

  // Browsers refuse a page that rewrites its address too often, so the address follows when the reader rests.
  function write() {
    clearTimeout(writing);
    writing = setTimeout(() => {
      try {
        history.replaceState(null, "", bookAddress(book, index));
      } catch {
        // a sandboxed frame has no address of its own
      }
    }, 150);
  }

  const visit = () => {
    clearTimeout(writing);
    go(bookVisit(book, location.hash, index));
  };

  function present(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || event.defaultPrevented) return;
    const turn = { PageUp: -1, PageDown: 1 }[event.key];
    const taken = "select, textarea, input:not([type=checkbox], [type=radio], .gv-range)"; // they need these keys
    if (turn && book.states.length > 1 && !event.target.closest?.(taken)) {
      event.preventDefault();
      const [steps, count] = [rows.some((row) => row.pause), book.states.length];
      go(steps ? index + turn : (index + turn + count) % count); // controls may start anywhere, so their states go round
    } else if (event.target === document.body) rows.find((row) => row.key)?.key(event);
  }

  show(index);
  if (addresses) {
    addEventListener("hashchange", visit);
    document.addEventListener("keydown", present);
  }
  return {
    go,
    get index() { return index; },
    /** Pictures may get so many times as large as they were drawn. */
    enlarge(factor) {
      scale = factor;
      panel.show(bookScaled(book.states[index], scale), null);
    },
    select: panel.select,
    destroy() {
      rows.forEach((row) => row.pause?.());
      clearTimeout(writing);
      removeEventListener("hashchange", visit);
      document.removeEventListener("keydown", present);
      panel.destroy();
      room.remove();
    },
  };
}

// ---- the exported page

// "1-3,7" -> [1, 2, 3, 7]; whatever is not a number of a state is left out.
function bookNumbers(text, least, most) {
  const found = new Set();
  for (const part of text.split(/[,;\s]+/)) {
    const [, from, to = from] = /^(\d+)(?:[-–](\d+))?$/.exec(part) ?? [];
    for (let n = Math.max(least, Number(from)); n <= Math.min(most, Number(to)); n++) found.add(n);
  }
  return [...found].sort((a, b) => a - b);
}

// A player's states are numbered by their steps, which start with 0.
const bookFirst = ({ controls: [one, more] }) => (one?.kind === "steps" && !more ? Number(one.options[0]) : 1);

function bookName(book, index) {
  const places = bookPlaces(book, index);
  return book.controls.map((c, i) => `${c.label} ${c.kind === "steps" ? "" : "= "}${c.options[places[i]]}`).join(" · ");
}

function greyed(svg) {
  for (const part of svg.querySelectorAll("*")) {
    for (const name of ["fill", "stroke"]) {
      const [, r, g, b] = /^#(..)(..)(..)$/.exec(part.getAttribute(name) ?? "")?.map((pair) => parseInt(pair, 16)) ?? [];
      const grey = Math.round(0.299 * r + 0.587 * g + 0.114 * b);
      if (r !== undefined) part.setAttribute(name, `rgb(${grey},${grey},${grey})`);
    }
  }
  return svg;
}

// One state on one sheet of paper: name, picture, what happened, the text.
function bookSheet(book, index) {
  const state = book.states[index];
  const sheet = bookNode("section", { className: "gv-sheet" }, bookNode("h2", {}, book.title));
  const add = (tag, className, text) => text && sheet.append(bookNode(tag, { className }, text));
  add("p", "gv-sheet-name", bookName(book, index));
  add("p", "", state.sentence);
  const picture = state.svg && cleanSvg(state.svg, `gv-sheet${index}`);
  if (picture) sheet.append(bookNode("div", { className: "gv-sheet-picture" }, greyed(picture)));
  add("p", "", state.problem);
  const blocks = [book.code?.text, ...(state.text ?? "").split("\n\n")].filter(Boolean);
  const isWide = (text) => text.length > 70 * text.split("\n").length; // a table: across both columns
  const pre = (text) => bookNode("pre", { className: isWide(text) ? "gv-wide" : "" }, text);
  sheet.append(bookNode("div", { className: "gv-sheet-text" }, ...blocks.map(pre)));
  return sheet;
}

// Smaller and smaller, until one sheet of paper holds it; what is still too long runs on to a second one.
function bookFit(sheet) {
  const tooLong = () => sheet.scrollHeight > sheet.clientHeight;
  for (let step = 0; step < 8 && tooLong(); step++) {
    sheet.style.setProperty("--gv-text", `${8 - step / 2}pt`);
    sheet.style.setProperty("--gv-tall", `${120 - 8 * Math.max(0, step - 2)}mm`);
  }
  sheet.classList.toggle("gv-long", tooLong());
}

function bookPrinting(book, mounted, asked) {
  const least = bookFirst(book);
  const most = least + book.states.length - 1;
  const radio = (value, text) => {
    const input = bookNode("input", { type: "radio", name: "gv-print", value, checked: value === (asked ? "list" : "this") });
    return bookNode("label", {}, input, text);
  };
  const example = `${least}-${Math.min(most, least + 2)}`;
  const list = bookNode("input", { type: "text", value: asked ?? "", size: 12, placeholder: example, ariaLabel: "Numbers of states" });
  const choice = bookNode("form", { className: "gv-print-form" },
    radio("this", "this state"), radio("all", `all ${book.states.length} states`),
    bookNode("div", {}, radio("list", "a list "), list), bookNode("button", { type: "submit" }, "Print"));
  list.oninput = () => { choice.elements["gv-print"].value = "list"; };
  choice.onsubmit = (event) => {
    event.preventDefault();
    print();
  };
  const sheets = bookNode("div", { className: "gv-sheets", ariaHidden: "true" });
  addEventListener("beforeprint", () => {
    const which = choice.elements["gv-print"].value;
    const listed = bookNumbers(which === "list" ? list.value : `${least}-${most}`, least, most).map((n) => n - least);
    const indices = which === "this" || !listed.length ? [mounted.index] : listed;
    sheets.replaceChildren(...indices.map((index) => bookSheet(book, index)));
    document.body.append(sheets);
    sheets.childNodes.forEach(bookFit);
  });
  addEventListener("afterprint", () => sheets.remove());
  return bookNode("details", { className: "gv-print" }, bookNode("summary", {}, "Print…"), choice);
}

/** A book from its deflated JSON: the states repeat each other, so it is a tenth of their size. */
async function unpackBook(bytes) {
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
}

async function mountPage() {
  const packed = atob(document.getElementById("gv-data").textContent);
  const book = await unpackBook(Uint8Array.from(packed, (letter) => letter.charCodeAt(0)));
  const query = new URLSearchParams(location.search);
  const root = document.documentElement;
  const app = document.getElementById("gv-app");
  app.replaceChildren();
  const mounted = mountBook(app, book, { addresses: true });
  const toggle = (label, pressed, act) => {
    const button = bookNode("button", { type: "button", ariaPressed: String(pressed) }, label);
    button.onclick = () => {
      button.ariaPressed = String(button.ariaPressed !== "true");
      act(button.ariaPressed === "true");
    };
    act(pressed);
    return button;
  };
  const bar = bookNode("div", { className: "gv-bar" },
    toggle("Dark", matchMedia("(prefers-color-scheme: dark)").matches, (on) => { root.style.colorScheme = on ? "dark" : "light"; }),
    toggle("Present", query.has("present"), (on) => {
      root.classList.toggle("gv-present", on);
      mounted.enlarge(on ? 2.5 : 1);
    }),
    bookPrinting(book, mounted, query.get("print")));
  document.getElementById("gv-head").append(bar);
}
