// A question on a page of its own: an answer shows what is true, and the picture of it.

import { scalePicture } from "./book.js";
import { makeElement, makePrefix, targetOf, tellPieces, writeText } from "./dom.js";
import { mountPanel } from "./panel.js";
import { sentence as say } from "./words.js";

/** @import { Book, Question } from "./types.d.ts" */

const LETTERS = "ABCD";

/**
 * Puts a question into `el`: what is asked, the code, and the answers. Nothing that tells is in the page before one of
 * them, or "Just show me", is chosen; the answer may be changed as often as one likes.
 *
 * @param {HTMLElement} el
 * @param {Book & { question: Question }} book
 */
export function mountQuestion(el, book) {
  const { text, text_code = [], settings, answers, replies, right } = book.question;
  const prefix = makePrefix();
  const [run] = book.states;
  let scale = 1;
  let given = -1; // the answer that is replied to; the last reply belongs to "Just show me"

  const root = makeElement("div", { className: "gv-question gv-open" });
  el.append(root);
  const panel = mountPanel(root, { prefix });
  panel.setCode(book.code ?? {}, []);

  const pieces = tellPieces({ text, code: text_code });
  const asked = makeElement("p", { className: "gv-asked", id: `${prefix}-asked` }, ...pieces);
  if (settings) asked.append(makeElement("span", { className: "gv-with" }, settings));
  const inputs = answers.map((_, i) =>
    makeElement("input", { type: "radio", name: `${prefix}-answer`, onchange: () => reply(i) }));
  const marks = answers.map(() => makeElement("b", { className: "gv-mark" }));
  const labels = inputs.map((input, i) => makeElement(
    "label", {}, input, makeElement("span", { "data-letter": LETTERS[i] }, answers[i], marks[i]),
  ));
  const group = { className: "gv-answers", role: "radiogroup" };
  const choices = makeElement("div", group, ...labels);
  choices.setAttribute("aria-labelledby", asked.id);
  const show = makeElement("button", { type: "button", className: "gv-show" }, say("just_show"));
  show.addEventListener("click", () => reply(answers.length));
  root.prepend(asked);
  root.querySelector(".gv-code")?.after(choices, show);

  /** @param {number} answer its place */
  function reply(answer) {
    given = answer;
    inputs.forEach((input, i) => {
      input.checked = i === answer;
      writeText(marks[i], i === right ? "✓" : i === answer ? "✗" : "");
      labels[i].classList.toggle("gv-right", i === right);
      labels[i].classList.toggle("gv-wrong", i === answer && i !== right);
    });
    draw();
  }
  function draw() {
    if (given < 0) return;
    root.classList.remove("gv-open");
    const { sentence, sentence_code = [] } = replies[given];
    panel.show({ ...scalePicture(run, scale), sentence, sentence_code }, null);
    panel.select(replies[given].card);
  }
  /**
   * Takes the keys of a class: A to D answer, R reveals.
   *
   * @param {KeyboardEvent} event
   */
  function press(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.defaultPrevented) return;
    if (targetOf(event).closest?.("textarea, select, input:not([type=radio])")) return;
    const letter = event.key.toUpperCase();
    const answer = letter === "R" ? answers.length : LETTERS.slice(0, answers.length).indexOf(letter);
    if (answer < 0 || letter.length !== 1) return;
    event.preventDefault();
    reply(answer);
  }
  document.addEventListener("keydown", press);

  return {
    /**
     * Lets pictures get so many times as large as they were drawn.
     *
     * @param {number} factor
     */
    enlarge(factor) {
      scale = factor;
      draw();
    },
  };
}
