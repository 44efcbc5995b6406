// Built from frontend/src by `make frontend`: change it there.

// src/opening.js
function isInside(inner, outer) {
  return inner.startsWith(`${outer}.`);
}
function closed(opened, name) {
  return opened.filter((one) => one !== name && !isInside(one, name));
}
function closedInside(opened, name) {
  return opened.filter((one) => !isInside(one, name));
}
function cardOf(outline, name) {
  return outline.inside[name]?.[0] ?? outline.names[name]?.[0] ?? "";
}
function findMoved(before, after) {
  if (!before || !after) return null;
  const isOpening = after.opened.some((name2) => !before.opened.includes(name2));
  const [more, less] = isOpening ? [after, before] : [before, after];
  const name = more.opened.find((one) => !less.opened.includes(one));
  if (name === void 0 || less.names[name] === void 0) return null;
  const [inside, around] = [more.inside[name] ?? [], [less.names[name][0]].filter(Boolean)];
  return isOpening ? { name, before: around, after: inside } : { name, before: inside, after: around };
}
function nextAlarm(alarms, order, selected) {
  const place = order.indexOf(selected);
  return alarms.find((cardId) => order.indexOf(cardId) > place) ?? alarms[0] ?? "";
}
function findNames(outline, text) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return [];
  const rank = (name) => {
    const lower = name.toLowerCase();
    if (lower === wanted || lower.slice(lower.indexOf(".") + 1) === wanted) return 0;
    if (lower.endsWith(`.${wanted}`)) return 1;
    return lower.includes(wanted) ? 2 : 3;
  };
  const names = Object.keys(outline.names).map((name) => ({ name, rank: rank(name) }));
  const found = names.filter((one) => one.rank < 3).sort((a, b) => a.rank - b.rank);
  return found.map(({ name }) => name);
}
function openingIndex(book, opened) {
  const openings = book.openings ?? {};
  const exact = opened.join("\n");
  if (Object.hasOwn(openings, exact)) return openings[exact];
  const last = opened.at(-1) ?? "";
  const key = Object.keys(openings).find((one) => one.endsWith(last) && isWayTo(one.split("\n"), last));
  return key === void 0 ? -1 : openings[key];
}
function shortKey(key) {
  const names = key.split("\n");
  return isWayTo(names, names[names.length - 1]) ? names[names.length - 1] : key;
}
function isWayTo(names, last) {
  return names.at(-1) === last && names.every((name, i) => i === 0 || isInside(name, names[i - 1]));
}

// src/address.js
var OPEN = "open";
function stateIndex(book, choices) {
  return book.controls.reduce((index, control, i) => index * control.options.length + choices[i], 0);
}
function choicesOf(book, index) {
  const choices = [];
  for (const { options } of [...book.controls].reverse()) {
    choices.unshift(index % options.length);
    index = Math.floor(index / options.length);
  }
  return choices;
}
function writeAddress(book, index) {
  if (book.openings) return `#${OPEN}=${encode(shortKey(openedAt(book, index)))}`;
  const choices = choicesOf(book, index);
  const parts = book.controls.map(({ name, options }, i) => `${encode(name)}=${encode(options[choices[i]])}`);
  return `#${parts.join("&")}`;
}
function readAddress(book, address, index) {
  if (book.openings) return readOpening(book, address, index);
  const choices = choicesOf(book, index);
  for (const part of address.replace(/^#/, "").split("&")) {
    const [name, value] = part.split("=").map(decode);
    const i = book.controls.findIndex((control) => decode(encode(control.name)) === name);
    const choice = book.controls[i]?.options.findIndex((option) => decode(encode(option)) === value) ?? -1;
    if (choice >= 0) choices[i] = choice;
  }
  return stateIndex(book, choices);
}
function openedAt(book, index) {
  return Object.entries(book.openings ?? {}).find(([, place]) => place === index)?.[0] ?? "";
}
function readOpening(book, address, index) {
  const [name, value] = address.replace(/^#/, "").split("=").map(decode);
  const found = name === OPEN ? openingIndex(book, value ? value.split("\n") : []) : -1;
  return found < 0 ? index : found;
}
function encode(text) {
  return encodeURIComponent(text.toWellFormed?.() ?? text.replace(/[\ud800-\udfff]/g, "�"));
}
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

// src/dom.js
var SVG_NAMESPACE = "http://www.w3.org/2000/svg";
function makeElement(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) Reflect.set(element, name, value);
    else element.setAttribute(name, String(value));
  }
  element.append(...children);
  return element;
}
function makeSvgElement(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG_NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}
function makeIcon(path) {
  return makeSvgElement("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, makeSvgElement("path", { d: path }));
}
function writeText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
function writeTold(element, told) {
  const pieces = tellPieces(told);
  const textOf = (piece) => typeof piece === "string" ? piece : piece.textContent;
  const now = [...element.childNodes];
  const isPiece = (node, i) => node.nodeType === Node.TEXT_NODE === (typeof pieces[i] === "string") && node.textContent === textOf(pieces[i]);
  const isSame2 = now.length === pieces.length && now.every(isPiece);
  if (!isSame2) element.replaceChildren(...pieces);
}
var UNBROKEN = 12;
function tellPieces({ text, code }) {
  let at2 = 0;
  const pieces = code.flatMap(([start, end]) => {
    const before = text.slice(at2, start);
    at2 = end;
    const className = end - start <= UNBROKEN ? "gv-unbroken" : "";
    return [before, makeElement("code", { className }, text.slice(start, end))];
  });
  return [...pieces, text.slice(at2)].filter((piece) => piece !== "");
}
function markCurrent(element, current) {
  if (current) element.setAttribute("aria-current", current);
  else element.removeAttribute("aria-current");
}
function isForNotebook(event) {
  return event.ctrlKey || event.metaKey || event.altKey || event.shiftKey && event.key === "Enter";
}
function isCalm() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}
function makePrefix() {
  return `gv${Math.random().toString(36).slice(2, 9)}`;
}
function targetOf(event) {
  return (
    /** @type {Element} */
    event.target
  );
}

// src/english.js
var ENGLISH = {
  waiting: "Waiting for the kernel.",
  unconnected: "Waiting for the kernel: this page has lost its connection to it.",
  old_picture: "The picture is still the one from before.",
  gone: "The kernel is gone: run this cell again.",
  gone_detail: "Until then the controls do nothing.",
  code: "Code",
  printed: "Printed",
  picture: "picture",
  unreadable: "This picture could not be read.",
  hint: "Drag to see the rest, or",
  click_a_card: "Click a card: where does its gradient go?",
  more_facts: "… click it for the rest",
  zoom_in: "Zoom in",
  zoom_out: "Zoom out",
  fit: "Fit",
  fit_title: "Show the whole picture",
  fit_spoken: "Fit: show the whole picture",
  reset: "Reset",
  reset_view_title: "Back to the view at the start",
  reset_view_spoken: "Reset: back to the view at the start",
  save: "Save or copy the picture",
  save_svg: "Save as SVG",
  save_png: "Save as PNG",
  copy_png: "Copy as PNG",
  copy_svg: "Copy the SVG's text",
  saved: "Saved",
  copied: "Copied",
  not_saved: "This browser could not save it.",
  not_copied: "This browser lets no page copy here: save it instead.",
  open: "Open {name}",
  close: "Close {name}",
  opens: "A second click, or Enter, opens {name}.",
  outline_tools: "Outline",
  crumbs: "What is open",
  crumb_title: "Close what is open inside {name}",
  open_red: "Open all red",
  open_red_title: "Open every card with a lost gradient or an alarm",
  next_red: "Next ✗",
  next_red_title: "Go to the next card with a lost gradient or an alarm",
  search: "Find a module or parameter",
  members: "Open one of these {n} …",
  members_title: "A click opens the first of these equal modules; here each of them can be opened",
  found: "{name} is in this card.",
  found_of: "{name} is in this card. Enter: the next of {total} names with “{text}”.",
  found_nowhere: "{name} has no card here: it was never called.",
  not_found: "No module or parameter has “{text}” in its name.",
  not_on_page: 'This page was saved without {name} opened. In Python, Figure(graph, focus="{name}") opens it.',
  new: "new",
  changed: "changed",
  same_memory: "same memory",
  marked_card: "{card}, {mark}",
  changed_to: "Changed: {changes}",
  two_changes: "{one} · {other}",
  nothing_changed: "Nothing changed in the picture.",
  nothing_changed_but: "Nothing changed in the picture: {kept}.",
  details_changed: "Only details changed.",
  details_changed_but: "Only details changed: {kept}.",
  picture_changed_one: "the card of {names}",
  picture_changed: "the cards of {names}",
  and: "{names} and {last}",
  is_new: "{name} is new",
  is_gone: "{name} is gone",
  grad_changed: "`{name}.grad`: {before} → {after}",
  grad_kept: "`{name}.grad` is still {grad}",
  value_changed: "`{name}`: {before} → {after}",
  grad_fn_changed: "`{name}.grad_fn`: `{before}` → `{after}`",
  untracked_now_one: "{names} is no longer tracked",
  untracked_now: "{names} are no longer tracked",
  tracked_now_one: "{names} is tracked now",
  tracked_now: "{names} are tracked now",
  shared_now_one: "{names} shares its memory now",
  shared_now: "{names} share memory now",
  own_now_one: "{names} has its own memory now",
  own_now: "{names} have their own memory now",
  tensors: "Tensors",
  parameters: "Parameters",
  tensors_folded: "Tensors ({n})",
  tensors_folded_changed: "Tensors ({n}) · {changed} changed",
  column_name: "name",
  column_value: "value",
  column_version: "version",
  column_storage: "storage",
  cell_was: "was {before}",
  cell_changed: " (changed)",
  start_again: "Reset",
  start_again_title: "Set all controls to their start",
  controls: "Controls",
  counter: "{control} ({option})",
  counter_ends: "This page holds no further state; Reset starts again.",
  first_step: "First step",
  step_back: "Step back",
  play: "Play",
  pause: "Pause",
  next_step: "Next step",
  last_step: "Last step",
  step_of: "step {step} of {last}",
  just_show: "Just show me",
  dark: "Dark",
  present: "Present",
  print_menu: "Print…",
  print: "Print",
  print_this: "this state",
  print_all: "all {n} states",
  print_list: "a list ",
  print_numbers: "Numbers of states",
  sheet_step: "{control} {option}",
  sheet_setting: "{control} = {option}"
};

