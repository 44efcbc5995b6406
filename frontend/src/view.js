// Pan and zoom.

/** @import { Box } from "./types.d.ts" */

const READABLE = 12; // CSS pixels that the smallest text of a picture has, unless the reader zooms out
const MARGIN = 4; // CSS pixels around a picture
const SEEN = 80; // CSS pixels of a picture that cannot be moved out of sight

/**
 * The size of a picture: width and height in its own numbers, CSS pixels to one of them, and its smallest text.
 *
 * @typedef {{ width: number, height: number, natural: number, smallestText: number }} PictureSize
 */

/** @type {PictureSize} */
const NO_PICTURE = { width: 0, height: 0, natural: 1, smallestText: 10 };

/**
 * Moves `stage` about in `frame`. It starts with the whole picture where that is readable, else with readable text at
 * the picture's top, moved to where its first card is. The frame is as high as that needs, and never gets lower again
 * by itself, so that the page below stays where it is while pictures change.
 *
 * @param {HTMLElement} frame
 * @param {SVGElement} stage
 * @param {{ onMove: (isPartHidden: boolean) => void, firstBox: () => Box | null }} given `firstBox` is where the first
 *   card is, in the picture's numbers
 */
export function makeView(frame, stage, { onMove, firstBox }) {
  let picture = NO_PICTURE;
  /** @type {"start" | "fit" | "panned" | "zoomed"} */
  let mode = "start";
  let [scale, x, y] = [1, 0, 0];
  let [width, height] = [0, 0]; // of the frame
  let [highest, tallest] = [0, 0]; // the most that the frame may have, and the most that it had at this width
  let measured = NO_PICTURE;

  // Not a custom property, which everything in the picture would inherit and be styled again for.
  const limitedHeight = (/** @type {number} */ pixels) => `min(var(--gv-height, 528px), ${pixels}px)`;

  /** Asks the browser, which then lays out the page: once a width, not once a picture. */
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
  /**
   * @param {"start" | "fit"} how
   * @param {number} to
   */
  function settle(how, to) {
    mode = how;
    scale = to;
    x = Math.max(MARGIN, (width - picture.width * scale) / 2); // too wide: whole on the left beats cut on both sides
    y = MARGIN;
    moveStage();
    const first = how === "start" && frame.dataset.more ? firstBox() : null;
    if (!first) return;
    const [left, top] = [x + first.x * scale, y + first.y * scale];
    moveTo({ left, top, right: left + first.w * scale, bottom: top + first.h * scale });
  }
  /**
   * Moves as little as is needed to see a rectangle of the frame; returns false where nothing is to be done.
   *
   * @param {{ left: number, top: number, right: number, bottom: number }} rect
   */
  function moveTo({ left, top, right, bottom }) {
    const dx = shiftInto(left - MARGIN, right + MARGIN, 0, width);
    const dy = shiftInto(top - MARGIN, bottom + MARGIN, 0, height);
    if (!dx && !dy) return false;
    [x, y] = [x + dx, y + dy];
    moveStage();
    return true;
  }
  /** The frame may have another size. */
  function resize() {
    if (picture === NO_PICTURE || !frame.clientWidth) return; // in a closed tab of the page: the observer calls again
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
    },
  };
}

/**
 * @param {PictureSize} one
 * @param {PictureSize} other
 */
function isSameSize(one, other) {
  return one.width === other.width && one.height === other.height;
}

/**
 * Returns the nearest position at which enough of something is seen.
 *
 * @param {number} position
 * @param {number} size
 * @param {number} room
 */
function keepInSight(position, size, room) {
  return Math.min(Math.max(position, Math.min(0, SEEN - size)), Math.max(0, room - SEEN));
}

/**
 * Returns by how much something must be moved to lie between two limits; its start comes first.
 *
 * @param {number} low
 * @param {number} high
 * @param {number} least
 * @param {number} most
 */
function shiftInto(low, high, least, most) {
  if (low < least) return least - low;
  return high > most ? Math.max(most - high, least - low) : 0;
}
