// Geometry, read off the numbers in the SVG: asking the browser would make it lay everything out at once.

/** @import { Box } from "./types.d.ts" */

/**
 * Returns the smallest box around the shapes of a group, in the group's own coordinates.
 *
 * @param {Element[]} shapes
 * @returns {Box | null}
 */
export function boxAround(shapes) {
  const points = shapes.flatMap((shape) => (shape.localName === "ellipse" ? cornersOfEllipse(shape) : pointsOf(shape)));
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (let i = 0; i + 1 < points.length; i += 2) {
    [left, right] = [Math.min(left, points[i]), Math.max(right, points[i])];
    [top, bottom] = [Math.min(top, points[i + 1]), Math.max(bottom, points[i + 1])];
  }
  return left < right ? { x: left, y: top, w: right - left, h: bottom - top } : null;
}

/** @param {Element} ellipse */
function cornersOfEllipse(ellipse) {
  const [cx, cy, rx, ry] = ["cx", "cy", "rx", "ry"].map((name) => Number(ellipse.getAttribute(name)));
  return [cx - rx, cy - ry, cx + rx, cy + ry];
}

/**
 * Returns the numbers of a path or polygon: x, y, x, y, …
 *
 * @param {Element} shape
 */
function pointsOf(shape) {
  const text = shape.getAttribute("d") ?? shape.getAttribute("points") ?? "";
  return text.match(/-?[\d.]+/g)?.map(Number) ?? [];
}

/**
 * Returns what a group draws, without text and groups in it.
 *
 * @param {Element} group
 */
export function shapesOf(group) {
  return [...group.children].filter((child) => child.localName !== "text" && child.localName !== "g");
}

/**
 * @param {Box} box
 * @param {number} by
 * @returns {Box}
 */
export function growBox(box, by) {
  return { x: box.x - by, y: box.y - by, w: box.w + 2 * by, h: box.h + 2 * by };
}

/**
 * @param {Box} outer
 * @param {Box} inner
 */
export function holdsBox(outer, inner) {
  const inWidth = inner.x >= outer.x && inner.x + inner.w <= outer.x + outer.w;
  const inHeight = inner.y >= outer.y && inner.y + inner.h <= outer.y + outer.h;
  return inWidth && inHeight;
}

/**
 * Returns where an arrow's sign stands: its chip, or the middle of its line.
 *
 * @param {Element} arrow
 * @returns {Box | null}
 */
export function chipOf(arrow) {
  if (arrow.querySelector("text")) {
    const paths = [...arrow.children].filter((child) => child.localName === "path");
    const chip = boxAround(paths.filter((path) => path.getAttribute("stroke") === "none"));
    if (chip) return chip;
  }
  const points = pointsOf(arrow.querySelector("path") ?? arrow);
  const middle = Math.floor(points.length / 4) * 2;
  return points.length ? { x: points[middle], y: points[middle + 1], w: 0, h: 0 } : null;
}

/**
 * Returns card ids row by row, each row from left to right.
 *
 * @param {Map<string, Box>} boxes by card id
 */
export function readingOrder(boxes) {
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

/**
 * Returns the nearest card above (-1) or below (1), sideways distance counting double.
 *
 * @param {Map<string, Box>} boxes by card id
 * @param {string} from
 * @param {1 | -1} direction
 * @returns {string | null}
 */
export function nearestCard(boxes, from, direction) {
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