// src/words.js
var table = ENGLISH;
function useWords(words) {
  table = { ...ENGLISH, ...words };
}
function sentence(name, fields = {}) {
  return tell(name, fields).text;
}
function tell(name, fields = {}) {
  const parts = [];
  table[name].split("`").forEach((quoted, i) => {
    for (const [whole, field] of quoted.matchAll(/\{(\w+)\}|[^{]+|\{/g)) {
      const filled = Object.hasOwn(fields, field) ? fields[field] : whole;
      const part = typeof filled === "object" ? filled : { text: String(filled), code: [] };
      parts.push(i % 2 ? asCode(part.text) : part);
    }
  });
  return together(parts);
}
function asCode(text) {
  return { text, code: text ? [[0, text.length]] : [] };
}
function together(parts) {
  const whole = { text: "", code: [] };
  for (const { text, code } of parts) {
    for (const [start, end] of code) {
      const [from, to] = [whole.text.length + start, whole.text.length + end];
      const last = whole.code.at(-1);
      if (last && last[1] === from) last[1] = to;
      else whole.code.push([from, to]);
    }
    whole.text += text;
  }
  return whole;
}

// src/transport.js
var PACE = 900;
var ICONS = {
  first: "M3 2h2v12H3zM13 2v12L6 8z",
  back: "M10 2 4 8l6 6 1.6-1.6L7.2 8l4.4-4.4z",
  play: "M4 2v12l9-6z",
  pause: "M3 2h4v12H3zM9 2h4v12H9z",
  next: "M6 2l6 6-6 6-1.6-1.6L8.8 8 4.4 3.6z",
  last: "M11 2h2v12h-2zM3 2v12l7-6z"
};
function makeTransport(control, id, choose) {
  const last = control.options.length - 1;
  let now = 0;
  let timer = 0;
  function goTo(choice) {
    pause();
    choose(Math.max(0, Math.min(last, choice)));
  }
  function pause() {
    clearTimeout(timer);
    timer = 0;
    showPlaying();
  }
  function play() {
    if (now === last) choose(0);
    timer = setTimeout(playStep, PACE / 2);
    showPlaying();
  }
  function playStep() {
    choose(now + 1);
    if (now === last) return pause();
    timer = setTimeout(playStep, isCalm() ? 2 * PACE : PACE);
  }
  function toggle() {
    if (timer) pause();
    else play();
  }
  function showPlaying() {
    playButton.title = playButton.ariaLabel = sentence(timer ? "pause" : "play");
    playButton.replaceChildren(makeIcon(timer ? ICONS.pause : ICONS.play));
  }
  const moves = {
    ArrowLeft: () => goTo(now - 1),
    ArrowRight: () => goTo(now + 1),
    Home: () => goTo(0),
    End: () => goTo(last),
    " ": toggle
  };
  function press(event) {
    if (event.key === " " && targetOf(event).closest("button")) return;
    if (event.altKey || event.ctrlKey || event.metaKey || !moves[event.key]) return;
    event.preventDefault();
    moves[event.key]();
  }
  const playButton = makeIconButton(ICONS.play, sentence("play"), toggle);
  const buttons = makeElement(
    "div",
    { className: "gv-transport", role: "group", ariaLabel: control.label },
    makeIconButton(ICONS.first, sentence("first_step"), moves.Home),
    makeIconButton(ICONS.back, sentence("step_back"), moves.ArrowLeft),
    playButton,
    makeIconButton(ICONS.next, sentence("next_step"), moves.ArrowRight),
    makeIconButton(ICONS.last, sentence("last_step"), moves.End)
  );
  const limits = { min: 0, max: last, step: 1 };
  const range = makeElement("input", { type: "range", id, className: "gv-range", ariaLabel: control.label, ...limits });
  range.oninput = () => goTo(range.valueAsNumber);
  const output = makeElement("output", { htmlFor: id });
  return {
    element: makeElement("div", { className: "gv-steps", onkeydown: press }, buttons, range, output),
    press,
    pause,
    set(choice) {
      now = choice;
      range.value = String(choice);
      output.value = sentence("step_of", { step: control.options[choice], last: control.options[last] });
      range.setAttribute("aria-valuetext", output.value);
    }
  };
}
function makeIconButton(path, label, act) {
  const properties = { type: "button", className: "gv-icon", title: label, ariaLabel: label, onclick: act };
  return makeElement("button", properties, makeIcon(path));
}

// src/controls.js
function makeButtons(control, id, choose) {
  const inputs = control.options.map((_, choice) => makeElement("input", { type: "radio", name: id, onchange: () => choose(choice) }));
  const labels = inputs.map((input, i) => {
    const text = control.options[i];
    return makeElement("label", {}, input, makeElement("span", { "data-text": text }, text));
  });
  const group = { className: "gv-buttons", role: "radiogroup", ariaLabel: control.label };
  return {
    element: makeElement("div", group, ...labels),
    set(choice) {
      inputs.forEach((input, i) => {
        input.checked = i === choice;
      });
    }
  };
}
function makeDropdown(control, id, choose) {
  const options = control.options.map((text, choice) => makeElement("option", { value: choice }, text));
  const element = makeElement("select", { id, onchange: () => choose(element.selectedIndex) }, ...options);
  return {
    element,
    set(choice) {
      element.selectedIndex = choice;
    }
  };
}
function makeCheckbox(_, id, choose) {
  const element = makeElement("input", { type: "checkbox", id, onchange: () => choose(Number(element.checked)) });
  return {
    element,
    set(choice) {
      element.checked = choice === 1;
    }
  };
}
function makeSlider(control, id, choose) {
  const range = makeElement("input", { type: "range", id, min: 0, max: control.options.length - 1, step: 1 });
  const output = makeElement("output", { htmlFor: id });
  range.oninput = () => choose(range.valueAsNumber);
  return {
    element: makeElement("div", { className: "gv-slider" }, range, output),
    set(choice) {
      range.value = String(choice);
      range.setAttribute("aria-valuetext", control.options[choice] ?? "");
      output.value = control.options[choice] ?? "";
    }
  };
}
function makeCounter(control, id, choose) {
  const last = control.options.length - 1;
  let count = 0;
  const isLast = () => !control.endless && count >= last;
  const element = makeElement("button", { type: "button", id, onclick: () => isLast() || choose(count += 1) });
  return {
    element,
    set(choice) {
      count = Math.max(0, choice);
      const { label } = control;
      element.textContent = count ? sentence("counter", { control: label, option: String(count) }) : label;
      element.setAttribute("aria-disabled", String(isLast()));
      element.title = isLast() ? sentence("counter_ends") : "";
    }
  };
}
var MAKERS = {
  buttons: makeButtons,
  dropdown: makeDropdown,
  checkbox: makeCheckbox,
  slider: makeSlider,
  counter: makeCounter,
  steps: makeTransport
};
function makeControlRow(control, id, choose, isAtLine = false) {
  const part = MAKERS[control.kind](control, id, choose);
  const row = makeElement("div", { className: `gv-control gv-control-${control.kind}` }, part.element);
  row.dataset.name = control.name;
  const caption = makeCaption(control, id);
  const isSaid = isAtLine && (control.kind === "buttons" || control.kind === "dropdown");
  if (isSaid) part.element.setAttribute("aria-label", control.label);
  else if (caption && control.kind === "checkbox") row.append(caption);
  else if (caption) row.prepend(caption);
  return { ...part, row };
}
function makeCaption({ kind, label }, id) {
  if (kind === "counter" || kind === "steps") return null;
  if (kind === "buttons") return makeElement("span", { id: `${id}-label` }, label);
  return makeElement("label", { id: `${id}-label`, htmlFor: id }, label);
}

// src/changes.js
var COLUMNS = ["name", "value", "grad", "requires_grad", "is_leaf", "grad_fn", "version", "storage"];
var [NAME, VALUE, GRAD, TRACKED, LEAF, GRAD_FN] = COLUMNS.keys();
function cellText(cell) {
  if (cell === true) return "True";
  return cell === false ? "False" : String(cell ?? "None");
}
var MOST_NAMED = 3;
var NOTHING = { text: "", code: [] };
function findChanges(before, after) {
  const isFirst = !before?.svg && !before?.problem;
  if (!before || isFirst || areStrangers(before.cards, after.cards)) {
    return { marks: /* @__PURE__ */ new Map(), cells: /* @__PURE__ */ new Map(), texts: [], kept: null, isCompared: false };
  }
  const marks = new Map([...findMarks(before.cards, after.cards), ...findMarks(before.arrows, after.arrows)]);
  const seen = Object.entries(after.cards).flatMap(([id, { key }]) => marks.has(id) ? [key] : []);
  const isNamed = seen.length <= MOST_NAMED;
  const drawn2 = isNamed ? sayOf(seen, "picture_changed_one", "picture_changed") : [];
  if (before.columns || after.columns) {
    return { marks, cells: /* @__PURE__ */ new Map(), texts: [], kept: null, isCompared: marks.size === 0 };
  }
  const { cells, texts, kept } = findTableChanges(before, after);
  return { marks, cells, texts: texts.length ? texts : drawn2, kept, isCompared: true };
}
function areStrangers(before, after) {
  const keys = new Set(Object.values(before).map(({ key }) => key));
  return keys.size > 0 && !Object.values(after).some(({ key }) => keys.has(key));
}
function findMarks(before, after) {
  const looks = new Map(Object.values(before).map(({ key, look }) => [key, look]));
  return Object.entries(after).filter(([, { key, look }]) => looks.get(key) !== look).map(([id, { key }]) => [id, looks.has(key) ? "changed" : "new"]);
}
function findTableChanges(before, after) {
  const old = new Map(before.table.map((row) => [row.key, row.cells.map(cellText)]));
  const cells = /* @__PURE__ */ new Map();
  const pairs = [];
  const appeared = [];
  for (const row of after.table) {
    const now = row.cells.map(cellText);
    const was = old.get(row.key);
    old.delete(row.key);
    if (!was) {
      cells.set(`${row.key}/0`, "");
      appeared.push(tell("is_new", { name: asCode(now[NAME]) }));
      continue;
    }
    pairs.push([was, now]);
    now.forEach((text, i) => text !== was[i] && cells.set(`${row.key}/${i}`, was[i]));
  }
  const disappeared = [...old.values()].map((was) => tell("is_gone", { name: asCode(was[NAME]) }));
  const texts = [...sayGradients(pairs), ...sayTracked(pairs), ...sayMemory(before, after), ...sayRest(pairs)];
  return { cells, texts: [...texts, ...appeared, ...disappeared], kept: sayKept(pairs) };
}
function differing(pairs, column) {
  return pairs.filter(([was, now]) => was[column] !== now[column]);
}
function isLeaf(pair) {
  return pair.some((cells) => cells[LEAF] === "True" && cells[TRACKED] === "True");
}
function sayGradients(pairs) {
  const leaves = pairs.filter(isLeaf);
  return [
    ...differing(leaves, GRAD).map((pair) => tell("grad_changed", change(pair, GRAD))),
    ...differing(leaves, VALUE).map((pair) => tell("value_changed", change(pair, VALUE)))
  ];
}
function sayOf(names, ofOne, ofSeveral) {
  return names.length ? [tell(names.length > 1 ? ofSeveral : ofOne, { names: join(names) })] : [];
}
function sayTracked(pairs) {
  const differ = differing(pairs, TRACKED);
  const namesOf = (word) => differ.flatMap(([, now]) => now[TRACKED] === word ? [now[NAME]] : []);
  const [lost, found] = [namesOf("False"), namesOf("True")];
  return [
    ...sayOf(lost, "untracked_now_one", "untracked_now"),
    ...sayOf(found, "tracked_now_one", "tracked_now")
  ];
}
function sayMemory(before, after) {
  const shared = (state) => new Map(
    Object.values(state.cards).map(({ key, memory }) => [key, memory?.length > 1])
  );
  const [was, now] = [shared(before), shared(after)];
  const both = [...now.keys()].filter((key) => was.has(key) && was.get(key) !== now.get(key));
  const sharing = both.filter((key) => now.get(key));
  const own = both.filter((key) => !now.get(key));
  return [...sayOf(sharing, "shared_now_one", "shared_now"), ...sayOf(own, "own_now_one", "own_now")];
}
function sayRest(pairs) {
  const same = pairs.filter(([was, now]) => was[TRACKED] === now[TRACKED]);
  const results = pairs.filter((pair) => !isLeaf(pair));
  return [
    ...differing(same, GRAD_FN).map((pair) => tell("grad_fn_changed", change(pair, GRAD_FN))),
    ...differing(results, VALUE).map((pair) => tell("value_changed", change(pair, VALUE)))
  ];
}
function change([was, now], column) {
  return { name: now[NAME], before: was[column], after: now[column] };
}
function join(names) {
  const told = names.map(asCode);
  if (told.length < 2) return together(told);
  const others = told.slice(0, -1).flatMap((one, i) => i ? [{ text: ", ", code: [] }, one] : [one]);
  return tell("and", { names: together(others), last: told[told.length - 1] });
}
function sayKept(pairs) {
  const same = pairs.find((pair) => isLeaf(pair) && pair[1][TRACKED] === "True" && pair[0][GRAD] === pair[1][GRAD]);
  return same ? tell("grad_kept", { name: same[1][NAME], grad: same[1][GRAD] }) : null;
}
function sayChanges({ texts, kept, isCompared, marks, cells }, most = Infinity) {
  if (!isCompared) return NOTHING;
  if (!texts.length && !marks.size && !cells.size) {
    return kept ? tell("nothing_changed_but", { kept }) : tell("nothing_changed");
  }
  const [one, other = kept?.text.endsWith("None") ? null : kept] = texts;
  if (!one) return kept ? tell("details_changed_but", { kept }) : tell("details_changed");
  const both = other && tell("two_changes", { one, other });
  return tell("changed_to", { changes: both && both.text.length <= most ? both : one });
}

// src/code.js
var SIDE_GAP = 24;
var RESET = 78;
var ROW = 21;
var PADDING = 10;
var NUMBER = 36;
var LETTERS = "M".repeat(20);
var NARROW = 430;
var TOKENS = /("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(#.*$)|\b(\d[\w.]*)|([A-Za-z_]\w*)/g;
var PYTHONS = new RegExp(
  "^(?:and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|if|import|in|is|lambda|not|or|pass|raise|return|try|while|with|yield)$"
);
var VALUES = /* @__PURE__ */ new Set(["True", "False", "None"]);
function makeCode(el, prefix, chooser) {
  let lines = /* @__PURE__ */ new Map();
  let parts = /* @__PURE__ */ new Map();
  let controls = [];
  let code = {};
  let filled = null;
  let values = {};
  let measured = "";
  const group = { className: "gv-choices", role: "group", ariaLabel: sentence("controls"), hidden: true };
  const row = makeElement("div", group);
  const list = makeElement("div", { className: "gv-lines" });
  const reset = makeElement("button", { type: "button", className: "gv-reset", hidden: true }, sentence("start_again"));
  reset.title = sentence("start_again_title");
  reset.addEventListener("click", () => chooser.reset());
  el.addEventListener("keydown", (event) => {
    const isPages = event.key === "PageUp" || event.key === "PageDown";
    if (!isForNotebook(event) && !isPages) event.stopPropagation();
  });
  el.append(row, list, reset);
  function build() {
    const sources = filled ?? sourceLines(code);
    lines = new Map(sources.map((line) => [line[0], makeLine(line)]));
    parts = /* @__PURE__ */ new Map();
    row.replaceChildren();
    controls.forEach((control, i) => {
      const line = lines.get(control.line ?? NaN);
      const choose2 = (choice) => chooser.choose(control.name, choice);
      const part = makeControlRow(control, `${prefix}-${i}`, choose2, Boolean(line));
      parts.set(control.name, part);
      (line?.slot ?? row).append(part.row);
    });
    for (const { element, slot } of lines.values()) if (slot.childElementCount) element.append(slot);
    row.hidden = !row.childElementCount;
    reset.hidden = !controls.length;
    list.replaceChildren(...[...lines.values()].map(({ element }) => element));
    el.hidden = !lines.size && !controls.length;
    el.classList.toggle("gv-bare", !lines.size);
    choose();
    measured = "";
    place();
  }
  function choose() {
    for (const [name, part] of parts) part.set(values[name] ?? -1);
  }
  function place() {
    const width = list.clientWidth;
    if (!width || sizes() === measured) return;
    el.classList.remove("gv-small", "gv-beside");
    const letter = letterWidth(list);
    const slots = [...lines.values()].filter(({ slot }) => slot.childElementCount);
    const columns = Math.max(0, ...slots.map(({ number }) => code.columns?.[number] ?? 0));
    const isSmall = NUMBER + PADDING + longest() * letter > width;
    el.classList.toggle("gv-small", isSmall);
    el.classList.toggle("gv-narrow", width < NARROW);
    const at2 = NUMBER + columns * letter * (isSmall ? 12 / 13 : 1) + SIDE_GAP;
    const first = lines.values().next().value;
    el.classList.add("gv-beside");
    const fits = (line) => at2 + line.slot.scrollWidth + (line === first ? RESET : 8) <= width;
    const isBeside = slots.length > 0 && !isSmall && slots.every(fits);
    for (const { slot, number } of slots) {
      const end = NUMBER + (code.columns?.[number] ?? columns) * letter + 14 + slot.scrollWidth;
      const isAlone = slot.querySelector("input[type=checkbox]") && slot.childElementCount === 1;
      const room = width - (number === first?.number ? RESET : PADDING);
      slot.classList.toggle("gv-alone", !isBeside && Boolean(isAlone) && end <= room);
    }
    el.classList.toggle("gv-beside", isBeside);
    keepRows(isSmall && !isBeside ? Math.floor((width - NUMBER - PADDING) / (letter * 12 / 13)) : Infinity);
    list.style.setProperty("--gv-at", `${Math.round(at2)}px`);
    measured = sizes();
  }
  function sizes() {
    return `${list.clientWidth} ${getComputedStyle(list).fontSize}`;
  }
  function keepRows(most) {
    for (const { source, number, text } of lines.values()) {
      const rows = Math.ceil(Math.max(code.columns?.[number] ?? 0, text.length) / most) || 1;
      source.style.display = rows > 1 ? "block" : "";
      source.style.minHeight = rows > 1 ? `${rows * ROW}px` : "";
    }
  }
  function longest() {
    const now = [...lines.values()].map(({ text }) => text.length);
    return Math.max(0, ...now, ...Object.values(code.columns ?? {}));
  }
  const observer = new ResizeObserver(place);
  observer.observe(list);
  return {
    /**
     * Shows other code, with its controls.
     *
     * @param {Code} nextCode
     * @param {Control[]} nextControls
     * @param {CodeLine[] | null} nextFilled
     */
    set(nextCode, nextControls, nextFilled) {
      [code, controls, filled] = [nextCode, nextControls, nextFilled];
      build();
    },
    /**
     * Shows the same code with other choices filled in.
     *
     * @param {CodeLine[] | null} next
     */
    fill(next) {
      const isOther = next === null !== (filled === null) || next?.some(([number]) => !lines.has(number));
      filled = next;
      if (isOther) return build();
      for (const line of next ?? []) lines.get(line[0])?.write(line, true);
      place();
    },
    /** @param {Record<string, number | null>} next */
    choose(next) {
      values = next;
      choose();
    },
    /**
     * Marks the lines that a step stands on, the one that failed, and the one of the selected card.
     *
     * @param {number[]} current
     * @param {number | null} selected
     * @param {boolean} isFailed
     */
    mark(current, selected, isFailed) {
      for (const [number, { element }] of lines) {
        const isCurrent = current.includes(number);
        element.classList.toggle("gv-now", isCurrent);
        element.classList.toggle("gv-failed", isCurrent && isFailed);
        element.classList.toggle("gv-here", number === selected);
        markCurrent(element, number === selected ? "true" : isCurrent ? "step" : "");
      }
    },
    destroy() {
      observer.disconnect();
    }
  };
}
function sourceLines({ text = "", first = 1 }) {
  if (!text) return [];
  return text.replace(/\n$/, "").split("\n").map((source, i) => [first + i, source, [], "", ""]);
}
function letterWidth(el) {
  const probe = makeElement("span", { className: "gv-probe" }, LETTERS);
  el.append(probe);
  const width = probe.getBoundingClientRect().width / LETTERS.length;
  probe.remove();
  return width;
}
function makeLine(given) {
  const source = makeElement("span", { className: "gv-source" });
  const number = makeElement("span", { className: "gv-number", ariaHidden: "true" }, String(given[0]));
  const element = makeElement("div", { className: "gv-line" }, number, source);
  const slot = makeElement("span", { className: "gv-slot" });
  const line = { element, slot, number: given[0], text: "", source, write };
  function write([, text, pieces, kind], isChange) {
    element.classList.toggle("gv-gone", kind !== "");
    element.classList.toggle("gv-slotted", line.slot.childElementCount > 0);
    if (line.text === text && source.childNodes.length) return;
    line.text = text;
    source.replaceChildren(...kind ? [text] : writeCode(text, pieces));
    element.classList.remove("gv-fresh");
    if (isChange) requestAnimationFrame(() => element.classList.add("gv-fresh"));
  }
  write(given, false);
  return line;
}
function writeCode(text, pieces) {
  const nodes = [];
  let from = 0;
  for (const [start, end] of pieces) {
    const filled = makeElement("span", { className: "gv-filled" }, ...colour(text.slice(start, end)));
    nodes.push(...colour(text.slice(from, start)), filled);
    from = end;
  }
  return [...nodes, ...colour(text.slice(from))];
}
function colour(text) {
  const nodes = [];
  let from = 0;
  for (const found of text.matchAll(TOKENS)) {
    const name = nameToken(found);
    if (!name) continue;
    nodes.push(text.slice(from, found.index), makeElement("span", { className: `gv-${name}` }, found[0]));
    from = found.index + found[0].length;
  }
  return [...nodes, text.slice(from)].filter((node) => node !== "");
}
function nameToken([, string, comment, number, word]) {
  if (string) return "string";
  if (comment) return "comment";
  if (number) return "constant";
  if (VALUES.has(word)) return "constant";
  return PYTHONS.test(word) ? "word" : "";
}

// src/geometry.js
function boxAround(shapes) {
  const points = shapes.flatMap((shape) => shape.localName === "ellipse" ? cornersOfEllipse(shape) : pointsOf(shape));
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (let i = 0; i + 1 < points.length; i += 2) {
    [left, right] = [Math.min(left, points[i]), Math.max(right, points[i])];
    [top, bottom] = [Math.min(top, points[i + 1]), Math.max(bottom, points[i + 1])];
  }
  return left < right ? { x: left, y: top, w: right - left, h: bottom - top } : null;
}
function cornersOfEllipse(ellipse) {
  const [cx, cy, rx, ry] = ["cx", "cy", "rx", "ry"].map((name) => Number(ellipse.getAttribute(name)));
  return [cx - rx, cy - ry, cx + rx, cy + ry];
}
function pointsOf(shape) {
  const text = shape.getAttribute("d") ?? shape.getAttribute("points") ?? "";
  return text.match(/-?[\d.]+/g)?.map(Number) ?? [];
}
function shapesOf(group) {
  return [...group.children].filter((child) => child.localName !== "text" && child.localName !== "g");
}
function growBox(box, by) {
  return { x: box.x - by, y: box.y - by, w: box.w + 2 * by, h: box.h + 2 * by };
}
function holdsBox(outer, inner) {
  const inWidth = inner.x >= outer.x && inner.x + inner.w <= outer.x + outer.w;
  const inHeight = inner.y >= outer.y && inner.y + inner.h <= outer.y + outer.h;
  return inWidth && inHeight;
}
function readingOrder(boxes) {
  const left = [...boxes].sort(([, a], [, b]) => a.y - b.y);
  const order = [];
  while (left.length) {
    const [, first] = left[0];
    const row = left.filter(([, box]) => box.y < first.y + first.h / 2);
    order.push(...row.sort(([, a], [, b]) => a.x - b.x).map(([cardId]) => cardId));
    for (const one of row) left.splice(left.indexOf(one), 1);
  }
  return order;
}
function nearestCard(boxes, from, direction) {
  const start = boxes.get(from);
  if (!start) return null;
  let nearest = null;
  let least = Infinity;
  for (const [cardId, box] of boxes) {
    const down = (box.y + box.h / 2 - start.y - start.h / 2) * direction;
    const aside = Math.abs(box.x + box.w / 2 - start.x - start.w / 2);
    const isBeyond = cardId !== from && down > Math.min(start.h, box.h) / 2;
    if (isBeyond && down + 2 * aside < least) [nearest, least] = [cardId, down + 2 * aside];
  }
  return nearest;
}

// src/drawing.js
var LOOK = ["font-size", "font-family", "font-weight", "fill"];
var Drawing = class {
  /** @type {Map<string, SVGElement>} */
  cards = /* @__PURE__ */ new Map();
  // by id
  /** @type {SVGElement | null} */
  headline = null;
  // above the cards of an outline
  /** @type {SVGElement[]} */
  groups = [];
  // cards, arrows and boxes around cards
  /** The upper end of the picture in the numbers of its shapes. */
  top = 0;
  /** From the numbers of its shapes to those of the page. */
  shift = { x: 0, y: 0 };
  /** @type {Map<string, Box>} */
  #boxes = /* @__PURE__ */ new Map();
  /** @type {string[]} */
  #order = [];
  /**
   * Takes a picture over: its elements stand in `page` afterwards.
   *
   * @param {SVGSVGElement | null} svg nothing is drawn where it is null
   */
  constructor(svg) {
    const [left, top, width, height] = (svg?.getAttribute("viewBox") ?? "0 0 1 1").split(" ").map(Number);
    this.page = makeSvgElement("g", { transform: `translate(${-left} ${-top})` });
    this.size = { width, height, natural: 1, smallestText: 10 };
    this.graph = this.page;
    if (!svg) return;
    this.graph = svg.querySelector(".gv-graph") ?? this.page;
    const shift = /translate\((\S+)[ ,](\S+)\)/.exec(this.graph.getAttribute("transform") ?? "");
    this.shift = { x: (Number(shift?.[1]) || 0) - left, y: (Number(shift?.[2]) || 0) - top };
    this.top = -this.shift.y;
    this.size.natural = Number(svg.getAttribute("width")) / width;
    this.size.smallestText = smallestText(svg);
    this.page.append(...svg.childNodes);
    this.groups = [...this.graph.querySelectorAll(".gv-node, .gv-edge, .gv-cluster")].map(asSvg);
    for (const group of this.groups) {
      const isNode = group.classList.contains("gv-node");
      if (isNode) for (const line of group.querySelectorAll("text")) line.after(" ");
      if (isNode && group.dataset.gv) this.cards.set(group.dataset.gv, group);
      else if (isNode) this.headline = group;
      else group.setAttribute("aria-hidden", "true");
    }
  }
  /**
   * Returns the box around a card.
   *
   * @param {string} cardId
   */
  boxOf(cardId) {
    const known = this.#boxes.get(cardId);
    const card = this.cards.get(cardId);
    const box = known ?? (card && boxAround(shapesOf(card)));
    if (box) this.#boxes.set(cardId, box);
    return box ?? null;
  }
  /**
   * Returns where the picture begins, in the numbers of the page: the box around its headline, which is text and has to
   * be measured, else around its first card.
   *
   * @returns {Box | null}
   */
  firstBox() {
    const [cardId] = this.cards.keys();
    const box = this.headline?.isConnected ? boxOfText(this.headline) : this.boxOf(cardId ?? "");
    return box && { ...box, x: box.x + this.shift.x, y: box.y + this.shift.y };
  }
  /**
   * Returns all that stands on a card, line by line: what a screen reader says of it.
   *
   * @param {string} cardId
   * @param {[string, string][]} [spoken] What stands there in signs, each with its words.
   */
  textOf(cardId, spoken = []) {
    let said = "";
    let look = "";
    for (const line of this.cards.get(cardId)?.querySelectorAll("text") ?? []) {
      const before = look;
      look = LOOK.map((name) => line.getAttribute(name)).join();
      const pause = look === before ? " " : ", ";
      said += (said && pause) + (line.textContent ?? "").trim();
    }
    for (const [signs, words] of spoken) said = said.replace(signs, () => words);
    return said;
  }
  /**
   * Returns the id of the card that a key leads to.
   *
   * @param {string} from
   * @param {string} key
   */
  neighbourOf(from, key) {
    for (const cardId of this.cards.keys()) this.boxOf(cardId);
    if (key === "ArrowUp" || key === "ArrowDown") {
      return nearestCard(this.#boxes, from, key === "ArrowUp" ? -1 : 1) ?? from;
    }
    if (!this.#order.length) this.#order = readingOrder(this.#boxes);
    const order = this.#order;
    if (key === "Home") return order[0];
    if (key === "End") return order[order.length - 1];
    const next = order.indexOf(from) + (key === "ArrowLeft" ? -1 : 1);
    return order[Math.max(0, Math.min(order.length - 1, next))];
  }
};
function asSvg(element) {
  return (
    /** @type {SVGElement} */
    element
  );
}
function boxOfText(group) {
  const { x, y, width, height } = (
    /** @type {SVGGraphicsElement} */
    group.getBBox()
  );
  return { x, y, w: width, h: height };
}
function smallestText(svg) {
  const sizes = [...svg.querySelectorAll("text")].map((text) => parseFloat(text.getAttribute("font-size") ?? ""));
  const smallest = Math.min(...sizes.filter((size) => size > 0));
  return Number.isFinite(smallest) ? smallest : 10;
}
function cardAround(target) {
  return target instanceof Element ? target.closest(".gv-node") : null;
}

// src/strip.js
function makeStrip(prefix) {
  const facts = makeElement("div", { className: "gv-facts", id: `${prefix}-facts`, hidden: true });
  const left = { className: "gv-facts-more", ariaHidden: "true", hidden: true };
  const more = makeElement("span", left, sentence("more_facts"));
  const legend = makeElement("p", { className: "gv-legend" });
  const box = makeElement("div", { className: "gv-strip" }, legend, facts, more);
  let about = null;
  let pinned = null;
  let timer = 0;
  let told = "";
  function write(card) {
    facts.hidden = !card;
    legend.classList.toggle("gv-hidden", Boolean(card));
    facts.classList.toggle("gv-pinned", Boolean(card) && card === pinned);
    facts.replaceChildren(...card ? tellFacts(card) : []);
    more.hidden = !card || card === pinned || facts.scrollHeight <= facts.clientHeight + 1;
  }
  function tellFacts(card) {
    const list = makeElement("dl");
    for (const [label, value] of card.facts ?? []) {
      list.append(makeElement("div", {}, makeElement("dt", {}, label), makeElement("dd", {}, String(value))));
    }
    const title = makeElement("p", { className: "gv-facts-title" }, card.key);
    const opens = card.opens ? sentence("opens", { name: card.opens }) : "";
    return [title, list, makeElement("p", { className: "gv-facts-opens", hidden: !opens }, opens)];
  }
  function describe2(element) {
    about?.removeAttribute("aria-describedby");
    about = element;
    about?.setAttribute("aria-describedby", facts.id);
  }
  function open(element, card) {
    clearTimeout(timer);
    describe2(element);
    write(card);
  }
  function close() {
    clearTimeout(timer);
    describe2(null);
    write(pinned);
  }
  const keep = () => clearTimeout(timer);
  function openSoon(ms, element, card) {
    clearTimeout(timer);
    timer = setTimeout(() => open(element, card), ms);
  }
  function closeSoon() {
    clearTimeout(timer);
    timer = setTimeout(close, 120);
  }
  return {
    element: box,
    open,
    openSoon,
    close,
    closeSoon,
    keep,
    get about() {
      return about;
    },
    /** @param {Card | null} card that is selected */
    pin(card) {
      if (card === pinned) return;
      pinned = card;
      if (!about) write(pinned);
    },
    /**
     * Says what the signs of the picture mean.
     *
     * @param {[kind: string, words: string][]} signs
     * @param {string[]} notes
     */
    tell(signs, notes) {
      const text = JSON.stringify([signs, notes]);
      if (text === told) return;
      told = text;
      const words = signs.map(([kind, word]) => makeElement("span", { className: `gv-sign-${kind}` }, word));
      const hint = makeElement("span", { className: "gv-hint-card" }, sentence("click_a_card"));
      const below = notes.map((note) => makeElement("span", { className: "gv-note" }, note));
      legend.replaceChildren(...words, hint, ...below);
    }
  };
}

// src/glide.js
var GLIDE = { duration: 380, easing: "cubic-bezier(.2,.7,.2,1)" };
var COME = { duration: 350 };
var SPLIT = { duration: 420, easing: "ease-in" };
var DRAW = { duration: 450, easing: "ease-out" };
var LEAST = 0.5;
function remember(drawing, cards, arrows) {
  const places = /* @__PURE__ */ new Map();
  for (const cardId of drawing.cards.keys()) {
    const place = placeOf(drawing, cardId);
    if (place && cards[cardId]) places.set(cards[cardId].key, place);
  }
  return { cards: places, gradients: gradientsOf(drawing, arrows), shift: drawing.shift };
}
function glide(before, drawing, state) {
  if (!before.cards.size || isCalm()) return;
  let isMoved = false;
  for (const [cardId, group] of drawing.cards) {
    const [from, to] = [before.cards.get(state.cards[cardId]?.key ?? ""), placeOf(drawing, cardId)];
    if (!to || !group.animate) continue;
    if (!from) {
      group.animate([{ opacity: 0 }, { opacity: 1 }], COME);
      continue;
    }
    const [dx, dy] = [from.x - to.x, from.y - to.y];
    if (Math.abs(dx) < LEAST && Math.abs(dy) < LEAST) continue;
    isMoved = true;
    group.animate([{ transform: `translate(${dx}px, ${dy}px)` }, { transform: "none" }], GLIDE);
  }
  for (const group of isMoved ? drawing.groups : []) {
    if (!group.classList.contains("gv-node")) group.animate?.([{ opacity: 0 }, { opacity: 1 }], GLIDE);
  }
  if (!isMoved) changeArrows(before, drawing, state.arrows);
}
function changeArrows(before, drawing, arrows) {
  const now = gradientsOf(drawing, arrows);
  for (const [key, group] of now) {
    const line = group.querySelector("path");
    if (before.gradients.has(key) || !line) continue;
    line.setAttribute("pathLength", "1");
    line.animate?.([{ strokeDasharray: "0 1" }, { strokeDasharray: "1 0" }], DRAW);
  }
  for (const [key, group] of before.gradients) if (!now.has(key)) drawBack(group, before, drawing);
  for (const group of drawing.groups) {
    if (!group.classList.contains("gv-cut") || !group.classList.contains("gv-changed")) continue;
    for (const part of group.querySelectorAll("text")) {
      part.style.transformBox = "fill-box";
      part.style.transformOrigin = "center";
      part.animate?.([{ transform: "scale(0)" }, { transform: "scale(1.35)" }, { transform: "none" }], COME);
    }
  }
}
function drawBack(group, before, drawing) {
  const line = group.querySelector("path")?.cloneNode();
  if (!(line instanceof SVGElement) || !line.animate) return;
  line.setAttribute("pathLength", "1");
  const [x, y] = [before.shift.x - drawing.shift.x, before.shift.y - drawing.shift.y];
  const ghost = makeSvgElement("g", { "aria-hidden": "true", transform: `translate(${x} ${y})` });
  ghost.append(line);
  drawing.graph.append(ghost);
  const dashes = [{ strokeDasharray: ".5 0 .5 0" }, { strokeDasharray: "0 1 0 0" }];
  line.animate(dashes, { ...SPLIT, fill: "forwards" }).finished.then(() => ghost.remove(), () => {
  });
}
function gradientsOf(drawing, arrows) {
  const found = /* @__PURE__ */ new Map();
  for (const group of drawing.groups) {
    const key = arrows[group.dataset.gv ?? ""]?.key;
    const { classList } = group;
    if (key && (classList.contains("gv-gradient") || classList.contains("gv-zeros"))) found.set(key, group);
  }
  return found;
}
function placeOf(drawing, cardId) {
  const box = drawing.boxOf(cardId);
  return box && { x: box.x + box.w / 2 + drawing.shift.x, y: box.y + box.h / 2 + drawing.shift.y };
}

// src/handles.js
var RADIUS = 7;
var REACH = 11;
function drawHandles(layer, drawing, cards, outline, has) {
  if (!outline) return layer.replaceChildren();
  const handles = [];
  for (const cardId of drawing.cards.keys()) {
    const [name, box] = [cards[cardId]?.opens, drawing.boxOf(cardId)];
    if (name && box) handles.push(makeHandle("open", name, box, has(name)));
  }
  for (const [name, cardIds] of Object.entries(outline.inside)) {
    const inner = joinBoxes(cardIds.flatMap((cardId) => drawing.boxOf(cardId) ?? []));
    const depth = outline.opened.filter((other) => name.startsWith(`${other}.`)).length;
    const box = frameOf(drawing, cardIds) ?? (inner && { ...inner, w: depth * 2.6 * RADIUS });
    if (box) handles.push(makeHandle("close", name, box, true));
  }
  layer.replaceChildren(...handles);
}
function frameOf(drawing, cardIds) {
  for (const group of drawing.groups) {
    const frame = group.classList.contains("gv-cluster") ? boxAround(shapesOf(group).slice(0, 1)) : null;
    if (!frame) continue;
    const inside = [...drawing.cards.keys()].filter((cardId) => {
      const box = drawing.boxOf(cardId);
      return box && holdsBox(frame, box);
    });
    if (inside.length === cardIds.length && cardIds.every((cardId) => inside.includes(cardId))) return frame;
  }
  return null;
}
function makeHandle(kind, name, box, isThere) {
  const [x, y] = [box.x + box.w, box.y];
  const sign = kind === "open" ? `M${x - 4} ${y}h8M${x} ${y - 4}v8` : `M${x - 4} ${y}h8`;
  const label = sentence(kind, { name });
  const spoken = kind === "open" ? { "aria-hidden": "true" } : { role: "button", tabindex: "0", "aria-label": label, "aria-expanded": "true" };
  const handle = makeSvgElement(
    "g",
    { class: `gv-handle gv-handle-${kind}${isThere ? "" : " gv-handle-away"}`, "data-name": name, ...spoken },
    makeSvgElement("path", { class: "gv-handle-reach", d: circle(x, y, REACH) }),
    makeSvgElement("path", { class: "gv-handle-disc", d: circle(x, y, RADIUS) }),
    makeSvgElement("path", { class: "gv-handle-sign", d: sign })
  );
  const title = makeSvgElement("title");
  title.textContent = label;
  handle.append(title);
  return handle;
}
function handleAround(target) {
  const handle = target instanceof Element ? (
    /** @type {SVGElement | null} */
    target.closest(".gv-handle")
  ) : null;
  if (!handle) return null;
  return { name: handle.dataset.name ?? "", isOpen: handle.classList.contains("gv-handle-close") };
}
function circle(x, y, r) {
  return `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`;
}
function joinBoxes(boxes) {
  if (!boxes.length) return null;
  const [x, y] = [Math.min(...boxes.map((b) => b.x)), Math.min(...boxes.map((b) => b.y))];
  const right = Math.max(...boxes.map((b) => b.x + b.w));
  const bottom = Math.max(...boxes.map((b) => b.y + b.h));
  return { x, y, w: right - x, h: bottom - y };
}

// src/marks.js
var LETTER = 7.8;
function drawMarks(layer, drawing, changes, selected, card) {
  const sharing = card && card.memory?.length > 1 ? card.memory.filter((cardId) => drawing.cards.has(cardId)) : [];
  light(drawing, selected, card, sharing);
  glow(drawing, changes);
  const marks = markMemory(drawing, sharing);
  const box = card && drawing.boxOf(selected);
  if (box) marks.push({ outline: makeOutline("gv-mark-selected", growBox(box, 1)) });
  const outlines = marks.flatMap(({ outline }) => outline ?? []);
  const tags = marks.flatMap(({ tag }) => tag ?? []);
  layer.replaceChildren(...outlines, ...tags);
}
function light(drawing, selected, card, sharing) {
  const lit = new Set(card ? [selected, ...card.lit ?? [], ...sharing] : []);
  for (const group of drawing.groups) {
    const isLit = lit.has(group.dataset.gv ?? "") || lit.has(bareId(group)) || surrounds(group, drawing, sharing);
    group.classList.toggle("gv-lit", Boolean(card) && isLit);
    group.classList.toggle("gv-dim", Boolean(card) && !isLit);
  }
}
function bareId(group) {
  return (group.dataset.gv ?? "").replace(/f$/, "");
}
function surrounds(group, drawing, cardIds) {
  if (!cardIds.length || !group.classList.contains("gv-cluster")) return false;
  const outer = boxAround(shapesOf(group).slice(0, 1));
  return cardIds.some((cardId) => {
    const inner = drawing.boxOf(cardId);
    return outer && inner && holdsBox(outer, inner);
  });
}
function glow(drawing, changes) {
  for (const group of drawing.groups) group.classList.toggle("gv-changed", changes.has(bareId(group)));
}
function markMemory(drawing, cardIds) {
  return cardIds.flatMap((cardId) => {
    const box = drawing.boxOf(cardId);
    if (!box) return [];
    const tag = makeTag("gv-tag-memory", box.x - 6, box.y + box.h - 3, sentence("same_memory"));
    return [{ outline: makeOutline("gv-mark-memory", growBox(box, 4)), tag }];
  });
}
function makeTag(className, x, y, word) {
  const width = word.length * LETTER + 8;
  const ground = makeSvgElement("rect", { x, y, width, height: 16, rx: 3 });
  const text = makeSvgElement("text", { x: x + width / 2, y: y + 12 }, word);
  return makeSvgElement("g", { class: className }, ground, text);
}
function makeOutline(className, box) {
  return makeSvgElement("rect", { class: className, x: box.x, y: box.y, width: box.w, height: box.h, rx: 8 });
}

// src/outline_bar.js
var LISTED = 1e3;
function makeOutlineBar(prefix, actions) {
  const crumbs = makeElement("nav", { className: "gv-crumbs", ariaLabel: sentence("crumbs") });
  const openRed = makeTool(sentence("open_red"), sentence("open_red_title"), actions.openRed);
  const nextRed = makeTool(sentence("next_red"), sentence("next_red_title"), actions.goToNextRed);
  const label = sentence("search");
  const listId = `${prefix}-names`;
  const search = makeElement("input", {
    type: "search",
    className: "gv-search",
    placeholder: label,
    "aria-label": label,
    spellcheck: false
  });
  search.setAttribute("list", listId);
  const list = makeElement("datalist", { id: listId });
  const status = makeElement("p", { className: "gv-outline-said", role: "status" });
  const title = sentence("members_title");
  const offered = { className: "gv-tool gv-members", title, "aria-label": title, hidden: true };
  const members = makeElement("select", offered);
  members.addEventListener("keydown", (event) => event.stopPropagation());
  members.addEventListener("change", () => members.value && actions.openMember(members.value));
  const tools = makeElement("div", { className: "gv-outline-tools" }, openRed, nextRed, search, list, members);
  const bar = { className: "gv-outline-bar", role: "group", ariaLabel: sentence("outline_tools"), hidden: true };
  const element = makeElement("div", bar, crumbs, tools, status);
  let shown = null;
  let listed = "";
  let asked = "";
  let place = 0;
  function listNames(names) {
    const next = names.slice(0, LISTED).join(" ");
    if (next === listed) return;
    listed = next;
    list.replaceChildren(...names.slice(0, LISTED).map((value) => makeElement("option", { value })));
  }
  function find() {
    if (!shown) return;
    const text = search.value.trim();
    const names = findNames(shown, text);
    place = text === asked ? (place + 1) % Math.max(names.length, 1) : 0;
    asked = text;
    if (!text) return say("");
    const name = names[place];
    if (name === void 0) return say(sentence("not_found", { text }));
    const fields = { name, text, total: names.length };
    say(sentence(names.length > 1 ? "found_of" : "found", fields));
    actions.goToName(name);
  }
  search.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key !== "Enter") return;
    event.preventDefault();
    find();
  });
  function say(text) {
    writeText(status, text);
  }
  return {
    element,
    say,
    get said() {
      return status.textContent ?? "";
    },
    /**
     * Offers the modules of a card of several equal ones.
     *
     * @param {string[]} names
     */
    offer(names) {
      const offered2 = [...members.options].slice(1).map((option) => option.value);
      if (offered2.join() === names.join()) return;
      members.hidden = !names.length;
      const first = makeElement("option", { value: "" }, sentence("members", { n: names.length }));
      members.replaceChildren(first, ...names.map((value) => makeElement("option", { value }, value)));
    },
    /** @param {Outline | null} outline null: there is nothing to open */
    show(outline) {
      shown = outline;
      element.hidden = !outline || !Object.keys(outline.names).length;
      if (!outline) return;
      const hadFocus = crumbs.contains(document.activeElement);
      crumbs.replaceChildren(...outline.crumbs.map((trail) => makeTrail(trail, actions.closeInside)));
      if (hadFocus) [...crumbs.querySelectorAll("button")].at(-1)?.focus();
      for (const tool of [openRed, nextRed]) tool.style.visibility = outline.alarms.length ? "" : "hidden";
      openRed.disabled = !outline.red.length;
      listNames(Object.keys(outline.names));
    }
  };
}
function makeTrail(trail, closeInside) {
  const steps = trail.map(([label, name], i) => {
    const title = sentence("crumb_title", { name });
    const button = makeElement("button", { type: "button", className: "gv-crumb", title }, label);
    if (i === trail.length - 1) button.setAttribute("aria-current", "true");
    button.addEventListener("click", () => closeInside(name));
    return makeElement("li", {}, button);
  });
  return makeElement("ol", {}, ...steps);
}
function makeTool(label, title, act) {
  const properties = { type: "button", className: "gv-tool", title, "aria-label": `${label}: ${title}` };
  const button = makeElement("button", properties, label);
  button.addEventListener("click", act);
  return button;
}

// src/toolbar.js
var ICONS2 = {
  in: "M3 8h10M8 3v10",
  out: "M3 8h10",
  fit: "M2 6V2h4M10 2h4v4M14 10v4h-4M6 14H2v-4",
  reset: "M3.5 8.5a4.5 4.5 0 1 0 1.6-3.9M4.6 1.6v3.3h3.3"
};
var ZOOM_IN = 1.25;
var ZOOM_OUT = 0.8;
function makeToolbar(view, last) {
  const fit = makeTool2("fit", sentence("fit"), sentence("fit_title"), sentence("fit_spoken"), () => view.fit());
  const [title, spoken] = [sentence("reset_view_title"), sentence("reset_view_spoken")];
  const reset = makeTool2("reset", sentence("reset"), title, spoken, () => view.reset());
  const [zoomIn, zoomOut] = [sentence("zoom_in"), sentence("zoom_out")];
  const settings = makeElement("span", { className: "gv-settings" });
  const hint = makeElement("span", { className: "gv-hint" }, sentence("hint"));
  const element = makeElement(
    "div",
    { className: "gv-toolbar" },
    settings,
    hint,
    fit,
    reset,
    makeTool2("out", "", zoomOut, zoomOut, () => view.zoom(ZOOM_OUT)),
    makeTool2("in", "", zoomIn, zoomIn, () => view.zoom(ZOOM_IN)),
    last
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
    }
  };
}
function makeTool2(name, label, title, spoken, act) {
  const properties = { type: "button", className: `gv-tool gv-tool-${name}`, title, "aria-label": spoken };
  const button = makeElement("button", properties, makeIcon(ICONS2[name]), label);
  button.addEventListener("click", act);
  return button;
}

// src/picture_keys.js
var FAR = 48;
var PANS = { ArrowLeft: [FAR, 0], ArrowRight: [-FAR, 0], ArrowUp: [0, FAR], ArrowDown: [0, -FAR] };
function listenToKeys(frame, view, actions) {
  const ofPicture = {
    "+": () => view.zoom(ZOOM_IN),
    "=": () => view.zoom(ZOOM_IN),
    "-": () => view.zoom(ZOOM_OUT),
    _: () => view.zoom(ZOOM_OUT),
    0: () => view.reset(),
    f: () => view.fit(),
    Escape: actions.closeOrLetGo
  };
  function actOnCard(key, cardId) {
    if (Object.hasOwn(PANS, key) || key === "Home" || key === "End") actions.goTo(cardId, key);
    else if (key === "Enter") actions.openOrChoose(cardId);
    else if (key === " ") actions.choose(cardId);
    else return false;
    return true;
  }
  function act({ key, target, shiftKey, ctrlKey, metaKey, altKey }) {
    if (ctrlKey || metaKey || altKey) return false;
    const cardId = cardAround(target)?.dataset.gv;
    const handle = handleAround(target);
    const isPan = Object.hasOwn(PANS, key) && (shiftKey || !cardId);
    if (handle && (key === "Enter" || key === " ")) actions.turn(handle);
    else if (isPan) view.pan(...PANS[key]);
    else if (cardId && actOnCard(key, cardId)) return true;
    else if (Object.hasOwn(ofPicture, key)) ofPicture[key]();
    else return false;
    return true;
  }
  frame.addEventListener("keydown", (event) => {
    if (!act(event)) return;
    event.preventDefault();
    event.stopPropagation();
  });
}

// src/picture_pointer.js
var SLACK = 4;
var isNear = (clicked, x, y) => Math.abs(clicked.x - x) < 1 && Math.abs(clicked.y - y) < 1;
function listenToPointer(frame, view, { press, open, turn, cardOf: cardOf2, strip }) {
  let drag = null;
  let isTouch = false;
  frame.addEventListener("pointerdown", (event) => {
    isTouch = event.pointerType === "touch";
    if (event.button === 0) drag = { x: event.clientX, y: event.clientY, isFar: false };
  });
  frame.addEventListener("pointermove", (event) => {
    if (!drag || !(event.buttons & 1)) return;
    const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
    if (!drag.isFar && Math.hypot(dx, dy) < SLACK) return;
    if (!drag.isFar) frame.setPointerCapture(event.pointerId);
    drag = { x: event.clientX, y: event.clientY, isFar: true };
    frame.classList.add("gv-dragging");
    const hidden = frame.dataset.more ?? "";
    if (isTouch) view.pan(/left|right/.test(hidden) ? dx : 0, /top|bottom/.test(hidden) ? dy : 0);
    else view.pan(dx, dy);
  });
  for (const end of ["pointerup", "pointercancel"]) {
    frame.addEventListener(end, () => frame.classList.remove("gv-dragging"));
  }
  let pressed = "";
  frame.addEventListener("click", (event) => {
    if (drag?.isFar || event.detail > 1) return;
    const handle = handleAround(event.target);
    const cardId = cardAround(targetOf(event))?.dataset.gv ?? "";
    pressed = "";
    const isOpened = handle ? turn(handle) : press(cardId);
    if (isOpened) still = { x: event.clientX, y: event.clientY };
    else pressed = cardId;
  });
  frame.addEventListener("dblclick", (event) => {
    const cardId = cardAround(targetOf(event))?.dataset.gv ?? "";
    if (!pressed || cardId !== pressed || !open(cardId)) return;
    still = { x: event.clientX, y: event.clientY };
  });
  let still = null;
  frame.addEventListener("pointerover", ({ target, buttons, clientX, clientY, pointerType }) => {
    if (pointerType === "touch") return;
    if (still && isNear(still, clientX, clientY)) return;
    still = null;
    const element = cardAround(target);
    const card = cardOf2(element?.dataset.gv ?? "");
    if (!element || !card) strip.closeSoon();
    else if (element === strip.about || buttons) strip.keep();
    else strip.openSoon(strip.about ? 40 : 110, element, card);
  });
  frame.addEventListener("pointerleave", ({ pointerType }) => {
    if (pointerType !== "touch") strip.closeSoon();
  });
  frame.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const around = frame.getBoundingClientRect();
    const turned = Math.max(-60, Math.min(60, event.deltaY));
    view.zoom(Math.exp(-turned / 240), event.clientX - around.left, event.clientY - around.top);
  }, { passive: false });
}

