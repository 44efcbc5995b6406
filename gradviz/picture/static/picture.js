// One picture: SVG made safe, pan and zoom, a card of facts on hover and focus, selection by mouse and keyboard.

const SVG_NS = "http://www.w3.org/2000/svg";
const READABLE = 11; // CSS pixels that the smallest text of a picture starts with, where the whole would be too small
const LEGIBLE = 9.3; // the same where the whole picture is in sight: nothing that changes is then hidden
const MARGIN = 4; // CSS pixels around a picture
const KEPT = 64; // pictures
const SLACK = 4; // CSS pixels that a pointer may move in a click

// ---- SVG from an allow-list: what is not listed here, with a value of the listed form, is never made

const DEEPEST = 12;
const TAGS = new Set(["g", "path", "polygon", "polyline", "ellipse", "text", "tspan"]);
const CLASSES = new Set("graph cluster node edge gradient forward cut raise of".split(" "));
const NUMBER = /^-?[\d.]+(e-?\d+)?(px|pt)?$/i;
const NUMBERS = /^[-\d.,e\s]*$/i;
const COLOUR = /^(#[\da-f]{3,8}|[a-z]+)$/i;
const WORDS = /^[\w ,.-]*$/;
const ATTRIBUTES = new Map(Object.entries({
  d: /^[-\d.,e\sMLHVCSQTAZ]*$/i, points: NUMBERS, "stroke-dasharray": NUMBERS, fill: COLOUR, stroke: COLOUR,
  transform: /^((translate|scale|rotate)\([-\d.,e ]*\)\s*)*$/, "font-family": WORDS, "font-weight": WORDS,
  "font-style": WORDS, "text-anchor": WORDS, "text-decoration": WORDS, "baseline-shift": WORDS,
  ...Object.fromEntries(["x", "y", "cx", "cy", "rx", "ry", "font-size", "stroke-width", "opacity", "fill-opacity",
    "stroke-opacity"].map((name) => [name, NUMBER])),
}));

function svgNode(tag, attributes = {}, text = "") {
  const node = document.createElementNS(SVG_NS, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text) node.textContent = text;
  return node;
}

/** Copies what is allowed of `from`'s children into `to`. Ids get the mount's own prefix, classes get "gv-". */
function copyAllowed(from, to, id, depth) {
  const isText = to.localName === "text" || to.localName === "tspan";
  for (const child of from.childNodes) {
    if (child.nodeType === Node.TEXT_NODE && isText) to.append(child.data);
    if (child.nodeType !== Node.ELEMENT_NODE || child.namespaceURI !== SVG_NS || !TAGS.has(child.localName)) continue;
    const copy = document.createElementNS(SVG_NS, child.localName);
    for (const { name, value } of child.attributes) {
      if (ATTRIBUTES.get(name)?.test(value)) copy.setAttribute(name, value);
      else if (name === "class") {
        const known = value.split(/\s+/).filter((word) => CLASSES.has(word));
        if (known.length) copy.setAttribute("class", known.map((word) => `gv-${word}`).join(" "));
      } else if (name === "id") {
        const own = /(?:^|-)((?:n|e|clust|graph)\d+f?)$/.exec(value)?.[1];
        if (own) copy.id = `${id}-${copy.dataset.gv = own}`;
      }
    }
    if (depth < DEEPEST) copyAllowed(child, copy, id, depth + 1);
    to.append(copy);
  }
}

/** An <svg> element built from `text`, with nothing in it that could run, load or link; null where it is no SVG. */
function cleanSvg(text, id) {
  if (/<!(DOCTYPE|ENTITY)/i.test(text)) return null; // the only way to entities that mean something else
  const root = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  if (root.namespaceURI !== SVG_NS || root.localName !== "svg") return null;
  if (root.getElementsByTagNameNS("*", "parsererror").length) return null;
  const box = (root.getAttribute("viewBox") ?? "").trim().split(/[\s,]+/).map(Number);
  if (box.length !== 4 || !box.every(Number.isFinite) || !(box[2] > 0 && box[3] > 0)) return null;
  const width = parseFloat(root.getAttribute("width")) || box[2] * 4 / 3; // a point is 4/3 CSS pixels
  const svg = svgNode("svg", { viewBox: box.join(" "), width, height: width * box[3] / box[2] });
  copyAllowed(root, svg, id, 0);
  return svg;
}

// ---- geometry, read off the numbers in the SVG: asking the browser would make it lay everything out at once

/** The smallest {x, y, w, h} around the shapes of a group, in the group's own coordinates. */
function boxOf(shapes) {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  const add = (x, y) => {
    [left, right] = [Math.min(left, x), Math.max(right, x)];
    [top, bottom] = [Math.min(top, y), Math.max(bottom, y)];
  };
  for (const shape of shapes) {
    const get = (name) => Number(shape.getAttribute(name));
    if (shape.localName === "ellipse") {
      add(get("cx") - get("rx"), get("cy") - get("ry"));
      add(get("cx") + get("rx"), get("cy") + get("ry"));
    } else {
      const all = pointsOf(shape);
      for (let i = 0; i + 1 < all.length; i += 2) add(all[i], all[i + 1]);
    }
  }
  return left < right ? { x: left, y: top, w: right - left, h: bottom - top } : null;
}

const pointsOf = (shape) => (shape.getAttribute("d") ?? shape.getAttribute("points") ?? "").match(/-?[\d.]+/g)?.map(Number) ?? [];
const shapesOf = (group) => [...group.children].filter((c) => c.localName !== "text" && c.localName !== "g");
const grown = (box, by) => ({ x: box.x - by, y: box.y - by, w: box.w + 2 * by, h: box.h + 2 * by });

/** Where an arrow's sign stands: its chip, or the middle of its line. */
function chipOf(group) {
  if (group.querySelector("text")) {
    const chip = boxOf([...group.children].filter((c) => c.localName === "path" && c.getAttribute("stroke") === "none"));
    if (chip) return chip;
  }
  const points = pointsOf(group.querySelector("path") ?? group);
  const middle = Math.floor(points.length / 4) * 2;
  return points.length ? { x: points[middle], y: points[middle + 1], w: 0, h: 0 } : null;
}

/** Card ids row by row, each row from left to right. */
function readingOrder(boxes) {
  const left = [...boxes].sort(([, a], [, b]) => a.y - b.y);
  const order = [];
  while (left.length) {
    const [, first] = left[0];
    const row = left.filter(([, box]) => box.y < first.y + first.h / 2);
    order.push(...row.sort(([, a], [, b]) => a.x - b.x).map(([id]) => id));
    for (const one of row) left.splice(left.indexOf(one), 1);
  }
  return order;
}

/** The nearest card above (-1) or below (1), sideways distance counting double. */
function nearest(boxes, from, direction) {
  const at = boxes.get(from);
  let [best, least] = [null, Infinity];
  for (const [id, box] of boxes) {
    const down = (box.y + box.h / 2 - at.y - at.h / 2) * direction;
    const aside = Math.abs(box.x + box.w / 2 - at.x - at.w / 2);
    if (id !== from && down > Math.min(at.h, box.h) / 2 && down + 2 * aside < least) [best, least] = [id, down + 2 * aside];
  }
  return best;
}

// ---- pan and zoom

/**
 * Moves `stage` about in `frame`. It starts with the whole picture where that is readable, else with readable text at
 * the picture's top, moved to where its `first` card is. The frame is as high as that needs, and never gets lower again
 * by itself, so that the page below stays where it is while pictures change.
 */
function makeView(frame, stage, onMove, first) {
  let page = null; // {w, h, natural, smallest}
  let mode = "start"; // or "fit", "panned", "zoomed"
  let [scale, x, y, width, height, most, tall, measured] = [1, 0, 0, 0, 0, 0, 0, ""];

  // Not a custom property, which everything in the picture would inherit and be styled again for.
  const tallness = (pixels) => `min(var(--gv-height, 528px), ${pixels}px)`;

  /** Asks the browser, which then lays out the page: once a width, not once a picture. */
  function measureFrame() {
    if (frame.clientWidth !== width) tall = 0;
    width = frame.clientWidth;
    frame.style.height = tallness(1e6);
    most = frame.clientHeight;
    measured = "";
  }
  function measure() {
    const need = Math.ceil(page.h * page.natural) + 2 * MARGIN;
    height = Math.min(most, Math.max(need, tall)); // the most that it may have
    const start = startScale();
    tall = Math.max(tall, Math.min(height, Math.ceil(page.h * start) + 2 * MARGIN));
    frame.style.height = tallness(tall);
    height = Math.min(height, tall);
    measured = `${page.w} ${page.h}`;
  }
  const wholeScale = () => Math.min(page.natural, (width - 2 * MARGIN) / page.w, (height - 2 * MARGIN) / page.h);
  const startScale = () => {
    const whole = wholeScale();
    return whole * page.smallest >= LEGIBLE ? whole : Math.min(page.natural, READABLE / page.smallest);
  };

  function place() {
    const [w, h] = [page.w * scale, page.h * scale];
    const clamp = (at, size, room) => Math.min(Math.max(at, Math.min(0, 80 - size)), Math.max(0, room - 80));
    [x, y] = [clamp(x, w, width), clamp(y, h, height)];
    stage.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)}) scale(${scale.toFixed(4)})`);
    const hidden = { left: x < -1, top: y < -1, right: x + w > width + 1, bottom: y + h > height + 1 };
    frame.dataset.more = Object.keys(hidden).filter((side) => hidden[side]).join(" ");
    onMove(Object.values(hidden).includes(true));
  }
  function settle(how, to) {
    mode = how;
    scale = to;
    x = Math.max(MARGIN, (width - page.w * scale) / 2); // too wide: whole on the left beats cut on both sides
    y = MARGIN;
    place();
    if (how === "start" && frame.dataset.more) move(first());
  }
  /** As little as is needed to see a rectangle of the screen; false where nothing is to be done. */
  function move(rect) {
    if (!rect) return false;
    const around = frame.getBoundingClientRect();
    const by = (low, high, least, most) => (low < least ? least - low : high > most ? Math.max(most - high, least - low) : 0);
    const dx = by(rect.left - MARGIN, rect.right + MARGIN, around.left, around.right);
    const dy = by(rect.top - MARGIN, rect.bottom + MARGIN, around.top, around.bottom);
    if (!dx && !dy) return false;
    [x, y] = [x + dx, y + dy];
    place();
    return true;
  }
  const view = {
    /** Shows a picture of another size, or the same again; the reader's own place is kept where it makes sense. */
    show(next) {
      const same = page && next.w === page.w && next.h === page.h;
      page = next;
      if (!same && mode === "panned") mode = "start";
      view.refit();
    },
    /** The frame may have another size. */
    resize() {
      if (!page || !frame.clientWidth) return; // in a closed tab of the page: the observer calls again
      measureFrame();
      view.refit();
    },
    refit() {
      if (!width) return view.resize();
      if (measured !== `${page.w} ${page.h}`) measure();
      if (mode === "start") settle("start", startScale());
      else if (mode === "fit") settle("fit", wholeScale());
      else place();
    },
    fit: () => page && settle("fit", wholeScale()),
    reset: () => page && settle("start", startScale()),
    pan(dx, dy) {
      if (mode !== "zoomed") mode = "panned";
      [x, y] = [x + dx, y + dy];
      place();
    },
    /** Zooms around a point of the frame that stays where it is. */
    zoom(factor, px = width / 2, py = height / 2) {
      if (!page) return;
      mode = "zoomed";
      const to = Math.min(Math.max(scale * factor, Math.min(wholeScale(), page.natural / 4)), page.natural * 5);
      [x, y, scale] = [px - (px - x) * to / scale, py - (py - y) * to / scale, to];
      place();
    },
    /** The reader's place is now where this rectangle of the screen is seen. */
    reveal(rect) {
      if (move(rect) && mode !== "zoomed") mode = "panned";
    },
  };
  return view;
}

// ---- the card of facts

function htmlNode(tag, className = "", text = "") {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text) node.textContent = text;
  return node;
}

/** A box in the browser's top layer, so that no cell clips it, beside the element that it speaks of. */
function makeFacts(root, id) {
  const box = htmlNode("div", "gv-facts");
  box.id = `${id}-facts`;
  box.setAttribute("role", "tooltip");
  box.setAttribute("popover", "manual");
  root.append(box);
  let [about, waiting] = [null, 0];

  function place() {
    const at = about.getBoundingClientRect();
    const frame = root.getBoundingClientRect();
    if (at.bottom < Math.max(frame.top, 0) || at.top > Math.min(frame.bottom, innerHeight)) return facts.close();
    const { offsetWidth: w, offsetHeight: h } = box;
    const room = [["right", innerWidth - at.right - 18 - w], ["left", at.left - 18 - w], ["below", innerHeight - at.bottom - 18 - h], ["above", at.top - 18 - h]];
    const side = (room.find(([, free]) => free >= 0) ?? room.reduce((a, b) => (b[1] > a[1] ? b : a)))[0];
    const [beside, low] = [{ right: at.right + 10, left: at.left - w - 10 }, { below: at.bottom + 10, above: at.top - h - 10 }];
    box.style.left = `${Math.max(8, Math.min(beside[side] ?? at.left, innerWidth - w - 8))}px`;
    box.style.top = `${Math.max(8, Math.min(low[side] ?? at.top, innerHeight - h - 8))}px`;
  }
  const facts = {
    get about() { return about; },
    open(element, card) {
      clearTimeout(waiting);
      about = element;
      const list = htmlNode("dl");
      for (const [label, value] of card.facts ?? []) list.append(htmlNode("dt", "", label), htmlNode("dd", "", String(value)));
      box.replaceChildren(htmlNode("p", "gv-facts-title", card.key), list);
      box.scrollTop = 0;
      if (!box.matches(":popover-open")) {
        box.showPopover?.();
        addEventListener("scroll", place, { capture: true, passive: true });
      }
      place();
    },
    /** Opens, or with null closes, in `ms`, unless something else is asked for first. */
    soon(ms, element, card) {
      clearTimeout(waiting);
      waiting = setTimeout(() => (element ? facts.open(element, card) : facts.close()), ms);
    },
    keep: () => clearTimeout(waiting),
    close() {
      clearTimeout(waiting);
      removeEventListener("scroll", place, { capture: true });
      if (about && box.isConnected) box.hidePopover?.();
      about = null;
    },
  };
  box.addEventListener("pointerenter", facts.keep); // what it says can be read and copied
  box.addEventListener("pointerleave", () => facts.soon(120));
  return facts;
}

// ---- the picture

const TOOLS = { // label, what it says, icon
  in: ["", "Zoom in", "M3 8h10M8 3v10"],
  out: ["", "Zoom out", "M3 8h10"],
  fit: ["Fit", "Show the whole picture", "M2 6V2h4M10 2h4v4M14 10v4h-4M6 14H2v-4"],
  reset: ["Reset", "Back to the view at the start", "M3.5 8.5a4.5 4.5 0 1 0 1.6-3.9M4.6 1.6v3.3h3.3"],
};

function icon(d) {
  const svg = svgNode("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" });
  svg.append(svgNode("path", { d }));
  return svg;
}

function toolButton(name, act) {
  const [label, title, drawn] = TOOLS[name];
  const button = htmlNode("button", `gv-tool gv-tool-${name}`);
  button.type = "button";
  button.title = title;
  button.setAttribute("aria-label", label ? `${label}: ${title.toLowerCase()}` : title);
  button.append(icon(drawn), label);
  button.addEventListener("click", act);
  return button;
}

/**
 * Draws the pictures of states into `el`.
 *
 * `onSelect(id)` is called when the reader selects a card ("n3") or nothing (""). `show(state, changes)` takes maps
 * of what is "new" or "changed" by id; `select(id)` selects without calling back.
 */
function mountPicture(el, { id, onSelect = () => {} }) {
  const frame = htmlNode("div", "gv-view");
  frame.tabIndex = 0;
  frame.setAttribute("role", "group");
  const canvas = svgNode("svg", { class: "gv-canvas", width: "100%", height: "100%", focusable: "false" });
  const stage = svgNode("g");
  const marks = svgNode("g", { class: "gv-marks", "aria-hidden": "true" });
  const ring = svgNode("g", { class: "gv-marks", "aria-hidden": "true" });
  const bar = htmlNode("div", "gv-toolbar");
  const hint = htmlNode("span", "gv-hint", "Drag to see the rest, or");
  const settings = htmlNode("span", "gv-settings"); // of the controls, when this was run
  const plain = htmlNode("div", "gv-plain");
  canvas.append(stage);
  frame.append(canvas);
  el.append(plain, frame, bar);

  const view = makeView(frame, stage, (more) => {
    hint.classList.toggle("gv-hidden", !more || !cards.size);
    facts.close();
  }, () => cards.values().next().value?.getBoundingClientRect());
  const facts = makeFacts(el, id);
  bar.append(settings, hint, toolButton("fit", () => view.fit()), toolButton("reset", () => view.reset()),
    toolButton("out", () => view.zoom(0.8)), toolButton("in", () => view.zoom(1.25)));

  let [state, drawn, selected, changed] = [{ cards: {}, arrows: {} }, null, "", new Map()];
  let [cards, groups, boxes, order] = [new Map(), [], new Map(), []];
  let ceiling = 0; // of the picture, as its own numbers count

  // -- drawing

  const kept = new Map(); // pictures that were made safe before: to come back to one costs a copy, not a parse

  function cleaned(text) {
    const svg = kept.get(text) ?? cleanSvg(text, id);
    kept.delete(text);
    kept.set(text, svg); // the last used one stands last
    if (kept.size > KEPT) kept.delete(kept.keys().next().value);
    return svg && svg.cloneNode(true);
  }
  function redraw(next) {
    const svg = next.svg ? cleaned(next.svg) : null;
    drawn = next.svg;
    frame.hidden = bar.hidden = !svg;
    plain.hidden = Boolean(svg);
    plain.replaceChildren();
    [cards, groups, boxes, order] = [new Map(), [], new Map(), []];
    if (!svg) {
      const why = next.problem || (next.svg ? "This picture could not be read." : "");
      if (why) plain.append(htmlNode("p", "gv-problem", why));
      if (next.text) plain.append(htmlNode("pre", "gv-twin", next.text));
      stage.replaceChildren();
      return;
    }
    const [left, top, w, h] = svg.getAttribute("viewBox").split(" ").map(Number);
    const graph = svg.querySelector(".gv-graph") ?? svg;
    ceiling = top - (Number(/translate\(\S+[ ,](\S+)\)/.exec(graph.getAttribute("transform"))?.[1]) || 0);
    groups = [...graph.querySelectorAll(".gv-node, .gv-edge, .gv-cluster")];
    let smallest = Infinity;
    for (const text of svg.querySelectorAll("text")) smallest = Math.min(smallest, parseFloat(text.getAttribute("font-size")) || Infinity);
    for (const group of groups) {
      if (group.classList.contains("gv-node")) cards.set(group.dataset.gv, group);
      else group.setAttribute("aria-hidden", "true"); // the alt text and the cards' labels say it in words
    }
    graph.append(marks, ring);
    ring.replaceChildren();
    const page = svgNode("g", { transform: `translate(${-left} ${-top})` });
    const width = Number(svg.getAttribute("width"));
    page.append(...svg.childNodes);
    // First the size, then what is in it: else the browser lays out all the text twice.
    view.show({ w, h, natural: width / w, smallest: Number.isFinite(smallest) ? smallest : 10 });
    stage.replaceChildren(page);
    if (frame.dataset.more) view.refit(); // now that its first card has a place
  }

  function label(cardId) {
    const group = cards.get(cardId);
    const parts = [state.cards[cardId]?.label ?? cardId, changed.get(cardId)];
    group.setAttribute("aria-label", parts.filter(Boolean).join(", "));
    group.setAttribute("aria-pressed", String(cardId === selected));
  }

  function show(next, changes = new Map()) {
    const focused = cards.size && frame.contains(document.activeElement) ? document.activeElement.dataset.gv : undefined;
    const key = state.cards[focused]?.key;
    facts.close();
    [state, changed] = [next, changes];
    settings.textContent = settings.title = next.settings ?? "";
    if (next.svg !== drawn || !next.svg) {
      redraw(next);
      frame.setAttribute("aria-label", next.alt || "picture");
      for (const group of cards.values()) {
        group.setAttribute("role", "button");
        group.setAttribute("tabindex", "-1");
      }
      rove(Object.keys(next.cards).find((c) => cards.has(c) && next.cards[c].key === key) ?? cards.keys().next().value);
      if (key) (frame.querySelector('[tabindex="0"]') ?? frame).focus({ preventScroll: true });
    }
    for (const cardId of cards.keys()) label(cardId);
    if (!cards.has(selected)) selected = "";
    paint();
  }

  // -- what is selected, lit, changed

  const box = (cardId) => boxes.get(cardId) ?? boxes.set(cardId, boxOf(shapesOf(cards.get(cardId)))).get(cardId);

  /** A word on a corner, where neither title nor arrow is. */
  function tag(className, x, y, text) {
    const flag = svgNode("g", { class: className });
    const width = text.length * 6.7 + 8;
    flag.append(svgNode("rect", { x, y, width, height: 12, rx: 3 }), svgNode("text", { x: x + width / 2, y: y + 9.5 }, text));
    return flag;
  }
  function outline(className, at) {
    return svgNode("rect", { class: className, x: at.x, y: at.y, width: at.w, height: at.h, rx: 8 });
  }

  function paint() {
    const card = state.cards[selected];
    const memory = card?.memory?.length > 1 ? card.memory.filter((m) => cards.has(m)) : [];
    const lit = new Set(card ? [selected, ...card.lit ?? [], ...memory] : []);
    const [outlines, flags] = [[], []];
    for (const group of groups) {
      const name = group.dataset.gv ?? "";
      const bare = name.replace(/f$/, "");
      const shown = lit.has(name) || lit.has(bare) || (group.classList.contains("gv-cluster") && holds(group, memory));
      group.classList.toggle("gv-lit", Boolean(card) && shown);
      group.classList.toggle("gv-dim", Boolean(card) && !shown);
      group.classList.toggle("gv-changed", changed.has(bare));
      const word = name === bare && changed.get(bare);
      const at = word && (cards.has(name) ? box(name) : chipOf(group));
      if (!at) continue;
      if (at.w) outlines.push(outline("gv-mark-changed", grown(at, cards.has(name) ? 2 : 1)));
      const above = Math.max(at.y - 8.5, ceiling - 1.5); // whole also on the topmost card
      flags.push(cards.has(name) ? tag("gv-tag-changed", at.x + at.w - 2 - word.length * 6.7, above, word) : diamond(at));
    }
    for (const one of memory) {
      outlines.push(outline("gv-mark-memory", grown(box(one), 4)));
      flags.push(tag("gv-tag-memory", box(one).x - 6, box(one).y + box(one).h - 3, "same memory"));
    }
    if (card && cards.has(selected)) outlines.push(outline("gv-mark-selected", grown(box(selected), 1)));
    marks.replaceChildren(...outlines, ...flags);
    frame.classList.toggle("gv-selecting", Boolean(card));
  }

  function diamond({ x, y, w }) {
    const sign = svgNode("g", { class: "gv-tag-changed" });
    sign.append(svgNode("path", { d: `M${x + w} ${y - 5}l5 5l-5 5l-5 -5z` }));
    return sign;
  }
  function holds(group, members) {
    const around = boxOf(shapesOf(group).slice(0, 1));
    return around && members.some((m) => box(m) && box(m).x >= around.x && box(m).y >= around.y
      && box(m).x + box(m).w <= around.x + around.w && box(m).y + box(m).h <= around.y + around.h);
  }

  function select(cardId, reveal = true) {
    const next = cards.has(cardId) ? cardId : "";
    if (next === selected) return;
    const before = selected;
    selected = next;
    for (const one of [before, next]) if (cards.has(one)) label(one);
    if (next) rove(next);
    paint();
    if (next && reveal && frame.dataset.more) view.reveal(cards.get(next).getBoundingClientRect());
  }
  function choose(cardId) {
    if (cardId === selected) return;
    select(cardId, false); // the reader sees it already
    onSelect(selected);
  }

  // -- keyboard

  /** One card at a time is in the tab order. */
  function rove(cardId) {
    frame.querySelector('.gv-node[tabindex="0"]')?.setAttribute("tabindex", "-1");
    cards.get(cardId)?.setAttribute("tabindex", "0");
  }
  function goTo(cardId) {
    if (!cards.has(cardId)) return;
    rove(cardId);
    cards.get(cardId).focus({ preventScroll: true });
  }
  function walk(from, key) {
    for (const cardId of cards.keys()) box(cardId);
    if (!order.length) order = readingOrder(boxes);
    const place = order.indexOf(from);
    if (key === "ArrowUp" || key === "ArrowDown") return nearest(boxes, from, key === "ArrowUp" ? -1 : 1) ?? from;
    if (key === "Home" || key === "End") return order.at(key === "Home" ? 0 : -1);
    return order[Math.max(0, Math.min(order.length - 1, place + (key === "ArrowLeft" ? -1 : 1)))];
  }
  const PANS = { ArrowLeft: [48, 0], ArrowRight: [-48, 0], ArrowUp: [0, 48], ArrowDown: [0, -48] };
  const ACTS = {
    "+": () => view.zoom(1.25), "=": () => view.zoom(1.25), "-": () => view.zoom(0.8), _: () => view.zoom(0.8),
    0: () => view.reset(), f: () => view.fit(),
    Escape: () => (facts.about ? facts.close() : choose("")),
  };
  function act(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return false;
    const { key, shiftKey } = event;
    const cardId = event.target.closest(".gv-node")?.dataset.gv;
    if (PANS[key] && (shiftKey || !cardId)) view.pan(...PANS[key]);
    else if (cardId && (PANS[key] || key === "Home" || key === "End")) goTo(walk(cardId, key));
    else if (cardId && (key === "Enter" || key === " ")) choose(cardId === selected ? "" : cardId);
    else if (Object.hasOwn(ACTS, key)) ACTS[key]();
    else return false;
    return true;
  }
  frame.addEventListener("keydown", (event) => {
    if (!act(event)) return;
    event.preventDefault();
    event.stopPropagation(); // the notebook has plans of its own for most keys
  });
  frame.addEventListener("focusin", ({ target }) => {
    const card = state.cards[target.dataset?.gv];
    if (!card || !target.matches(":focus-visible")) return;
    view.reveal(target.getBoundingClientRect());
    target.setAttribute("aria-describedby", `${id}-facts`);
    ring.replaceChildren(outline("gv-mark-focus", grown(box(target.dataset.gv), 6)));
    facts.open(target, card);
  });
  frame.addEventListener("focusout", () => {
    ring.replaceChildren();
    facts.close();
  });

  // -- pointer

  let drag = null;
  frame.addEventListener("pointerdown", (event) => {
    if (event.button === 0) drag = { x: event.clientX, y: event.clientY, far: false };
  });
  frame.addEventListener("pointermove", (event) => {
    if (!drag || !(event.buttons & 1)) return;
    const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
    if (!drag.far && Math.hypot(dx, dy) < SLACK) return;
    if (!drag.far) frame.setPointerCapture(event.pointerId);
    drag = { x: event.clientX, y: event.clientY, far: true };
    frame.classList.add("gv-dragging");
    view.pan(dx, dy);
  });
  for (const end of ["pointerup", "pointercancel"]) frame.addEventListener(end, () => frame.classList.remove("gv-dragging"));
  frame.addEventListener("click", (event) => {
    if (drag?.far || event.detail > 1) return; // the second click of a double click says nothing new
    const cardId = event.target.closest(".gv-node")?.dataset.gv ?? "";
    choose(cardId === selected ? "" : cardId);
  });
  frame.addEventListener("pointerover", ({ target, buttons }) => {
    const node = target.closest(".gv-node");
    const card = state.cards[node?.dataset.gv];
    if (card && node !== facts.about && !buttons) facts.soon(facts.about ? 40 : 110, node, card);
    else if (card) facts.keep();
    else facts.soon(120);
  });
  frame.addEventListener("pointerleave", () => facts.soon(120));
  frame.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return; // a plain wheel scrolls the notebook
    event.preventDefault();
    const around = frame.getBoundingClientRect();
    view.zoom(Math.exp(-Math.max(-60, Math.min(60, event.deltaY)) / 240), event.clientX - around.left, event.clientY - around.top);
  }, { passive: false });

  const observer = new ResizeObserver(() => view.resize());
  observer.observe(frame);
  return {
    show, select,
    destroy() {
      observer.disconnect();
      facts.close();
    },
  };
}
