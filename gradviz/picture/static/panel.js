// All areas of one state: sentence, error, what was printed, picture, code, table; and what changed since the last one.

const COLUMNS = ["name", "value", "grad", "requires_grad", "is_leaf", "grad_fn", "version", "storage"];
const TOLD = ["grad", "requires_grad", "grad_fn", "is_leaf", "value", "version"]; // changes in words, the weightiest first
const MOST_TOLD = 3;
const NO_STATE = {
  svg: "", problem: "", alt: "", text: "", sentence: "", error: "", printed: "", cards: {}, arrows: {}, table: [], lines: [],
};

const cellText = (value) => (value === true ? "True" : value === false ? "False" : String(value ?? "None"));

/**
 * What is different in `after`. A card, an arrow or a table row is the same one if its key is.
 *
 * Returns {marks: Map id -> "new" | "changed", cells: Map "row key/column" -> the text before ("" for a new row), words}.
 */
function changesBetween(before, after) {
  const nothing = !before?.svg && !before?.problem; // was shown: not even why there is no picture
  const [marks, cells, words] = [new Map(), new Map(), []];
  if (nothing || strangers(before.cards, after.cards)) return { marks, cells, words };
  for (const kind of ["cards", "arrows"]) {
    const looks = new Map(Object.values(before[kind]).map(({ key, look }) => [key, look]));
    for (const [id, { key, look }] of Object.entries(after[kind])) {
      if (looks.get(key) !== look) marks.set(id, looks.has(key) ? "changed" : "new");
    }
  }
  const old = new Map(before.table.map((row) => [row.key, row.cells.map(cellText)]));
  const told = new Map(TOLD.map((column) => [column, []]));
  const appeared = [];
  for (const { key, cells: now } of after.table) {
    const was = old.get(key);
    old.delete(key);
    if (!was) {
      cells.set(`${key}/0`, "");
      appeared.push(`${cellText(now[0])} is new`);
    }
    now.forEach((cell, i) => {
      if (!was || cellText(cell) === was[i]) return;
      cells.set(`${key}/${i}`, was[i]);
      const what = { value: now[0], version: `${now[0]} version` }[COLUMNS[i]] ?? `${now[0]}.${COLUMNS[i]}`;
      told.get(COLUMNS[i])?.push(`${what}: ${was[i]} → ${cellText(cell)}`);
    });
  }
  words.push(...[...told.values()].flat(), ...appeared, ...[...old.values()].map(([name]) => `${name} is gone`));
  return { marks, cells, words };
}

/** Two pictures of different things: marking everything as new would say nothing. */
function strangers(before, after) {
  const keys = new Set(Object.values(before).map(({ key }) => key));
  return keys.size > 0 && !Object.values(after).some(({ key }) => keys.has(key));
}

function wordsOf(words) {
  const more = words.length - MOST_TOLD;
  return [...words.slice(0, more === 1 ? MOST_TOLD + 1 : MOST_TOLD), ...(more > 1 ? [`and ${more} more changes`] : [])];
}