// src/safe_svg.js
var DEEPEST = 12;
var KEPT = 64;
var TAGS = /* @__PURE__ */ new Set(["g", "path", "polygon", "polyline", "ellipse", "text", "tspan"]);
var CLASSES = /* @__PURE__ */ new Set(["graph", "cluster", "node", "edge", "gradient", "zeros", "forward", "cut", "raise", "of"]);
var NUMBER2 = /^-?[\d.]+(e-?\d+)?(px|pt)?$/i;
var NUMBERS = /^[-\d.,e\s]*$/i;
var COLOUR = /^(#[\da-f]{3,8}|[a-z]+)$/i;
var PLAIN_WORDS = /^[\w ,.-]*$/;
var ATTRIBUTES = /* @__PURE__ */ new Map([
  ["d", /^[-\d.,e\sMLHVCSQTAZ]*$/i],
  ["points", NUMBERS],
  ["stroke-dasharray", NUMBERS],
  ["fill", COLOUR],
  ["stroke", COLOUR],
  ["transform", /^((translate|scale|rotate)\([-\d.,e ]*\)\s*)*$/],
  ["font-family", PLAIN_WORDS],
  ["font-weight", PLAIN_WORDS],
  ["font-style", PLAIN_WORDS],
  ["text-anchor", PLAIN_WORDS],
  ["text-decoration", PLAIN_WORDS],
  ["baseline-shift", PLAIN_WORDS],
  ["x", NUMBER2],
  ["y", NUMBER2],
  ["cx", NUMBER2],
  ["cy", NUMBER2],
  ["rx", NUMBER2],
  ["ry", NUMBER2],
  ["font-size", NUMBER2],
  ["stroke-width", NUMBER2],
  ["opacity", NUMBER2],
  ["fill-opacity", NUMBER2],
  ["stroke-opacity", NUMBER2]
]);
function cleanSvg(text, prefix) {
  if (/<!(DOCTYPE|ENTITY)/i.test(text)) return null;
  const root = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  if (root.namespaceURI !== SVG_NAMESPACE || root.localName !== "svg") return null;
  if (root.getElementsByTagNameNS("*", "parsererror").length) return null;
  const box = (root.getAttribute("viewBox") ?? "").trim().split(/[\s,]+/).map(Number);
  if (box.length !== 4 || !box.every(Number.isFinite) || !(box[2] > 0 && box[3] > 0)) return null;
  const width = parseFloat(root.getAttribute("width") ?? "") || box[2] * 4 / 3;
  const svg = makeSvgElement("svg", { viewBox: box.join(" "), width, height: width * box[3] / box[2] });
  copyAllowed(root, svg, prefix, 0);
  return svg;
}
function copyAllowed(from, to, prefix, depth) {
  const holdsText = to.localName === "text" || to.localName === "tspan";
  for (const child of from.childNodes) {
    if (child.nodeType === Node.TEXT_NODE && holdsText) to.append(
      /** @type {Text} */
      child.data
    );
    if (child.nodeType !== Node.ELEMENT_NODE) continue;
    const element = (
      /** @type {Element} */
      child
    );
    if (element.namespaceURI !== SVG_NAMESPACE || !TAGS.has(element.localName)) continue;
    const copy2 = (
      /** @type {SVGElement} */
      document.createElementNS(SVG_NAMESPACE, element.localName)
    );
    copyAttributes(element, copy2, prefix);
    if (depth < DEEPEST) copyAllowed(element, copy2, prefix, depth + 1);
    to.append(copy2);
  }
}
function copyAttributes(from, to, prefix) {
  for (const { name, value } of from.attributes) {
    if (ATTRIBUTES.get(name)?.test(value)) to.setAttribute(name, value);
    else if (name === "class") copyClasses(value, to);
    else if (name === "id") copyId(value, to, prefix);
  }
}
function copyClasses(value, to) {
  const known = value.split(/\s+/).filter((name) => CLASSES.has(name));
  if (known.length) to.setAttribute("class", known.map((name) => `gv-${name}`).join(" "));
}
function copyId(value, to, prefix) {
  const bare = /(?:^|-)((?:n|e|clust|graph)\d+f?)$/.exec(value)?.[1];
  if (!bare) return;
  to.dataset.gv = bare;
  to.id = `${prefix}-${bare}`;
}
function makeCleaner(prefix) {
  const kept = /* @__PURE__ */ new Map();
  return function clean(text) {
    const svg = kept.get(text) ?? cleanSvg(text, prefix);
    kept.delete(text);
    kept.set(text, svg);
    const oldest = kept.keys().next().value;
    if (kept.size > KEPT && oldest !== void 0) kept.delete(oldest);
    return svg && /** @type {SVGSVGElement} */
    svg.cloneNode(true);
  };
}

// src/saving.js
var ICON = "M8 2v8M4.5 6.8 8 10.2l3.5-3.4M2.5 11v2.5h11V11";
var FINER = 2;
var LARGEST = 8192;
var PAPER = "#fff";
var SAID = 4e3;
function makeSaveMenu(read) {
  const said = makeElement("span", { className: "gv-saved", role: "status" });
  const label = sentence("save");
  const menu = makeElement("div", { className: "gv-save-menu", role: "group", ariaLabel: label, hidden: true });
  const words = { title: label, ariaLabel: label, ariaExpanded: "false" };
  const properties = { type: "button", className: "gv-tool gv-tool-save", ...words };
  const opener = makeElement("button", properties, makeIcon(ICON));
  const element = makeElement("span", { className: "gv-save" }, opener, menu, said);
  let timer = 0;
  function turn(isOpen) {
    menu.hidden = !isOpen;
    opener.ariaExpanded = String(isOpen);
  }
  function say(text) {
    clearTimeout(timer);
    writeText(said, text);
    timer = setTimeout(() => writeText(said, ""), SAID);
  }
  function add(text, act, done, failed) {
    const button = makeElement("button", { type: "button" }, text);
    button.addEventListener("click", async () => {
      turn(false);
      opener.focus({ preventScroll: true });
      say("");
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
  add(sentence("copy_png"), ({ svg }) => copy("image/png", drawPng(svg)), copied, notCopied);
  const asText = (svg) => new Blob([svg], { type: "text/plain" });
  add(sentence("copy_svg"), ({ svg }) => copy("text/plain", asText(svg)), copied, notCopied);
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
function fileName(settings) {
  const words = settings.match(/[\p{Letter}\p{Number}_]+/gu) ?? [];
  return ["gradviz", ...words].join("-").slice(0, 80);
}
function svgBlob(svg) {
  return new Blob([svg], { type: "image/svg+xml" });
}
function download(blob, name) {
  const href = URL.createObjectURL(blob);
  const link = makeElement("a", { href, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(href), 6e4);
}
async function copy(type, content) {
  await navigator.clipboard.write([new ClipboardItem({ [type]: content })]);
}
async function drawPng(svg) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
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
    canvas.toBlob((blob) => blob ? resolve(blob) : reject(new Error("canvas")), "image/png");
  });
}

// src/view.js
var READABLE = 12;
var MARGIN = 4;
var SEEN = 80;
var NO_PICTURE = { width: 0, height: 0, natural: 1, smallestText: 10 };
function makeView(frame, stage, { onMove, firstBox }) {
  let picture = NO_PICTURE;
  let mode = "start";
  let [scale, x, y] = [1, 0, 0];
  let [width, height] = [0, 0];
  let [highest, tallest] = [0, 0];
  let measured = NO_PICTURE;
  const limitedHeight = (pixels) => `min(var(--gv-height, 528px), ${pixels}px)`;
  function measureFrame() {
    if (frame.clientWidth !== width) tallest = 0;
    width = frame.clientWidth;
    frame.style.height = limitedHeight(1e6);
    highest = frame.clientHeight;
    measured = NO_PICTURE;
  }
  function measurePicture() {
    const needed = Math.ceil(picture.height * picture.natural) + 2 * MARGIN;
    height = Math.min(highest, Math.max(needed, tallest));
    const startHeight = Math.ceil(picture.height * startScale()) + 2 * MARGIN;
    tallest = Math.max(tallest, Math.min(height, startHeight));
    frame.style.height = limitedHeight(tallest);
    height = Math.min(height, tallest);
    measured = picture;
  }
  function wholeScale() {
    return Math.min(picture.natural, (width - 2 * MARGIN) / picture.width, (height - 2 * MARGIN) / picture.height);
  }
  function startScale() {
    const whole = wholeScale();
    const isLegible = whole * picture.smallestText >= READABLE;
    return isLegible ? whole : Math.min(picture.natural, READABLE / picture.smallestText);
  }
  function moveStage() {
    const [w, h] = [picture.width * scale, picture.height * scale];
    x = keepInSight(x, w, width);
    y = keepInSight(y, h, height);
    stage.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)}) scale(${scale.toFixed(4)})`);
    const hidden = { left: x < -1, top: y < -1, right: x + w > width + 1, bottom: y + h > height + 1 };
    const sides = Object.entries(hidden).filter(([, isHidden]) => isHidden);
    frame.dataset.more = sides.map(([side]) => side).join(" ");
    onMove(sides.length > 0);
  }
  function settle(how, to) {
    mode = how;
    scale = to;
    x = Math.max(MARGIN, (width - picture.width * scale) / 2);
    y = MARGIN;
    moveStage();
    const first = how === "start" && frame.dataset.more ? firstBox() : null;
    if (!first) return;
    const [left, top] = [x + first.x * scale, y + first.y * scale];
    moveTo({ left, top, right: left + first.w * scale, bottom: top + first.h * scale });
  }
  function moveTo({ left, top, right, bottom }) {
    const dx = shiftInto(left - MARGIN, right + MARGIN, 0, width);
    const dy = shiftInto(top - MARGIN, bottom + MARGIN, 0, height);
    if (!dx && !dy) return false;
    [x, y] = [x + dx, y + dy];
    moveStage();
    return true;
  }
  function resize() {
    if (picture === NO_PICTURE || !frame.clientWidth) return;
    measureFrame();
    refit();
  }
  function refit() {
    if (!width) return resize();
    if (!isSameSize(measured, picture)) measurePicture();
    if (mode === "start") settle("start", startScale());
    else if (mode === "fit") settle("fit", wholeScale());
    else moveStage();
  }
  return {
    resize,
    refit,
    /**
     * Shows a picture of another size, or the same again; the reader's own place is kept where it makes sense.
     *
     * @param {PictureSize} next
     */
    show(next) {
      if (mode === "panned" && !isSameSize(next, picture)) mode = "start";
      picture = next;
      refit();
    },
    /**
     * Shows a picture in which the reader looks at the same thing: with the same zoom, and wherever she moved it.
     *
     * @param {PictureSize} next
     */
    keep(next) {
      if (mode !== "zoomed") mode = "panned";
      picture = next;
      refit();
    },
    fit() {
      if (picture !== NO_PICTURE) settle("fit", wholeScale());
    },
    reset() {
      if (picture !== NO_PICTURE) settle("start", startScale());
    },
    /**
     * @param {number} dx
     * @param {number} dy
     */
    pan(dx, dy) {
      if (mode !== "zoomed") mode = "panned";
      [x, y] = [x + dx, y + dy];
      moveStage();
    },
    /**
     * Zooms around a point of the frame that stays where it is.
     *
     * @param {number} factor
     */
    zoom(factor, pointX = width / 2, pointY = height / 2) {
      if (picture === NO_PICTURE) return;
      mode = "zoomed";
      const smallest = Math.min(wholeScale(), picture.natural / 4);
      const to = Math.min(Math.max(scale * factor, smallest), picture.natural * 5);
      x = pointX - (pointX - x) * to / scale;
      y = pointY - (pointY - y) * to / scale;
      scale = to;
      moveStage();
    },
    /**
     * Brings a rectangle of the screen into sight; the reader's own place is there from now on.
     *
     * @param {DOMRect} rect
     */
    reveal({ left, top, right, bottom }) {
      const around = frame.getBoundingClientRect();
      const [dx, dy] = [around.left + frame.clientLeft, around.top + frame.clientTop];
      const rect = { left: left - dx, top: top - dy, right: right - dx, bottom: bottom - dy };
      if (moveTo(rect) && mode !== "zoomed") mode = "panned";
    }
  };
}
function isSameSize(one, other) {
  return one.width === other.width && one.height === other.height;
}
function keepInSight(position, size, room) {
  return Math.min(Math.max(position, Math.min(0, SEEN - size)), Math.max(0, room - SEEN));
}
function shiftInto(low, high, least, most) {
  if (low < least) return least - low;
  return high > most ? Math.max(most - high, least - low) : 0;
}

// src/picture.js
var LEGIBLE = 0.9;
var MARGINS = 8;
function mountPicture(el, { prefix, onSelect, onPlace, onRoom, opener }) {
  const frame = makeElement("div", { className: "gv-view", tabIndex: 0, role: "group" });
  const stage = makeSvgElement("g");
  const marks = makeSvgElement("g", { class: "gv-marks", "aria-hidden": "true" });
  const focusRing = makeSvgElement("g", { class: "gv-marks", "aria-hidden": "true" });
  const handles = makeSvgElement("g", { class: "gv-handles" });
  const bar = makeOutlineBar(prefix, {
    closeInside: (name) => outline && showOpened(closedInside(outline.opened, name), name),
    openRed,
    goToNextRed: () => goTo(nextAlarm(outline?.alarms ?? [], [...drawing.cards.keys()], selected)),
    goToName,
    openMember: (name) => showOpened(withOpened(name), name)
  });
  const standIn = makeElement("div", { className: "gv-plain" });
  const canvas = { class: "gv-canvas", width: "100%", height: "100%", focusable: "false" };
  frame.append(makeSvgElement("svg", canvas, stage));
  const view = makeView(frame, stage, { onMove, firstBox: () => drawing.firstBox() });
  const toolbar = makeToolbar(view, makeSaveMenu(() => ({ svg: drawnSvg, name: fileName(settings) })));
  const strip = makeStrip(prefix);
  el.append(bar.element, standIn, frame, strip.element, toolbar.element);
  const clean = makeCleaner(prefix);
  let drawing = new Drawing(null);
  let drawnSvg = "";
  let settings = "";
  let selected = "";
  let cards = {};
  let arrows = {};
  let changes = /* @__PURE__ */ new Map();
  let outline = null;
  let wanted = "";
  let pointed = [];
  let isPlacing = false;
  let last = null;
  let room = 0;
  function onMove(isPartHidden) {
    toolbar.showHint(isPartHidden && drawing.cards.size > 0);
    strip.close();
  }
  function redraw(state, isKept) {
    const svg = state.svg ? clean(state.svg) : null;
    drawnSvg = state.svg;
    drawing = new Drawing(svg);
    frame.hidden = toolbar.element.hidden = strip.element.hidden = !svg;
    standIn.hidden = Boolean(svg);
    standIn.replaceChildren(...svg ? [] : describe(state));
    if (!svg) return stage.replaceChildren();
    focusRing.replaceChildren();
    drawing.graph.append(marks, focusRing, handles);
    const showSize = isKept ? view.keep : view.show;
    showSize(drawing.size);
    stage.replaceChildren(drawing.page);
    if (frame.dataset.more && drawing.headline) view.refit();
  }
  function labelCard(cardId) {
    const change2 = changes.get(cardId);
    const card = drawing.textOf(cardId, cards[cardId]?.spoken) || (cards[cardId]?.key ?? cardId);
    const label = change2 ? sentence("marked_card", { card, mark: sentence(change2) }) : card;
    drawing.cards.get(cardId)?.setAttribute("aria-label", label);
    drawing.cards.get(cardId)?.setAttribute("aria-pressed", String(cardId === selected));
    if (cards[cardId]?.opens) drawing.cards.get(cardId)?.setAttribute("aria-expanded", "false");
  }
  function redrawMarks() {
    const card = selected ? cards[selected] : void 0;
    bar.offer(outline ? card?.members ?? [] : []);
    strip.pin(card ?? null);
    drawMarks(marks, drawing, changes, selected, card);
    frame.classList.toggle("gv-selecting", Boolean(card));
  }
  function focusedKey() {
    const focused = document.activeElement;
    if (!drawing.cards.size || !(focused instanceof SVGElement) || !frame.contains(focused)) return void 0;
    return cards[focused.dataset.gv ?? ""]?.key;
  }
  function showPicture(state, key, moved) {
    const before = moved && boundsOf(moved.before);
    const isInside2 = frame !== document.activeElement && frame.contains(document.activeElement);
    redraw(state, Boolean(moved));
    frame.setAttribute("aria-label", state.alt || sentence("picture"));
    for (const group of drawing.cards.values()) {
      group.setAttribute("role", "button");
      group.setAttribute("tabindex", "-1");
    }
    const cardIds = [...drawing.cards.keys()];
    const same = key && cardIds.find((cardId) => state.cards[cardId]?.key === key);
    putInTabOrder(same || moved?.after[0] || cardIds[0]);
    const after = moved && boundsOf(moved.after);
    if (before && after) view.pan(before.left - after.left, before.top - after.top);
    const first = moved && drawing.cards.get(moved.after[0]);
    if (first && frame.dataset.more) view.reveal(first.getBoundingClientRect());
    isPlacing = Boolean(moved);
    if (key || moved && isInside2) tabStop().focus({ preventScroll: true });
    isPlacing = false;
  }
  function boundsOf(cardIds) {
    const boxes = cardIds.flatMap((cardId) => drawing.cards.get(cardId)?.getBoundingClientRect() ?? []);
    if (!boxes.length) return null;
    return { left: Math.min(...boxes.map((b) => b.left)), top: Math.min(...boxes.map((b) => b.top)) };
  }
  function show(given, nextChanges) {
    last = given;
    room ||= frame.clientWidth;
    const state = fitted(given, room);
    strip.close();
    settings = state.settings ?? "";
    toolbar.showSettings(settings);
    const key = focusedKey();
    const moved = findMoved(outline, state.outline);
    const isOther = state.svg !== drawnSvg || !state.svg;
    const before = isOther && !moved && state.svg && nextChanges.size ? remember(drawing, cards, arrows) : null;
    [cards, arrows, changes, outline] = [state.cards, state.arrows, nextChanges, state.outline ?? null];
    if (isOther) showPicture(state, key, moved);
    strip.tell(state.svg ? state.legend ?? [] : [], state.notes ?? []);
    for (const cardId of drawing.cards.keys()) labelCard(cardId);
    if (!drawing.cards.has(selected)) selected = "";
    bar.show(drawing.cards.size ? outline : null);
    drawHandles(handles, drawing, cards, outline, (name) => opener.has(withOpened(name)));
    pointed = state.points?.ids ?? [];
    for (const group of drawing.groups) group.classList.toggle("gv-pointed", pointed.includes(bareId(group)));
    redrawMarks();
    if (before) glide(before, drawing, state);
    if (wanted) queueMicrotask(arrive);
  }
  function select(cardId, isRevealed = true) {
    const next = drawing.cards.has(cardId) ? cardId : "";
    if (next === selected) return;
    const before = selected;
    selected = next;
    for (const one of [before, next]) labelCard(one);
    if (next) putInTabOrder(next);
    redrawMarks();
    const card = drawing.cards.get(next);
    if (card && isRevealed && frame.dataset.more) view.reveal(card.getBoundingClientRect());
  }
  function choose(cardId) {
    const next = cardId === selected ? "" : cardId;
    if (next === selected) return;
    select(next, false);
    onSelect(selected);
  }
  function withOpened(name) {
    return [...(outline?.opened ?? []).filter((one) => one !== name), name];
  }
  function showOpened(opened, name, next = "") {
    wanted = next;
    const isThere = opener.has(opened);
    bar.say(isThere ? "" : sentence("not_on_page", { name }));
    strip.close();
    if (isThere) opener.open(opened);
    return isThere;
  }
  function open(cardId) {
    const name = cards[cardId]?.opens;
    if (name) showOpened(withOpened(name), name);
    return Boolean(name);
  }
  function close(name) {
    showOpened(closed(outline?.opened ?? [], name), name);
  }
  function openRed() {
    if (!outline) return;
    const red = outline.red;
    const all = red.reduce((opened, name) => opened.includes(name) ? opened : [...opened, name], outline.opened);
    showOpened(opener.has(all) ? all : withOpened(red[0]), red[0]);
  }
  function turn({ name, isOpen }) {
    showOpened(isOpen ? closed(outline?.opened ?? [], name) : withOpened(name), name);
    return true;
  }
  function goTo(cardId) {
    if (!drawing.cards.has(cardId)) return;
    if (cardId !== selected) {
      select(cardId, false);
      onSelect(selected);
    }
    const card = drawing.cards.get(cardId);
    if (card && frame.dataset.more) view.reveal(card.getBoundingClientRect());
  }
  function goToPlace() {
    const [first] = pointed;
    if (pointed.length === 1 && cards[first]?.opens && opener.has(withOpened(cards[first].opens))) return open(first);
    if (drawing.cards.has(first)) return goTo(first);
    const group = drawing.groups.find((one) => bareId(one) === first);
    if (group && frame.dataset.more) view.reveal(group.getBoundingClientRect());
  }
  frame.addEventListener("pointerover", ({ target }) => {
    const isOnPlace = target instanceof Element && target.closest(".gv-pointed") !== null;
    onPlace(isOnPlace || pointed.includes(selected));
  });
  frame.addEventListener("pointerleave", () => onPlace(pointed.includes(selected)));
  function goToName(name) {
    const [, around, leaf] = outline?.names[name] ?? ["", ""];
    const said = bar.said;
    if (leaf && opener.has(withOpened(name)) && showOpened(withOpened(name), name, name)) return bar.say(said);
    if (around && showOpened(withOpened(around), around, name)) return bar.say(said);
    wanted = name;
    arrive();
  }
  function arrive() {
    const cardId = outline && wanted ? cardOf(outline, wanted) : "";
    if (wanted && outline && !cardId) bar.say(sentence("found_nowhere", { name: wanted }));
    wanted = "";
    goTo(cardId);
  }
  function tabStop() {
    return frame.querySelector('[tabindex="0"]') ?? frame;
  }
  function putInTabOrder(cardId) {
    frame.querySelector('.gv-node[tabindex="0"]')?.setAttribute("tabindex", "-1");
    drawing.cards.get(cardId ?? "")?.setAttribute("tabindex", "0");
  }
  function focusCard(cardId) {
    if (!drawing.cards.has(cardId)) return;
    putInTabOrder(cardId);
    drawing.cards.get(cardId)?.focus({ preventScroll: true });
  }
  function closeOrLetGo() {
    if (strip.about) strip.close();
    else if (selected) choose("");
    else if (outline?.opened.length) close(outline.opened[outline.opened.length - 1]);
  }
  function press(cardId) {
    if (cardId && cardId === selected && open(cardId)) return true;
    choose(cardId);
    return false;
  }
  function openOrChoose(cardId) {
    if (!open(cardId)) choose(cardId);
  }
  frame.addEventListener("focusin", ({ target }) => {
    if (!(target instanceof SVGElement) || !target.matches(":focus-visible")) return;
    const cardId = target.dataset.gv ?? "";
    const [card, box] = [cards[cardId], drawing.boxOf(cardId)];
    if (!card || !box) return;
    if (!isPlacing) view.reveal(target.getBoundingClientRect());
    focusRing.replaceChildren(makeOutline("gv-mark-focus", growBox(box, 6)));
    if (!isPlacing) strip.open(target, card);
  });
  frame.addEventListener("focusout", () => {
    focusRing.replaceChildren();
    strip.close();
  });
  listenToKeys(frame, view, {
    choose,
    openOrChoose,
    turn,
    closeOrLetGo,
    goTo: (from, key) => focusCard(drawing.neighbourOf(from, key))
  });
  listenToPointer(frame, view, { press, open, turn, strip, cardOf: (cardId) => cards[cardId] });
  const observer = new ResizeObserver(() => {
    view.resize();
    const before = room;
    room = frame.clientWidth;
    if (!room || room === before) return;
    onRoom(room);
    if (last && fitted(last, room).svg !== drawnSvg) show(last, /* @__PURE__ */ new Map());
  });
  observer.observe(frame);
  return {
    show,
    select,
    goToPlace,
    goToName,
    /** @param {boolean} isOn */
    lightPlace: (isOn) => {
      frame.classList.toggle("gv-pointing", isOn);
    },
    destroy() {
      observer.disconnect();
      strip.close();
    }
  };
}
function fitted(state, room) {
  const width = Number(/^[^>]* width="([\d.]+)"/.exec(state.svg)?.[1]);
  return state.narrow && room && width * LEGIBLE > room - MARGINS ? { ...state, svg: state.narrow } : state;
}
function describe(state) {
  const parts = [];
  const problem = state.problem || (state.svg ? sentence("unreadable") : "");
  if (problem) parts.push(makeElement("p", { className: "gv-problem" }, problem));
  if (state.text) parts.push(makeElement("pre", { className: "gv-twin" }, state.text));
  return parts;
}

// src/table.js
function makeTable(el, choose, goToName) {
  let rows = [];
  let before = /* @__PURE__ */ new Map();
  let selected = "";
  let isWritten = true;
  const summary = makeElement("summary");
  const heads = makeElement("tr", {}, ...COLUMNS.map(makeHeading));
  const head = makeElement("thead", {}, heads);
  let columns = COLUMNS;
  const body = makeElement("tbody");
  const table2 = makeElement("table", {}, head, body);
  const looks = { className: "gv-scroll", role: "group", ariaLabel: sentence("tensors") };
  const scroll = makeElement("div", { ...looks, tabIndex: 0 }, table2);
  el.append(summary, scroll);
  function writeRows() {
    if (isWritten || !el.open) return;
    isWritten = true;
    while (body.rows.length > rows.length) body.deleteRow(-1);
    rows.forEach(writeRow);
    markSelected();
  }
  function writeRow(row, i) {
    const line = body.rows[i] ?? body.insertRow();
    line.dataset.card = row.card ?? "";
    line.dataset.name = row.parameter ?? "";
    if (row.level === void 0) delete line.dataset.level;
    else line.dataset.level = String(row.level);
    while (line.cells.length > row.cells.length) line.deleteCell(-1);
    row.cells.forEach((cell, column) => {
      const isButton = column === 0 && Boolean(row.card || row.parameter);
      writeCell(line.cells[column] ?? line.insertCell(), cellText(cell), before.get(`${row.key}/${column}`), isButton);
    });
  }
  function markSelected() {
    if (!el.open) return;
    for (const line of body.rows) {
      const isSelected = selected !== "" && line.dataset.card === selected;
      line.classList.toggle("gv-selected", isSelected);
      markCurrent(line, isSelected ? "true" : "");
    }
  }
  body.addEventListener("click", (event) => {
    const line = targetOf(event).closest("tr");
    if (!line || String(getSelection())) return;
    if (line.dataset.name) goToName(line.dataset.name);
    else if (line.dataset.card) choose(line.dataset.card);
  });
  el.addEventListener("toggle", () => {
    writeRows();
    markSelected();
  });
  return {
    /**
     * @param {Row[]} nextRows
     * @param {Map<string, string>} changedCells
     * @param {string[]} [nextColumns]
     */
    show(nextRows, changedCells, nextColumns = COLUMNS) {
      [rows, before, isWritten] = [nextRows, changedCells, false];
      el.hidden = !rows.length;
      if (columns.join() !== nextColumns.join()) heads.replaceChildren(...nextColumns.map(makeHeading));
      columns = nextColumns;
      scroll.ariaLabel = sentence(columns === COLUMNS ? "tensors" : "parameters");
      if (columns !== COLUMNS) {
        writeText(summary, sentence("parameters"));
        writeRows();
        return;
      }
      const name = changedCells.size ? "tensors_folded_changed" : "tensors_folded";
      writeText(summary, sentence(name, { n: rows.length, changed: changedCells.size }));
      writeRows();
    },
    /** @param {string} cardId */
    select(cardId) {
      selected = cardId;
      markSelected();
    }
  };
}
function makeHeading(column) {
  return makeElement("th", { scope: "col" }, nameColumn(column));
}
function nameColumn(column) {
  switch (column) {
    case "name":
      return sentence("column_name");
    case "value":
      return sentence("column_value");
    case "version":
      return sentence("column_version");
    case "storage":
      return sentence("column_storage");
    default:
      return column;
  }
}
function writeCell(cell, text, before, isButton) {
  const shown = JSON.stringify([text, before, isButton]);
  if (cell.dataset.shown === shown) return;
  cell.dataset.shown = shown;
  cell.classList.toggle("gv-changed", before !== void 0);
  cell.title = before ? sentence("cell_was", { before }) : "";
  cell.replaceChildren(isButton ? makeElement("button", { type: "button", className: "gv-name" }, text) : text);
  if (before) cell.append(makeElement("span", { className: "gv-sign" }, sentence("cell_changed")));
  else if (before === "") cell.append(makeElement("span", { className: "gv-sign gv-word" }, sentence("new")));
}

// src/panel.js
var NO_STATE = {
  svg: "",
  problem: "",
  alt: "",
  text: "",
  sentence: "",
  error: "",
  printed: "",
  cards: {},
  arrows: {},
  table: [],
  lines: []
};
var NO_OPENER = { open() {
}, has: () => false };
var NO_CHOOSER = { choose() {
}, reset() {
} };
var [NARROW2, WIDE] = [430, 700];
var SAID_LETTER = 8;
var CHANGE_LETTER = 8.6;
var BOX = 30;
var SENTENCE_END = /(?<=[a-z\d)\]]\.) (?=[A-Za-z✂])/;
function mountPanel(el, given = {}) {
  const { chooser = NO_CHOOSER, opener = NO_OPENER, prefix = makePrefix() } = given;
  const { onSelect = () => {
  }, onRoom = () => {
  } } = given;
  el.classList.add("gv-root");
  el.setAttribute("data-lm-suppress-shortcuts", "true");
  const live = { "aria-live": "polite", "aria-atomic": "true" };
  const said = makeElement("p", { className: "gv-said" });
  const changed = makeElement("p", { className: "gv-changes" });
  const errorText = makeElement("button", { type: "button", ariaExpanded: "false" });
  const error = makeElement("p", { className: "gv-error", hidden: true }, errorText);
  errorText.addEventListener("click", () => {
    errorText.ariaExpanded = String(errorText.ariaExpanded === "false");
  });
  const notice = makeElement("p", { className: "gv-notice", hidden: true });
  const place = makePlace(() => picture.goToPlace(), (isOn) => picture.lightPlace(isOn));
  const spoken = [said, changed, error, notice, place.element];
  const areas = {
    code: makeElement("div", { className: "gv-area gv-code", ariaLabel: sentence("code"), hidden: true }),
    sentence: makeElement("div", { className: "gv-area gv-sentence", ...live }, ...spoken),
    picture: makeElement("div", { className: "gv-area gv-picture" }),
    printed: makeElement("pre", { className: "gv-area gv-printed", ariaLabel: sentence("printed"), hidden: true }),
    table: makeElement("details", { className: "gv-area gv-table", hidden: true })
  };
  areas.code.role = "group";
  el.append(...Object.values(areas));
  let shown = null;
  let selected = "";
  let listed = "";
  let task = NOTHING;
  let lastChanges = null;
  let known = [];
  let width = 0;
  let [roomWidth, room] = [0, 0];
  let isBeginning = true;
  let isOld = false;
  const code = makeCode(areas.code, prefix, chooser);
  const picture = mountPicture(areas.picture, { prefix, onSelect: choose, onPlace: place.light, onRoom, opener });
  const table2 = makeTable(areas.table, choose, (name) => picture.goToName(name));
  function choose(cardId) {
    if (cardId === selected) return;
    select(cardId);
    onSelect(selected);
  }
  function select(cardId) {
    selected = shown && Object.hasOwn(shown.cards, cardId) ? cardId : "";
    picture.select(selected);
    table2.select(selected);
    place.light(Boolean(selected) && Boolean(shown?.points?.ids.includes(selected)));
    if (isOld) code.mark([], null, false);
    else code.mark(shown?.lines ?? [], shown?.cards[selected]?.line ?? null, Boolean(shown?.error));
  }
  function setOld(isNowOld) {
    if (isNowOld === isOld) return;
    if (isNowOld) noteRoom();
    isOld = isNowOld;
    said.hidden = changed.hidden = isOld;
    error.hidden = isOld || !shown?.error;
    notice.hidden = !isOld;
    for (const area of [areas.printed, areas.picture, areas.table]) area.inert = isOld;
    el.classList.toggle("gv-old", isOld);
    el.setAttribute("aria-busy", String(isOld));
    select(selected);
  }
  function setNotice(given2) {
    setOld(given2 !== null);
    const detail = given2?.detail ? `
${given2.detail}` : "";
    const title = given2?.title ?? "";
    if (notice.textContent !== title + detail) notice.replaceChildren(makeElement("strong", {}, title), detail);
  }
  function writeSentence(changes) {
    lastChanges = changes;
    const state = shown ?? NO_STATE;
    width ||= el.clientWidth;
    const isShortened = Boolean(state.code) && width > 0;
    writeTold(said, toldOf(state, isShortened ? lettersFor(width) : Infinity));
    said.title = said.textContent === state.sentence ? "" : state.sentence;
    const most = isShortened ? (width - BOX) / CHANGE_LETTER * (width < NARROW2 ? 2 : 1) : Infinity;
    changed.classList.toggle("gv-task", isBeginning);
    writeTold(changed, state.error ? NOTHING : isBeginning ? task : sayChanges(changes, most));
    areas.sentence.classList.toggle("gv-failed", Boolean(state.error));
    error.hidden = !state.error || isOld;
    writeText(errorText, state.error);
    keepRoom();
  }
  function keepRoom() {
    if (width === roomWidth) return;
    [roomWidth, room] = [width, width ? tallest() : 0];
    areas.sentence.style.minHeight = "";
    noteRoom();
  }
  function noteRoom() {
    if (errorText.ariaExpanded === "true" || isOld) return;
    room = Math.max(room, areas.sentence.offsetHeight);
    const minHeight = room ? `${room}px` : "";
    if (areas.sentence.style.minHeight !== minHeight) areas.sentence.style.minHeight = minHeight;
  }
  function tallest() {
    if (!known.length) return 0;
    const pairs = new Map(known.map((state) => [state.sentence + state.error, state]));
    const boxes = [...pairs.values()].map((state) => {
      const text = tellPieces(toldOf(state, state.code ? lettersFor(width) : Infinity));
      const last = makeElement("p", { className: state.error ? "gv-error" : "gv-changes" });
      const lines = width < NARROW2 ? ["x", makeElement("br"), "x"] : ["x"];
      last.append(...state.error ? [makeElement("button", { ariaExpanded: "false" }, "x")] : lines);
      const first = makeElement("p", { className: "gv-said" }, ...text);
      return makeElement("div", { className: "gv-area gv-sentence" }, first, last);
    });
    const all = makeElement("div", { className: "gv-probe", ariaHidden: "true", inert: true }, ...boxes);
    all.style.width = `${areas.sentence.offsetWidth || width}px`;
    el.append(all);
    const height = Math.max(...boxes.map((box) => box.offsetHeight));
    all.remove();
    return height;
  }
  const observer = new ResizeObserver(() => {
    width = el.clientWidth;
    if (width !== roomWidth && lastChanges) writeSentence(lastChanges);
    else noteRoom();
  });
  observer.observe(el);
  observer.observe(areas.sentence);
  function show(given2, previous = shown) {
    const state = { ...NO_STATE, ...given2 };
    if (shown && previous === shown && isSame(shown, state)) return;
    if (shown && previous === shown && isDrawnAgain(shown, state)) {
      shown = state;
      return picture.show(state, /* @__PURE__ */ new Map());
    }
    isBeginning = Boolean(state.afresh) || !previous;
    const changes = findChanges(isBeginning ? null : { ...NO_STATE, ...previous }, state);
    const kept = sameCard(shown, selected, state);
    shown = state;
    writeSentence(changes);
    code.fill(state.code ?? null);
    areas.printed.hidden = !state.printed;
    writeText(areas.printed, state.printed);
    picture.show(state, changes.marks);
    place.show(state.points ?? null);
    table2.show(state.table, changes.cells, state.columns);
    const isMoved = kept !== selected;
    select(kept);
    if (isMoved) onSelect(selected);
  }
  return {
    show,
    select,
    setNotice,
    get selected() {
      return selected;
    },
    get hasPicture() {
      return Boolean(shown?.svg);
    },
    /**
     * @param {Code | null} [given]
     * @param {Control[]} [controls] which stand in the code
     */
    setCode(given2, controls = []) {
      const text = JSON.stringify([given2 ?? {}, controls]);
      if (text === listed) return;
      listed = text;
      task = given2?.task ?? NOTHING;
      code.set(given2 ?? {}, controls, shown?.code ?? null);
      select(selected);
    },
    /** @param {State[]} states that may be shown: there is room for each from the beginning */
    expect(states) {
      known = states;
    },
    /** @param {Record<string, number | null>} values which of its options each control shows */
    setChoices(values) {
      code.choose(values);
    },
    destroy() {
      observer.disconnect();
      code.destroy();
      picture.destroy();
      el.replaceChildren();
      el.classList.remove("gv-root", "gv-old");
      el.removeAttribute("aria-busy");
    }
  };
}
function lettersFor(width) {
  const row = Math.floor((width - BOX) / SAID_LETTER);
  if (width < NARROW2) return Math.min(122, 3 * row);
  return width < WIDE ? Math.min(150, 3 * row) : Math.min(190, 2 * row);
}
function toldOf({ sentence: whole, sentence_code = [] }, most) {
  const text = most === Infinity ? whole : shortened(whole, most);
  return { text, code: sentence_code.filter(([, end]) => end <= text.length) };
}
function shortened(text, most) {
  const [first, ...rest] = text.split(SENTENCE_END);
  let kept = first;
  for (const one of rest) if (`${kept} ${one}`.length <= most) kept += ` ${one}`;
  else break;
  return kept;
}
function makePlace(go, light2) {
  const button = makeElement("button", { type: "button", className: "gv-name" });
  const text = makeElement("span");
  const element = makeElement("p", { className: "gv-place", hidden: true }, button, " ", text);
  button.addEventListener("click", go);
  for (
    const [event, isOn] of
    /** @type {[string, boolean][]} */
    [
      ["pointerenter", true],
      ["pointerleave", false],
      ["focusin", true],
      ["focusout", false]
    ]
  ) element.addEventListener(event, () => light2(isOn));
  return {
    element,
    /** @param {import("./types.d.ts").Points | null} points */
    show(points) {
      element.hidden = !points?.text;
      writeText(button, points?.title ?? "");
      writeText(text, points?.text ?? "");
    },
    /** @param {boolean} isOn */
    light: (isOn) => {
      element.classList.toggle("gv-lit", isOn);
    }
  };
}
function isSame(one, other) {
  return one.svg === other.svg && one.narrow === other.narrow && JSON.stringify(one) === JSON.stringify(other);
}
function isDrawnAgain(before, after) {
  const isOther = before.svg !== after.svg || before.narrow !== after.narrow;
  if (!before.svg || !after.svg || !isOther || after.afresh) return false;
  return isSame({ ...before, svg: after.svg, narrow: after.narrow, afresh: void 0 }, after);
}
function sameCard(before, cardId, after) {
  const key = before?.cards[cardId]?.key;
  if (key === void 0) return "";
  return Object.keys(after.cards).find((one) => after.cards[one].key === key) ?? "";
}

// src/book.js
var RESTED = 150;
function mountBook(el, book, { onSelect, onState, onRoom, start, hasAddresses = false } = {}) {
  const prefix = makePrefix();
  const first = stateIndex(book, book.controls.map((control) => control.start ?? 0));
  let index = hasAddresses ? readAddress(book, location.hash, start ?? first) : start ?? first;
  let shown = -1;
  let addressTimer = 0;
  let address = location.hash;
  let scale = 1;
  const root = makeElement("div", { className: "gv-book" });
  const room = makeElement("div", { className: "gv-room" }, root);
  const isStep = (control) => control.kind === "steps";
  const rows = book.controls.map((control, i) => isStep(control) ? makeControlRow(control, `${prefix}-step`, (choice) => choose(i, choice)) : null);
  const player = rows.find((row) => row) ?? null;
  el.append(room);
  const opener = {
    /** @param {string[]} opened */
    open: (opened) => show(openingIndex(book, opened)),
    /** @param {string[]} opened */
    has: (opened) => openingIndex(book, opened) >= 0
  };
  const chooser = {
    /**
     * @param {string} name
     * @param {number} choice
     */
    choose: (name, choice) => choose(book.controls.findIndex((control) => control.name === name), choice),
    reset: () => go(first)
  };
  const panel = mountPanel(root, { onSelect, onRoom, chooser, opener, prefix });
  const group = { className: "gv-controls", role: "group", ariaLabel: sentence("controls") };
  if (player) root.prepend(makeElement("div", group, player.row));
  panel.expect(book.states);
  panel.setCode(book.code ?? {}, book.controls.filter((control) => !isStep(control)));
  function choose(control, choice) {
    const choices = choicesOf(book, index);
    choices[control] = choice;
    show(stateIndex(book, choices));
  }
  function show(next) {
    index = next;
    const choices = book.openings ? [] : choicesOf(book, index);
    choices.forEach((choice, i) => rows[i]?.set(choice));
    panel.setChoices(Object.fromEntries(choices.map((choice, i) => [book.controls[i].name, choice])));
    if (shown === index) return;
    panel.show(scalePicture(book.states[index], scale), book.states[shown]);
    const isFirst = shown < 0;
    shown = index;
    if (isFirst) return;
    onState?.(index);
    if (hasAddresses) writeAddressSoon();
  }
  function pause() {
    player?.pause?.();
  }
  function go(next) {
    pause();
    show(Math.max(0, Math.min(book.states.length - 1, next)));
  }
  function writeAddressSoon() {
    clearTimeout(addressTimer);
    addressTimer = setTimeout(() => {
      if (location.hash !== address) return;
      try {
        history.replaceState(null, "", writeAddress(book, index));
        address = location.hash;
      } catch {
      }
    }, RESTED);
  }
  function visit() {
    clearTimeout(addressTimer);
    address = location.hash;
    go(readAddress(book, address, index));
  }
  function present(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || event.defaultPrevented) return;
    const turn = { PageUp: -1, PageDown: 1 }[event.key];
    if (turn && book.states.length > 1 && !book.openings && !needsPageKeys(targetOf(event))) {
      event.preventDefault();
      turnPage(turn);
    } else if (event.target === document.body) player?.press?.(event);
  }
  function turnPage(by) {
    const count = book.states.length;
    go(player ? index + by : (index + by + count) % count);
  }
  show(index);
  if (hasAddresses) {
    addEventListener("hashchange", visit);
    document.addEventListener("keydown", present);
  }
  return {
    go,
    get index() {
      return index;
    },
    /**
     * Lets pictures get so many times as large as they were drawn.
     *
     * @param {number} factor
     */
    enlarge(factor) {
      scale = factor;
      panel.show(scalePicture(book.states[index], scale), null);
    },
    select: panel.select,
    destroy() {
      pause();
      clearTimeout(addressTimer);
      removeEventListener("hashchange", visit);
      document.removeEventListener("keydown", present);
      panel.destroy();
      room.remove();
    }
  };
}
function needsPageKeys(element) {
  return Boolean(element.closest?.("select, textarea, input:not([type=checkbox], [type=radio], .gv-range)"));
}
function scalePicture(state, scale) {
  if (scale === 1) return state;
  const larger = (_, name, size) => ` ${name}="${Number(size) * scale}"`;
  const svg = state.svg.replace(/^[^>]*>/, (tag) => tag.replace(/ (width|height)="([\d.]+)"/g, larger));
  return { ...state, svg, narrow: "" };
}

// src/control_help.js
function helpControls(el, press) {
  let frame = requestAnimationFrame(begin);
  let controls = null;
  const observer = new MutationObserver(() => controls && labelControls(controls));
  function begin() {
    frame = el.isConnected ? 0 : requestAnimationFrame(begin);
    const panel = el.closest(".gradviz-panel");
    controls = panel?.querySelector(".gradviz-controls") ?? null;
    if (!panel || !controls) return;
    if (panel.classList.contains("gradviz-question")) panel.tabIndex = -1;
    listenToKeys2(panel, controls);
    controls.addEventListener("click", reportClick);
    observer.observe(controls, { subtree: true, childList: true, attributeFilter: ["class"] });
    labelControls(controls);
  }
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
function listenToKeys2(panel, controls) {
  panel.onkeydown = (event) => answer(event, panel, controls);
  controls.onkeydown = (event) => {
    answer(event, panel, controls);
    if (!isForNotebook(event)) event.stopPropagation();
  };
}
function answer(event, panel, controls) {
  const isPresented = panel.classList.contains("gradviz-present");
  if (!isPresented || event.ctrlKey || event.metaKey || event.altKey) return;
  const key = event.key.toLowerCase();
  const answers = [...controls.querySelectorAll("button")];
  const reveal = answers.pop();
  const button = key === "r" ? reveal : answers[["a", "b", "c", "d"].indexOf(key)];
  if (!button) return;
  button.click();
  event.stopPropagation();
}
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
function labelOf(control) {
  return control.querySelector(".widget-label")?.textContent ?? "";
}

// src/kernel.js
var PATIENCE = 300;
var ASKED_AGAIN = [1e3, 2e3, 4e3, 8e3, 15e3];
var DYING = ["restarting", "autorestarting", "dead", "terminating"];
function watchKernel(model, showNotice) {
  const manager = model.widget_manager;
  const viewId = makePrefix();
  const controls = makeControls(model, { onChange: check, onClick: press });
  let home = null;
  let isUnknown = false;
  let isEnded = false;
  let isClicked = false;
  let isWaiting = false;
  let isSaid = false;
  let waitTimer = 0;
  const question = { asked: 0, answered: 0, tries: 0, timer: 0 };
  function currentKernel() {
    return manager && "kernel" in manager ? manager.kernel : void 0;
  }
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
    if (kernel === void 0) return false;
    return !kernel || kernel.isDisposed || kernel.id !== home?.id || DYING.includes(kernel.status);
  }
  function noticeKind() {
    if (isGone()) return "gone";
    const connection = currentKernel()?.connectionStatus ?? "connected";
    return connection === "connected" ? "waiting" : "unconnected";
  }
  function check() {
    if (isEnded) return;
    if (!isClicked && !controls.isAnyMoved()) return rest();
    if (isGone()) isSaid = true;
    if (isSaid) return showNotice(noticeKind());
    if (!isWaiting) waitTimer = setTimeout(loseLimit, PATIENCE);
    isWaiting = true;
  }
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
  function ask() {
    clearTimeout(question.timer);
    if (isEnded || isGone()) return check();
    const isLost = question.tries > 1 && question.answered === question.asked;
    question.asked += 1;
    if (!send(question.asked, isLost)) return lose();
    const pause = ASKED_AGAIN[Math.min(question.tries, ASKED_AGAIN.length - 1)];
    question.tries += 1;
    question.timer = setTimeout(() => {
      if (isClicked || controls.isAnyMoved()) ask();
    }, pause);
  }
  function send(number, again) {
    function status({ content }) {
      if (content.execution_state !== "idle") return;
      setTimeout(() => question.answered < number && lose(), PATIENCE);
    }
    try {
      model.send({ ask: [viewId, number], again, values: model.get("values") ?? {} }, { iopub: { status } });
      return true;
    } catch {
      return false;
    }
  }
  function hear(content) {
    const [asker, number] = content?.answer ?? ["", 0];
    if (asker !== viewId) return;
    question.answered = Math.max(question.answered, number);
    if (!content?.busy && number === question.asked) isClicked = false;
    check();
  }
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
    }
  };
}
function makeControls(model, { onChange, onClick }) {
  const models = /* @__PURE__ */ new Map();
  const traits = /* @__PURE__ */ new Map();
  let isEnded = false;
  function drawnFor() {
    return model.get("drawn_for") ?? [];
  }
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
    }
  };
}
function sentTrait(model, trait) {
  const { serializers } = (
    /** @type {Exclude<Model["constructor"], Function>} */
    model.constructor
  );
  const codec = serializers?.[trait];
  const value = model.get(trait);
  return codec?.serialize ? codec.serialize(value, model) : value;
}
function isSameData(one, other) {
  if (one === other || (one ?? null) === (other ?? null)) return true;
  if (typeof one !== "object" || typeof other !== "object" || !one || !other) return false;
  const names = Object.keys(one);
  if (names.length !== Object.keys(other).length) return false;
  return names.every((name) => Object.hasOwn(other, name) && isSameData(one[name], other[name]));
}

// src/packed.js
var DRAWN = ["svg", "narrow"];
var LONG = ["text"];
var ID = '<g id="';
async function unpackBook(bytes) {
  const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const { pieces, ...book } = await new Response(inflated).json();
  const lines = pieces.map(withPoints);
  for (const state of book.states) {
    for (const part of DRAWN.filter((name) => name in state)) state[part] = drawn(state[part], lines);
    for (const part of LONG.filter((name) => name in state)) state[part] = at(state[part], pieces).join("");
  }
  return book;
}
function at(places, pieces) {
  return places.map((place) => pieces[place]);
}
function drawn(places, pieces) {
  const [prefix, ...lines] = at(places, pieces);
  if (!prefix) return lines.join("");
  return lines.map((line) => line.startsWith(`${ID}~`) ? ID + prefix + line.slice(ID.length + 1) : line).join("");
}
function withPoints(line) {
  return line.startsWith("<path ") ? line.replace(/ d="~([-\d ]+)"/, (_, steps) => ` d="${pathOf(steps)}"`) : line;
}
function pathOf(steps) {
  const numbers = steps.split(" ").map(Number);
  for (let i = 2; i < numbers.length; i += 1) numbers[i] += numbers[i - 2];
  const points = [];
  for (let i = 0; i < numbers.length; i += 2) points.push(`${numbers[i] / 100},${numbers[i + 1] / 100}`);
  return `M${points[0]}C${points.slice(1).join(" ")}`;
}

// src/sight.js
var WHILE = 2e3;
var MARGIN2 = 6;
var BY_HAND = ["wheel", "pointerdown", "keydown", "touchstart"];
function bringIntoSight(el) {
  let scrolled = null;
  function scroll() {
    if (!el.isConnected) return;
    const pane = el.closest(".jp-WindowedPanel-outer");
    if (!pane || !isOfCellJustRun(el)) return end();
    const by = missing(el, pane);
    if (by <= 0) return;
    pane.scrollBy({ top: by, behavior: scrolling() });
    scrolled = pane;
  }
  function end() {
    observer.disconnect();
    clearTimeout(timer);
    for (const event of BY_HAND) document.removeEventListener(event, stop, true);
  }
  function stop() {
    end();
    scrolled?.scrollTo({ top: scrolled.scrollTop, behavior: "instant" });
  }
  const observer = new ResizeObserver(scroll);
  const timer = setTimeout(end, WHILE);
  observer.observe(el);
  for (const event of BY_HAND) document.addEventListener(event, stop, { capture: true, passive: true });
  return end;
}
function isOfCellJustRun(el) {
  const cell = el.closest(".jp-CodeCell");
  return [cell, cell?.nextElementSibling].some((one) => one?.classList.contains("jp-mod-active"));
}
function missing(el, pane) {
  const [room, seen] = [el.getBoundingClientRect(), pane.getBoundingClientRect()];
  return Math.min(room.bottom + MARGIN2 - seen.bottom, room.top - MARGIN2 - seen.top);
}
function scrolling() {
  return isCalm() ? "auto" : "smooth";
}

// src/widget.js
var TRAITS = ["state", "code", "controls", "values", "book", "selected", "step"];
var rooms = /* @__PURE__ */ new Map();
var STEP = 20;
function render({ model, el }) {
  useWords(model.get("words"));
  const readBook = makeBookReader(model, drawSoon);
  const tell2 = makeTeller(model);
  const onSelect = (cardId) => isDrawing || tell2("selected", cardId);
  const onState = (step) => isDrawing || tell2("step", step);
  const onRoom = (width) => tellRooms(Math.floor(width / STEP) * STEP);
  const opener = {
    /** @param {string[]} opened */
    open(opened) {
      if (tell2("opened", opened)) queueMicrotask(() => kernel?.press());
    },
    has: () => true
  };
  const chooser = {
    /**
     * @param {string} name
     * @param {number} choice
     */
    choose(name, choice) {
      tell2("values", { ...model.get("values"), [name]: choice });
    },
    reset() {
      try {
        model.send({ reset: true });
      } catch {
      }
      kernel?.press();
    }
  };
  let isDrawing = false;
  let isWaiting = false;
  let frame = 0;
  let stateText = "";
  let state = {};
  let kernel = null;
  let shown = mount(readBook());
  function mount(book) {
    if (!book) return { book, panel: mountPanel(el, { onSelect, onRoom, chooser, opener }), mountedBook: null };
    const host = makeElement("div");
    el.replaceChildren(host);
    const given = { onSelect, onState, onRoom, start: model.get("step") };
    return { book, panel: null, mountedBook: mountBook(host, book, given) };
  }
  function tellRooms(width) {
    if (width) rooms.set(el, width);
    else rooms.delete(el);
    if (rooms.size) tell2("rooms", [...rooms.values()]);
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
    if (frame) return;
    queueMicrotask(draw);
    frame = requestAnimationFrame(() => {
      frame = 0;
      if (isWaiting) draw();
    });
  }
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
function makeTeller(model) {
  let isTelling = false;
  return function tell2(trait, value) {
    if (JSON.stringify(value) === JSON.stringify(model.get(trait))) return false;
    if (!isTelling) {
      isTelling = true;
      queueMicrotask(() => {
        isTelling = false;
        model.save_changes();
      });
    }
    model.set(trait, value);
    return true;
  };
}
function makeBookReader(model, onReady) {
  let packed = null;
  let unpacked = null;
  return function readBook() {
    const given = model.get("book");
    if (!given?.packed) return given?.states?.length ? (
      /** @type {Book} */
      given
    ) : null;
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
function writeNotice(kind, hasPicture) {
  if (kind === "gone") return { title: sentence("gone"), detail: sentence("gone_detail") };
  return { title: sentence(kind), detail: hasPicture ? sentence("old_picture") : "" };
}
var widget_default = { render };
export {
  cleanSvg,
  widget_default as default,
  mountPanel
};
