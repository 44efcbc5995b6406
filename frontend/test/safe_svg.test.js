import assert from "node:assert/strict";
import { test } from "node:test";
import { cleanSvg, makeCleaner } from "../src/safe_svg.js";
import { drawSvg, openPage } from "./page.js";

openPage();

const HEAD = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 9 9"';

/** Returns names of elements, and attributes, of all that was made. */
function listParts(svg) {
  const attributes = (element) => [...element.attributes].map(({ name, value }) => `${name}=${value}`);
  return [...svg.querySelectorAll("*")].flatMap((element) => [element.localName, ...attributes(element)]);
}

const HOSTILE = {
  script: [`${HEAD}><script>run()</script></svg>`, []],
  handler: [`${HEAD} onload="run()"><g onload="run()" onmouseover="run()"/></svg>`, ["g"]],
  link: [`${HEAD}><a href="javascript:run()"><text>x</text></a><a xlink:href="javascript:run()"/></svg>`, []],
  html: [
    `${HEAD}><foreignObject><img xmlns="http://www.w3.org/1999/xhtml" src="x" onerror="run()"/></foreignObject></svg>`,
    [],
  ],
  style: [`${HEAD}><style>@import "x.css"</style><g style="fill:url(x)"/></svg>`, ["g"]],
  paint: [`${HEAD}><path d="M0 0" fill="url(x#y)" stroke="url(#z)"/></svg>`, ["path", "d=M0 0"]],
  image: [`${HEAD}><image href="data:image/svg+xml,x"/><use href="x.svg#y"/><filter/><mask/></svg>`, []],
  animation: [`${HEAD}><text><animate attributeName="href" values="javascript:run()"/><set/>x</text></svg>`, ["text"]],
  transform: [
    `${HEAD}><g transform="url(javascript:run())" class="gv-panel node evil" id="x-evil"/></svg>`,
    ["g", "class=gv-node"],
  ],
  namespace: [`${HEAD}><g xmlns="http://www.w3.org/1999/xhtml"/><svg:path xmlns:svg="urn:other"/></svg>`, []],
  "name with a prefix": [`${HEAD}><g xlink:fill="red" xlink:id="n1"/></svg>`, ["g"]],
};
for (const [kind, [text, left]] of Object.entries(HOSTILE)) {
  test(`of a hostile ${kind} nothing is made but what is allowed`, () => {
    assert.deepEqual(listParts(cleanSvg(text, "p")), left);
  });
}

test("what lies too deep is not made", () => {
  const svg = cleanSvg(`${HEAD}>${"<g>".repeat(500)}${"</g>".repeat(500)}</svg>`, "p");
  assert.equal(svg.querySelectorAll("g").length, 13);
});

const REFUSED = {
  entity: `<!DOCTYPE svg [<!ENTITY x "y">]>${HEAD}><text>&x;</text></svg>`,
  html: "<html xmlns='http://www.w3.org/1999/xhtml'></html>",
  "no namespace": '<svg viewBox="0 0 9 9"/>',
  malformed: `${HEAD}><g></svg>`,
  "no size": '<svg xmlns="http://www.w3.org/2000/svg"/>',
  "an empty size": '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 0 9"/>',
  "a size of words": '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 a 9"/>',
};
for (const [kind, text] of Object.entries(REFUSED)) {
  test(`what has ${kind} is refused`, () => assert.equal(cleanSvg(text, "p"), null));
}

test("a picture keeps its shapes, texts and names", () => {
  const svg = cleanSvg(drawSvg(2), "p");
  assert.equal(svg.getAttribute("viewBox"), "0 0 300 75");
  assert.deepEqual([svg.getAttribute("width"), svg.getAttribute("height")], ["400", "100"]);
  assert.deepEqual([...svg.querySelectorAll("text")].map((text) => text.textContent), ["card 0", "card 1"]);
  assert.deepEqual([...svg.querySelectorAll(".gv-node, .gv-edge")].map(({ id }) => id), ["p-n0", "p-n1", "p-e0"]);
  assert.deepEqual([...svg.querySelectorAll(".gv-node")].map(({ dataset }) => dataset.gv), ["n0", "n1"]);
});

test("a picture that comes back is a copy of its own", () => {
  const clean = makeCleaner("p");
  const [one, other] = [clean(drawSvg(2)), clean(drawSvg(2))];
  assert.notEqual(one, other);
  assert.equal(one.outerHTML, other.outerHTML);
  assert.equal(clean("<svg>"), null);
});
