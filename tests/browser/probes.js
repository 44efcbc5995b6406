// What the tests of the front end ask of a page: measured in it, independently of the script under test.
const one = () => document.getElementById("one");
const channels = (colour) => {
  const paint = document.createElement("canvas").getContext("2d");
  paint.fillStyle = colour;
  paint.fillRect(0, 0, 1, 1);
  return [...paint.getImageData(0, 0, 1, 1).data];
};
const light = (colour) => {
  const [r, g, b] = colour.map((v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ground = (element) => {
  for (; element; element = element.parentElement) {
    const colour = channels(getComputedStyle(element).backgroundColor);
    if (colour[3] === 255) return colour;
  }
  return [255, 255, 255, 255];
};
window.probes = {
  left: (svg) => [svg, ...svg.querySelectorAll("*")].slice(1).flatMap(
    (e) => [e.localName, ...[...e.attributes].map((a) => `${a.name}=${a.value}`)]),
  lost(text) {
    const now = [...gv.cleanSvg(text, "p").querySelectorAll("*")];
    const was = [...new DOMParser().parseFromString(text, "image/svg+xml").querySelectorAll("svg *:not(title)")];
    const other = new Set(["id", "class", "xml:space"]);
    return was.filter((a, i) => a.localName !== now[i]?.localName
      || [...a.attributes].some(({ name, value }) => !other.has(name) && now[i].getAttribute(name) !== value)).length;
  },
  groups: () => [...one().querySelectorAll(".gv-node, .gv-edge")].map((g) => (
    { name: g.dataset.gv, lit: g.classList.contains("gv-lit"), dim: g.classList.contains("gv-dim") })),
  changed: () => [...one().querySelectorAll("g.gv-changed")].map((g) => g.dataset.gv.replace(/f$/, "")),
  cells: () => [...one().querySelectorAll("td.gv-changed")].map(
    (c) => [now.table[c.parentNode.sectionRowIndex].key, c.cellIndex]),
  place: () => one().querySelector(".gv-canvas > g").getAttribute("transform"),
  textSize: () => Number(/scale\((.*)\)/.exec(probes.place())[1]) * Math.min(
    ...[...one().querySelectorAll(".gv-canvas text[font-size]")].map((t) => parseFloat(t.getAttribute("font-size")))),
  inside() {
    const frame = one().querySelector(".gv-view").getBoundingClientRect();
    return [...one().querySelectorAll(".gv-node")].map((n) => n.getBoundingClientRect()).every(
      (r) => r.left >= frame.left && r.right <= frame.right && r.top >= frame.top && r.bottom <= frame.bottom);
  },
  outside() {
    const most = one().getBoundingClientRect().right + 0.5;
    return [...one().querySelectorAll(":scope > *, :scope > .gv-picture > *:not(.gv-facts)")]
      .filter((e) => e.getBoundingClientRect().right > most).map((e) => e.className);
  },
  watch() {
    const writes = [];
    const name = ({ target }) => target.className?.baseVal ?? target.className;
    new MutationObserver((all) => writes.push(...all.map(name)))
      .observe(one(), { childList: true, characterData: true, subtree: true });
    return (window.writes = writes);
  },
  renumbered: (state) => JSON.parse(JSON.stringify(state).replaceAll(/\bn5\b/g, "nX")
    .replaceAll(/\bn0\b/g, "n5").replaceAll(/\bnX\b/g, "n0")),
  lowContrast: () => [...one().querySelectorAll("*")]
    .filter((e) => !e.closest("svg") && !e.matches(".gv-sign:not(.gv-word)") && e.checkVisibility())
    .filter((e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()))
    .map((e) => [light(channels(getComputedStyle(e).color)), light(ground(e)), e.className || e.tagName])
    .map(([a, b, name]) => [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), name])
    .filter(([ratio]) => ratio < 4.5),
};