/** Writes text only where it is another: a live region speaks of every write. */
function write(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** A listing with line numbers. `mark(lines, line)`: the lines a step stands on, and the one of the selected card. */
function makeListing(el) {
  let lines = new Map(); // number -> element
  let row = null; // the one that must be seen

  function reveal() {
    if (!row || el.scrollHeight <= el.clientHeight) return;
    const [top, bottom] = [row.offsetTop - el.offsetTop, row.offsetTop - el.offsetTop + row.offsetHeight];
    if (top < el.scrollTop) el.scrollTop = top - row.offsetHeight;
    else if (bottom > el.scrollTop + el.clientHeight) el.scrollTop = bottom - el.clientHeight + row.offsetHeight;
  }
  const observer = new ResizeObserver(reveal); // it is lower when the table is folded
  observer.observe(el);
  return {
    set({ text = "", first = 1 }) {
      el.hidden = !text;
      lines = new Map();
      const rows = text.replace(/\n$/, "").split("\n").map((code, i) => {
        const row = htmlNode("span", "gv-line");
        const number = htmlNode("span", "gv-number", String(first + i));
        number.setAttribute("aria-hidden", "true");
        row.append(number, htmlNode("span", "gv-source", `${code}\n`));
        lines.set(first + i, row);
        return row;
      });
      el.replaceChildren(...(text ? rows : []));
    },
    mark(current, selected) {
      for (const [number, row] of lines) {
        row.classList.toggle("gv-now", current.includes(number));
        row.classList.toggle("gv-here", number === selected);
        if (number === selected || current.includes(number)) row.setAttribute("aria-current", number === selected ? "true" : "step");
        else row.removeAttribute("aria-current");
      }
      const next = lines.get(selected) ?? lines.get(current.at(-1)) ?? null;
      if (row && !next) el.scrollTop = 0; // back from where an error was
      row = next;
      reveal();
    },
    destroy: () => observer.disconnect(),
  };
}

/**
 * The tensors as a folded table, written when it is unfolded: the rows of a large picture take longer than all the rest.
 * Cells are written in place; a row that stands for a card selects it.
 */
function makeTable(el, choose) {
  let [rows, cells, selected, written] = [[], new Map(), "", true];
  const summary = htmlNode("summary");
  const scroll = htmlNode("div", "gv-scroll");
  const table = htmlNode("table");
  const head = htmlNode("tr");
  const body = htmlNode("tbody");
  for (const column of COLUMNS) {
    const cell = htmlNode("th", "", column);
    cell.scope = "col";
    head.append(cell);
  }
  const top = htmlNode("thead");
  top.append(head);
  table.append(top, body);
  scroll.append(table);
  scroll.tabIndex = 0; // it scrolls sideways where it is narrow
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", "Tensors");
  el.append(summary, scroll);
  body.addEventListener("click", ({ target }) => {
    const card = target.closest("tr")?.dataset.card;
    if (card && !String(getSelection())) choose(card); // not when she is marking text to copy it
  });

  function fill(cell, text, was, isButton) {
    const shown = JSON.stringify([text, was, isButton]);
    if (cell.dataset.shown === shown) return;
    cell.dataset.shown = shown;
    cell.classList.toggle("gv-changed", was !== undefined);
    cell.title = was ? `was ${was}` : "";
    const content = isButton ? Object.assign(htmlNode("button", "gv-name", text), { type: "button" }) : text;
    const sign = was ? htmlNode("span", "gv-sign", " (changed)") : htmlNode("span", "gv-sign gv-word", "new");
    cell.replaceChildren(content, ...(was === undefined ? [] : [sign]));
  }
  function writeRows() {
    if (written || !el.open) return;
    written = true;
    while (body.rows.length > rows.length) body.deleteRow(-1);
    rows.forEach((row, i) => {
      const line = body.rows[i] ?? body.insertRow();
      line.dataset.card = row.card ?? "";
      row.cells.forEach((value, column) => {
        const cell = line.cells[column] ?? line.insertCell();
        fill(cell, cellText(value), cells.get(`${row.key}/${column}`), column === 0 && Boolean(row.card));
      });
    });
    select(selected);
  }
  function select(id) {
    selected = id;
    if (!el.open) return;
    for (const line of body.rows) {
      const on = Boolean(id) && line.dataset.card === id;
      line.classList.toggle("gv-selected", on);
      if (on) line.setAttribute("aria-current", "true");
      else line.removeAttribute("aria-current");
    }
  }
  el.addEventListener("toggle", () => {
    writeRows();
    select(selected);
  });
  return {
    show(nextRows, changes) {
      [rows, cells, written] = [nextRows, changes, false];
      el.hidden = !rows.length;
      write(summary, `Tensors (${rows.length})${cells.size ? ` · ${cells.size} changed` : ""}`);
      writeRows();
    },
    select,
  };
}

/** A prefix for ids that no other picture of the page has; every widget loads a copy of this module. */
const freeId = () => `gv${Math.random().toString(36).slice(2, 9)}`;

/**
 * Builds the areas of a state in `el`; a page or a notebook lays them out.
 *
 * Returns {show(state, previous), setCode({text, first}), select(id), selected, say(words), destroy()}. `previous` is what changes
 * are marked against: the state shown before when it is left out, nothing when it is null.
 */
function mountPanel(el, { onSelect = () => {}, id = freeId() } = {}) {
  el.classList.add("gv-root");
  el.setAttribute("data-lm-suppress-shortcuts", "true"); // keys pressed in here are not the notebook's
  const area = (tag, name) => el.appendChild(htmlNode(tag, `gv-area gv-${name}`));
  const sentence = area("div", "sentence");
  const error = area("div", "error");
  const printed = area("pre", "printed");
  const pictureArea = area("div", "picture");
  const code = area("pre", "code");
  const tableArea = area("details", "table");
  for (const live of [sentence, error]) {
    live.setAttribute("aria-live", "polite");
    live.setAttribute("aria-atomic", "true");
  }
  const [said, changed, notice] = [htmlNode("p", "gv-said"), htmlNode("p", "gv-changes"), htmlNode("p", "gv-notice")];
  sentence.append(said, changed, notice);
  notice.hidden = true;
  code.tabIndex = 0; // it scrolls
  code.setAttribute("role", "region");
  code.setAttribute("aria-label", "Code");
  printed.setAttribute("aria-label", "Printed");
  code.hidden = printed.hidden = tableArea.hidden = true;

  let [shown, selected, listed, old] = [null, "", "", false];
  const listing = makeListing(code);
  const picture = mountPicture(pictureArea, { id, onSelect: choose });
  const table = makeTable(tableArea, choose);

  function choose(card) {
    if (card === selected) return;
    select(card);
    onSelect(selected);
  }
  function select(card) {
    selected = shown && Object.hasOwn(shown.cards, card) ? card : "";
    picture.select(selected);
    table.select(selected);
    if (old) listing.mark([], null);
    else listing.mark(shown?.lines ?? [], shown?.cards[selected]?.line ?? null);
  }
  /** What is shown belongs to other controls: `words` stand for its sentence, the rest is dimmed and out of reach. */
  function say(words) {
    const now = Boolean(words);
    if (now !== old) {
      old = now;
      sentence.style.minHeight = old ? `${sentence.offsetHeight}px` : ""; // so that nothing below it moves
      said.hidden = changed.hidden = old;
      notice.hidden = !old;
      for (const part of [error, printed, pictureArea, tableArea]) part.inert = old;
      el.classList.toggle("gv-old", old);
      el.setAttribute("aria-busy", String(old));
      select(selected);
    }
    if (notice.textContent === words) return;
    const [first, ...more] = words.split(/(?=\n)/);
    notice.replaceChildren(htmlNode("strong", "", first), ...more);
  }
  function show(given, previous = shown) {
    const state = { ...NO_STATE, ...given };
    const again = shown && previous === shown && shown.svg === state.svg && JSON.stringify(shown) === JSON.stringify(state);
    if (again) return; // its marks stay
    const changes = changesBetween(state.afresh || !previous ? null : { ...NO_STATE, ...previous }, state);
    const key = shown?.cards[selected]?.key; // ids are numbers in one picture; the key is what stays
    const kept = Object.keys(state.cards).find((card) => key !== undefined && state.cards[card].key === key) ?? "";
    shown = state;
    write(said, state.sentence);
    write(changed, wordsOf(changes.words).join(" · "));
    error.classList.toggle("gv-on", Boolean(state.error));
    write(error, state.error);
    printed.hidden = !state.printed;
    write(printed, state.printed);
    picture.show(state, changes.marks);
    table.show(state.table, changes.cells);
    const moved = kept !== selected;
    select(kept);
    if (moved) onSelect(selected);
  }
  return {
    show, select, say,
    get selected() { return selected; },
    get hasPicture() { return Boolean(shown?.svg); },
    setCode(next) {
      const text = JSON.stringify(next ?? {});
      if (text === listed) return;
      listed = text;
      listing.set(next ?? {});
      select(selected);
    },
    destroy() {
      listing.destroy();
      picture.destroy();
      el.replaceChildren();
      el.classList.remove("gv-root", "gv-old");
      el.removeAttribute("aria-busy");
    },
  };
}
