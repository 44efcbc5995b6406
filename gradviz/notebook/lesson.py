"""Questions for notebooks and classes: a click is the answer, and runs what is asked about.

No answer key is stored anywhere. What is true comes from the run that an answer starts, so it is
right for the torch that is installed, and for code that the reader has changed.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, NamedTuple
from weakref import WeakSet

from gradviz.graph.records import GradvizError
from gradviz.live import lifetime
from gradviz.live.explore import Exploration, missing
from gradviz.live.run import Run
from gradviz.live.still import VIEW, marked
from gradviz.live.turns import Turns
from gradviz.notebook.cells import brief, goals, step_plot, table, torchviz
from gradviz.picture.state import told_in_state
from gradviz.picture.together import Together
from gradviz.recording import Recording
from gradviz.words import given
from gradviz.words.en import BELIEF
from gradviz.words.plain import visible
from gradviz.words.speech import (
    backticked,
    language,
    part_of,
    pieces_of,
    say,
    spans_of,
    tell,
    together,
)

__all__ = [
    "Question",
    "Reply",
    "Wrong",
    "brief",
    "goals",
    "present",
    "question",
    "step_plot",
    "table",
    "torchviz",
]

FEWEST, MOST = 2, 4  # answers
MISCONCEPTIONS = dict(BELIEF)
"""Name -> what is believed. A course may add its own."""
SOURCES = {
    "M-clone-leaf": "C029",
    "M-detached-never": "C135",
    "M-flag-clears-grad": "C099",
    "M-copy_-false": "C133",
    "M-only-data": "C081",
    "M-optimizer-checks-flag": "C088",
}
"""Name -> where somebody wrote that down: the source of a ``Wrong``. Not every belief has one."""
SOURCE = re.compile(r"C\d{3}|https://\S+")
FRAME = (
    '<iframe title="{title}" srcdoc="{page}"'
    ' style="width:100%;height:640px;border:0;color-scheme:light dark"></iframe>'
)
_shown: WeakSet[Question] = WeakSet()
_presenting = False


class Wrong(NamedTuple):
    """What to say when this answer is wrong. It may belong to every answer: the run says which is
    right.

    Attributes:
        misconception: what one believes who gives this answer: a name in ``MISCONCEPTIONS``, or a
            few words.
        sentence: continues "You said 2; it is 5: " and points at the picture. What stands between
            backticks is set as code, here and in the misconception.
        card: the name of the card that lights up, e.g. "b".
        source: where somebody wrote the misconception down: a claim of the course's ledger such as
            "C029", or a link. Only then the reply says that it is often believed. Left out: that of
            ``SOURCES``, or none.
    """

    misconception: str
    sentence: str
    card: str = ""
    source: str = ""

    @property
    def belief(self) -> str:
        """The misconception in words."""
        name = self.misconception
        belief = MISCONCEPTIONS.get(name, name)
        # one of ours, and no course has put its own in the place of it
        return tell(f"belief.{name}") if belief is BELIEF.get(name) else backticked(belief)

    @property
    def remark(self) -> str:
        """The sentence about the misconception. How usual it is, is said only where there is a
        source."""
        source = self.source or SOURCES.get(self.misconception, "")
        if not source:
            return tell("question.slip", belief=self.belief)
        if source.startswith("https:"):
            return tell("question.believed", belief=self.belief, source=source)
        return tell("question.believed_claim", belief=self.belief)


class Reply(NamedTuple):
    """What is said to an answer.

    Attributes:
        sentence: all of it.
        place: of the right answer among the answers; None when none of them is right.
        card: the name of the card that lights up, or "".
    """

    sentence: str
    place: int | None
    card: str = ""


class Question:
    """What ``question`` returns. As the last line of a cell it shows itself.

    Attributes:
        text: the question.
        answers: the answers as they are shown.
        code: the listing that is asked about, as ``Exploration.code``.
        reply: what was said to the last answer; None before.
    """

    def __init__(
        self,
        text: str,
        look: Callable[[], Run],
        truth: Callable[[Run], Any],
        answers: dict[str, Wrong | None],
        right: str,
    ) -> None:
        self.text, self.answers = text, list(answers)
        self.code: dict[str, Any] = {}
        self.settings = ""
        self.reply: Reply | None = None
        self._look, self._truth, self._right = look, truth, right
        self._replies = list(answers.values())
        self._given: int | None = None
        self._run: Run | None = None
        self._turns = Turns(self._judge)
        self._together = Together()

    # --- answering --------------------------------------------------------------------------------

    def answer(self, answer: Any) -> str:
        """Give an answer, as a click does. It may be changed as often as one likes.

        Args:
            answer: one of ``answers``.

        Returns:
            The reply.

        Raises:
            GradvizError: it is none of the answers.
        """
        if _read(answer) not in self.answers:
            answer_text = (
                f"{button_text(answer)!r:.80}"
                if type(answer) in given.PLAIN
                else given.shown(answer)
            )
            raise GradvizError(
                f"{answer_text} is not one of the answers: {' | '.join(self.answers)}"
            )
        return self._take(self.answers.index(_read(answer)))

    def reveal(self) -> str:
        """Show what is true without an answer, as "Just show me" does.

        Returns:
            The sentence that says it.
        """
        return self._take(None)

    def check(self) -> str:
        """Check that the question can be answered, for tests.

        Returns:
            The answer that is right now.

        Raises:
            GradvizError: ``truth`` fails, none of the answers is right, or there is no card of a
                name that lights up.

        Example:
            >>> import torch
            >>> def double():
            ...     a = torch.ones(2, requires_grad=True)
            ...     (a * 2).sum().backward()
            >>> asked = question(
            ...     "What is `a.grad`?",
            ...     double,
            ...     truth=lambda run: run.tensors["a"]["grad"],
            ...     answers={"[1, 1]": Wrong("a factor is lost", "a is doubled."), "[2, 2]": None},
            ... )
            >>> asked.check()
            '[2, 2]'
        """
        run = self._look()
        try:
            truth = button_text(self._truth(run))
        except Exception as error:
            raise GradvizError(f"{self.text!r}: its truth raised {_error(error)}") from error
        if truth not in self.answers:
            raise GradvizError(
                f"{self.text!r}: it is {truth}, and none of the answers says so: {self.answers}"
            )
        known = {card["key"] for card in run.state["cards"].values()}
        for wrong in filter(None, self._replies):
            if wrong.card and known and wrong.card not in known:
                raise GradvizError(
                    f"{self.text!r}: no card is called {wrong.card!r}; there are {sorted(known)}"
                )
        return truth

    def book(self) -> dict[str, Any]:
        """Run what is asked about once, and return the question with all replies as plain data for
        an exported page."""
        run = self._look()
        run.join(Together())
        replies = [self._reply(run, position) for position in (*range(len(self.answers)), None)]
        return {
            "title": say("question.title"),
            "code": self.code,
            "controls": [],
            "states": [run.for_page],
            "question": {
                "text": (asked := backticked(self.text)),
                "text_code": list(map(list, spans_of(asked))),
                "settings": self.settings,
                "answers": self.answers,
                "replies": [
                    {**told_in_state(reply.sentence), "card": _card_id(run, reply)}
                    for reply in replies
                ],
                "right": replies[-1].place,
            },
        }

    def _take(self, position: int | None) -> str:
        """Take an answer by its position, None for none of them, and return the reply."""
        self._given = position
        self._turns.want()
        # none while a cell runs that holds the main thread
        return self.reply.sentence if self.reply else ""

    def _judge(self) -> None:
        """Run what is asked about, and reply to the answer that was given."""
        position = self._given
        self._run = run = self._look()
        run.join(self._together)
        self.reply = self._reply(run, position)
        if "widget" in self.__dict__:
            self._show(run, self.reply, position)

    def _reply(self, run: Run, given: int | None) -> Reply:
        """Return what is said to an answer after a run; ``given`` is the answer's position."""
        try:
            truth = button_text(self._truth(run))
        except Exception as error:
            return Reply(say("question.unanswerable", error=_error(error)), None)
        if truth not in self.answers:
            return Reply(_joined(self._verdict(truth, given), say("question.none_right")), None)
        position = self.answers.index(truth)
        wrong = None if given is None or given == position else self._replies[given]
        if wrong is None:
            told = run.state["sentence"] if run.graph.calls else ""
            why = _sentence(backticked(self._right) if self._right else told)
            return Reply(_joined(self._verdict(truth, given), why), position)
        verdict = tell(
            "question.said_wrong",
            answer=self.answers[given or 0],
            truth=truth,
            why=_sentence(backticked(wrong.sentence)),
        )
        return Reply(together([verdict, wrong.remark], "\n"), position, wrong.card)

    def _verdict(self, truth: str, given: int | None) -> str:
        """Return what is true, beside what was said."""
        if given is None:
            return tell("question.is", truth=truth)
        if self.answers[given] == truth:
            return tell("question.right", truth=truth)
        return tell("question.said", answer=self.answers[given], truth=truth)

    # --- views ------------------------------------------------------------------------------------

    @cached_property
    def widget(self) -> Any:
        """Question, answers, code and, after an answer, reply and picture: an ipywidgets Box."""
        import ipywidgets

        from gradviz.live.panel import panel
        from gradviz.live.widget import GraphWidget, Shown

        self._buttons = ipywidgets.ToggleButtons(
            options=self.answers,
            index=self._given,
            description=_as_html(backticked(self.text)) + self._said_settings,
            description_allow_html=True,
            tooltip="",  # else its label shows the word "null"
            style={"description_width": "initial", "button_width": "auto"},
        )
        self._reveal = ipywidgets.Button(
            description=say("question.just_show"), tooltip=say("question.just_show_title")
        )
        self._graph_widget = GraphWidget(code=self.code)
        self._graph_widget.observe(self._fit, "rooms")
        self._graph_widget.busy = lambda: self._turns.busy
        self._graph_widget.belongs_to([Shown.of(self._buttons, "index", None)])
        box = panel([self._buttons, self._reveal], self._graph_widget)
        self._panel = box.children[0].add_class("gradviz-question")
        self._buttons.observe(self._clicked, "index")
        self._reveal.on_click(lambda _: self.reveal())
        _shown.add(self)
        if self._run and self.reply:
            self._show(self._run, self.reply, self._given)
        self._dress()
        return box

    @property
    def _said_settings(self) -> str:
        """What was chosen and the code does not say, as HTML."""
        if not self.settings:
            return ""
        return f"<span class=gradviz-with> {html.escape(self.settings)}</span>"

    def close_views(self) -> None:
        """Close it in the page: the cell that showed it was run again. It can be answered, and
        shown, once more."""
        if "widget" in self.__dict__ and lifetime.close(self.widget):
            _shown.discard(self)
            del self.widget

    def _clicked(self, change: Any) -> None:
        """Take the answer that was clicked, unless it is the one that was given."""
        if change.new != self._given:
            self._take(change.new)

    def _fit(self, change: Any) -> None:
        """Draw the picture so that it can be read whole in the places that the page has for it."""
        if self._together.fit(change.new) and self._run and self.reply and self._run.fit():
            state = {**self._run.state, **told_in_state(self.reply.sentence)}
            self._graph_widget.state = state

    def _show(self, run: Run, reply: Reply, given: int | None) -> None:
        """Show a reply and the picture of its run in the widget."""
        from gradviz.live.widget import Shown

        # afresh: another answer is replied to, and what is shown of the run is no change
        state = {**run.state, **told_in_state(reply.sentence), "afresh": True}
        with self._graph_widget.hold_sync():
            self._graph_widget.figure, self._graph_widget.state = run.figure, state
            self._graph_widget.selected = _card_id(run, reply)
            self._graph_widget.belongs_to([Shown.of(self._buttons, "index", given)])
        self._buttons.index = given
        self._dress()

    def _dress(self) -> None:
        """Set the panel's classes, which say how far it is: ``static/question.css`` draws that."""
        right_position = self.reply.place if self.reply else None
        marks = {"gradviz-open": self.reply is None, "gradviz-present": _presenting}
        marks |= {f"gradviz-truth-{i}": i == right_position for i in range(MOST)}
        with self._panel.hold_sync():
            for mark, on in marks.items():
                (self._panel.add_class if on else self._panel.remove_class)(mark)
        self._reveal.description = say("question.reveal" if _presenting else "question.just_show")

    def _repr_mimebundle_(
        self, include: Any = None, exclude: Any = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the question as text and HTML and, where it can be shown, as a widget."""
        bundle = {"text/plain": repr(self), "text/html": self.html}
        if _missing():
            return bundle, {}
        view = self.widget._repr_mimebundle_()
        lifetime.note_shown(self)
        # before an answer it says itself that the cell has to be run
        return {**bundle, VIEW: view[VIEW]}, marked(has_caption=self.reply is not None)

    def _display_(self) -> Any:
        """Return what marimo shows, to which a box of ipywidgets is nothing: the question as a page
        of its own, as ``export`` writes it, in a frame."""
        from gradviz.picture.page import page

        return _Framed(page({**self.book(), "title": ""}).decode(), self.text)

    @property
    def html(self) -> str:
        """The same for pages without a kernel; the picture only after an answer."""
        code = f"<pre>{html.escape(self.code['text'])}</pre>" if self.code else ""
        answers = "".join(f"<li>{html.escape(answer)}</li>" for answer in self.answers)
        parts = [
            f"<p><strong>{_as_html(backticked(self.text))}</strong>"
            f" {html.escape(self.settings)}</p>{code}<ul>{answers}</ul>"
        ]
        if self._run and self.reply:
            reply = _as_html(self.reply.sentence).replace("\n", "<br>")
            parts += [f"<p>{reply}</p>", self._run.figure.html]
        else:
            request = _missing() or say("question.run_first")
            parts.append(f"<p><em>{html.escape(request)}</em></p>")
        return "\n".join(parts)

    def __repr__(self) -> str:
        """Return the same in words; what is true only after an answer."""
        code = "\n".join(f"    {line}" for line in self.code.get("text", "").splitlines())
        marks = ["(x)" if i == self._given else "( )" for i in range(len(self.answers))]
        answers = "\n".join(
            f"{mark} {answer}" for mark, answer in zip(marks, self.answers, strict=True)
        )
        heading = "\n".join(part for part in (self.text, self.settings) if part)
        after = (
            (self.reply.sentence, self._run.figure.text)
            if self._run and self.reply
            else (_missing(),)
        )
        return "\n\n".join(part for part in (heading, code, answers, *after) if part)


def question(
    text: str,
    scenario: Exploration | Recording | Callable[[], Any],
    settings: Mapping[str, Any] | None = None,
    *,
    truth: Callable[[Run], Any],
    answers: Mapping[Any, Wrong | None],
    right: str = "",
) -> Question:
    """Ask something that a run answers. A click on an answer runs it, replies, and shows the
    picture.

    Args:
        text: the question. What stands between backticks is set as code.
        scenario: what is asked about: an exploration, an ordinary function without parameters, or a
            recording.
        settings: for an exploration, control=label or value; other controls are at their start. The
            exploration's own panel stays as it is.
        truth: says what is right, from what the run left: ``lambda run: run.tensors["a"]["grad"]``.
            It is called anew for every answer.
        answers: two to four: what stands on the button, and what to say when it is wrong. They are
            compared with the truth as text. Give each answer its ``Wrong``, or the cell shows which
            one is right.
        right: why the right answer is right, in a sentence, with code between backticks; left out:
            what the picture says of the gradient.

    Returns:
        The question; as the last line of a cell it shows itself.

    Raises:
        GradvizError: something of it cannot be asked; the text says what, and what is expected.

    Example:
        >>> import torch
        >>> def cut():
        ...     a = torch.ones(2, requires_grad=True)
        ...     (a * 2 + a.detach() * 3).sum().backward()
        >>> values_bring_back = Wrong(
        ...     "values bring gradients back", "no gradient comes back along the dashed arrow."
        ... )
        >>> use_cuts = Wrong("a use is a cut", "both paths lead back to a.")
        >>> asked = question(
        ...     "What is `a.grad`?",
        ...     cut,
        ...     truth=lambda run: run.tensors["a"]["grad"],
        ...     answers={"[2, 2]": use_cuts, "[5, 5]": values_bring_back},
        ... )
        >>> print(asked.answer("[5, 5]"))
        You said [5, 5]; it is [2, 2]: no gradient comes back along the dashed arrow.
        A common slip would be to think that values bring gradients back.
    """
    if not isinstance(text, str) or not text.strip():
        raise GradvizError(
            f"lesson.question got {given.shown(text)}; expected the question as a text"
        )
    if not callable(truth):
        raise GradvizError(
            f"truth={given.shown(truth)} is no function; expected e.g. lambda run:"
            " run.tensors['a']['grad']"
        )
    if not isinstance(right, str):
        raise GradvizError(f"right={given.shown(right)} is no text; expected a sentence")
    if settings is not None:
        given.mapping(
            "settings", settings, "control: label or value in a dict, e.g. {'copy': 'clone'}"
        )
    settings = dict(settings or {})
    if settings and not isinstance(scenario, Exploration):
        raise GradvizError(
            f"settings={settings!r:.80} need an exploration with such controls; write them into the"
            " code"
        )
    if isinstance(scenario, Recording):
        return Question(text, lambda: Run.of(scenario), truth, _checked(answers), right)
    asked = scenario if isinstance(scenario, Exploration) else Exploration(scenario, {})
    new_question = Question(text, lambda: asked.run(**settings), truth, _checked(answers), right)
    new_question.code, unsaid = asked._listing_of(settings)
    new_question.settings = " ".join(f"{name}={visible(label)}" for name, label in unsaid.items())
    return new_question


def present(on: bool = True) -> None:
    """Show questions for a class: larger, with letters beside the answers, and keys that work while
    one has the focus.

    A to D answer, R reveals what is true; a click into a question gives it the focus. All questions
    of the notebook change, also those that are shown already. The browser's own zoom enlarges
    pictures as well.

    Args:
        on: False goes back.

    Raises:
        GradvizError: ``on`` is no flag.

    Example:
        >>> present()
        >>> present(False)
    """
    global _presenting
    given.flag("present()", on)
    _presenting = bool(on)
    for shown_question in list(_shown):
        shown_question._dress()


def button_text(value: Any) -> str:
    """Return how a value stands on a button, and is compared.

    >>> button_text(5.0), button_text([2, 2]), button_text(None)
    ('5', '[2, 2]', 'None')
    """
    return visible(f"{value:.10g}" if isinstance(value, float) else str(value))


def _card_id(run: Run, reply: Reply) -> str:
    """Return the id of the card that lights up in the picture of a run, or ""."""
    cards = run.state["cards"].items()
    return next((id for id, card in cards if card["key"] == reply.card), "")


def _read(value: Any) -> str:
    """Return the text of what a caller gives as an answer; "" for what cannot be said."""
    try:
        return button_text(value)
    except Exception:  # code of the value's own
        return ""


def _checked(answers: Mapping[Any, Wrong | None]) -> dict[str, Wrong | None]:
    """Return the answers by their texts, after a look at what is said to each of them."""
    if not isinstance(answers, Mapping) or not FEWEST <= len(answers) <= MOST:
        raise GradvizError(
            f"answers={given.shown(answers)}; expected {FEWEST} to {MOST} of them in a dict: {{'[5,"
            " 5, 5]': lesson.Wrong('a belief', 'what the picture shows instead.', card='b'), …}"
        )
    by_text = {button_text(answer): wrong for answer, wrong in answers.items()}
    if len(by_text) < len(answers) or not all(text.strip() for text in by_text):
        raise GradvizError(
            f"answers read {' | '.join(map(button_text, answers))}; expected different texts, none"
            " of them blank"
        )
    for text, wrong in by_text.items():
        if wrong is not None:
            _check_wrong(text, wrong)
    return by_text


def _check_wrong(answer: str, wrong: Any) -> None:
    """Raise where what is said to an answer is no ``Wrong``, lacks a text, or names a source or a
    misconception that is not known."""
    if not isinstance(wrong, Wrong):
        raise GradvizError(
            f"answers[{answer!r}] is {given.shown(wrong)}; expected a lesson.Wrong(…) or None"
        )
    if not _has_its_texts(wrong):
        raise GradvizError(
            f"answers[{answer!r}] is {wrong}; expected a misconception and a sentence"
        )
    if wrong.source and not SOURCE.fullmatch(wrong.source):
        raise GradvizError(
            f"source={wrong.source!r:.80} of answers[{answer!r}] is no source; expected a claim"
            " such as 'C029', or a link that starts with https://"
        )
    if wrong.misconception.startswith("M-") and wrong.misconception not in MISCONCEPTIONS:
        known = ", ".join(MISCONCEPTIONS)
        raise GradvizError(
            f"no misconception is called {wrong.misconception!r}; known are {known}. Name one"
            " of these, write the belief in words, or add it to lesson.MISCONCEPTIONS"
        )


def _has_its_texts(wrong: Wrong) -> bool:
    """Tell whether all parts are texts, and neither the misconception nor the sentence is blank."""
    if not all(isinstance(part, str) for part in wrong):
        return False
    return bool(wrong.misconception.strip() and wrong.sentence.strip())


class _Framed:
    """A page in a frame of another one."""

    def __init__(self, page: str, title: str) -> None:
        self._page, self._title = page, title

    def _repr_html_(self) -> str:
        """Return the frame with the page in it."""
        return FRAME.format(page=html.escape(self._page), title=html.escape(self._title))


def _missing() -> str:
    """Say what to install; "" where nothing is missing."""
    absent = missing()
    return say("question.missing", missing=absent) if absent else ""


def _as_html(text: str) -> str:
    """Return a text as HTML, with its code in code font.

    >>> _as_html(backticked("Is `a < b`?"))
    'Is <code>a &lt; b</code>?'
    """
    pieces = ((html.escape(piece), is_code) for piece, is_code in pieces_of(text))
    return "".join(f"<code>{piece}</code>" if is_code else piece for piece, is_code in pieces)


def _sentence(text: str) -> str:
    """Return a text with a full stop, unless it has an end already.

    >>> _sentence("a is cut "), _sentence("Why?"), _sentence("")
    ('a is cut.', 'Why?', '')
    """
    begin = len(text) - len(text.lstrip())
    text = part_of(text, begin, len(text.rstrip()))
    return text if not text or text[-1] in ".!?" else together([text, "."])


def _joined(*sentences: str) -> str:
    """Join sentences as the language does, without the empty ones."""
    return together(filter(None, sentences), language().between_sentences)


def _error(error: Exception) -> str:
    """Return an error's type and text on one line."""
    return visible(f"{type(error).__name__}: {error}".rstrip(": "), 300)
