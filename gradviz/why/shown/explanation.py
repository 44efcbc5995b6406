"""One answer: a verdict, where it happened, why, how to mend it, and what was ruled out. Knows no
torch."""

from __future__ import annotations

import html
import os
import re
import textwrap
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

from gradviz.graph.findings import OF_A_GRADIENT, Cause, Finding, Sure
from gradviz.graph.records import Call, Cut, CutReason, GradvizError, Graph, Source
from gradviz.picture.bars import Bar, bars_html
from gradviz.picture.figure import SUFFIXES, Figure, place_of, write
from gradviz.picture.page import static, still_page
from gradviz.why.shown.focus import focus
from gradviz.why.shown.place import outlined
from gradviz.words import given
from gradviz.words.plain import visible
from gradviz.words.speech import fill, language, say
from gradviz.words.words import Words, reason_of

LINES = 12  # lines of one explanation
PART = 3  # lines of one of its parts
MEND = 7  # of what to write instead: that is of no use when it is cut short
ACCOUNT = 18  # lines where no fault was found, and it is told what the recorded steps did
WIDTH = 120  # characters of a line
TAG_AT = 84  # where the [cause] stands on the first line
SENTENCE_ENDS = re.compile(r"(?<=[^.]\.) (?=[A-Z])")
HTML_TAG = '<code style="display:inline-block">{}</code>'
HTML_ROW = '<tr{}><th style="text-align:left">{}</th><td style="text-align:left">{}</td></tr>'
WHERE, MARK = ' class="gv-where" tabindex="0"', 'class="gv-here"'
WORDS_IN = ("txt", "html")  # suffixes of what holds an answer's words
# The row of the place and the marks over the picture light each other up.
LINKED = "why.css"


BLOCKS = (CutReason.NO_GRAD, CutReason.INFERENCE_MODE)  # under which torch records nothing
NOTHING_FOUND = Finding(Cause.NOT_KNOWN)


class Explanation(NamedTuple):
    """What is wrong with a gradient, or that nothing is. Plain data: holds no tensor, no node, no
    traceback.

    ``str()`` is a paragraph of at most twelve lines; in a notebook the picture of what it points at
    stands below.

    Attributes:
        cause: one machine-readable word, e.g. ``Cause.CUT``, which equals ``"cut"``;
            ``"not_known"`` where nothing is proven.
        verdict: the first line.
        where: the code that did it.
        why: the reason.
        mend: what to write instead.
        ruled_out: what was checked and is not the cause.
        lines: line numbers of the user's code that it points at.
        cuts: the cuts that it points at.
        node_ids: nodes of ``graph`` that it points at.
        tensor_ids: tensors of ``graph`` that it points at.
        graph: where those ids are looked up, or None.
        more: further short lines, such as numbers per block.
        finding: what is told here, before it was put into words.
        bars: sizes from the loss to the input, as a notebook draws them below the verdict.
        odd: short lines about what stands in the program beside that, and may not be meant.
        is_observed: whether such a line stands in the place of the verdict.
        before: whole sentences about the question itself, above the verdict.
        odd_calls: calls of ``graph`` that such a line is about; where there are some, the picture
            points at them in the outline of the model, and not at the finding.

    Example:
        >>> verdict = "w.grad is None: w is frozen."
        >>> print(Explanation(Cause.FROZEN, verdict, mend="w.requires_grad_()."))
        w.grad is None: w is frozen.                                                        [frozen]
          Fix     w.requires_grad_().
    """

    cause: Cause
    verdict: str
    where: str = ""
    why: str = ""
    mend: str = ""
    ruled_out: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()
    cuts: tuple[Cut, ...] = ()
    node_ids: tuple[int, ...] = ()
    tensor_ids: tuple[int, ...] = ()
    graph: Graph | None = None
    more: tuple[str, ...] = ()
    finding: Finding = NOTHING_FOUND
    bars: tuple[Bar, ...] = ()
    odd: tuple[str, ...] = ()
    is_observed: bool = False
    before: tuple[str, ...] = ()
    odd_calls: tuple[Call, ...] = ()

    @property
    def form(self) -> str:
        """A second machine-readable word: which of the cause's forms it is."""
        return self.finding.form

    @property
    def tag(self) -> str:
        """The cause in words, with the reason of the cut where there is one."""
        told = self.finding.cuts or self.cuts  # one of many tensors has those of all
        reasons = [say(f"cut.{c.reason.name.lower()}") for c in told]
        reasons = list(dict.fromkeys(reasons))
        if self.cause is Cause.HEALTHY or not reasons:
            return self.short_tag
        return say("explanation.tag", cause=self.short_tag, reasons=", ".join(reasons[:2]))

    @property
    def short_tag(self) -> str:
        """The cause in words."""
        return say("explanation.observed" if self.is_observed else f"cause.{self.cause}")

    @property
    def told_beside(self) -> tuple[str, ...]:
        """The short lines below the verdict: what is odd first."""
        return (*self.odd, *self.more)

    @property
    def figure(self) -> Figure | None:
        """The picture: of a model its outline, open where the cause is and with it marked, else
        reduced to what the explanation points at; None where there is nothing to draw."""
        if self.graph is None:
            return None
        if self.odd_calls:
            odd = Finding(self.cause, calls=self.odd_calls)
            return outlined(self.graph, odd, self.verdict, self.where)
        found = self.finding._replace(cuts=self.cuts)  # one of many tensors has those of all
        if whole := outlined(self.graph, found, self.verdict, self.where):
            return whole
        if not (self.tensor_ids or self.node_ids or self.cuts):
            return None
        graph = focus(self.graph, self.tensor_ids, self.node_ids, self.cuts)
        return Figure(graph, view="cards" if graph.calls else "nodes", title=self.verdict)

    def __str__(self) -> str:
        is_account, first = self.cause is Cause.HEALTHY, self._first_lines()
        most = {say("explanation.mend"): MEND}
        rest = [
            _wrapped(text, f"  {title:<7} ", most.get(title, PART)) for title, text in self._parts()
        ]
        if is_account:
            beside = (_hanging(line) for line in self.told_beside)
            more = [line for lines in beside for line in lines]
        else:
            more = [_shortened(f"  {visible(line, 500)}", WIDTH) for line in self.told_beside]
        room = ACCOUNT if is_account else LINES
        before = [line for text in self.before for line in _wrapped(text, "", 2)]
        return "\n".join([*before, *first, *_fitted(more, rest, room - len(first))])

    def __repr__(self) -> str:
        return str(self)

    def _first_lines(self) -> list[str]:
        """Return the verdict with its tag: an observation whole, as it has its mend in it."""
        first = _wrapped(self.verdict, "", 5 if self._is_remark else 2)
        fits = len(first[-1]) + len(self.tag) + 4 <= WIDTH
        tag = f"[{self.tag if fits else self.short_tag}]"
        fits_whole = len(first[-1]) + len(tag) + 2 <= WIDTH
        if (len(first) == 1 or self._is_remark) and not fits_whole:
            first.append("")
        first[-1] = _shortened(first[-1], WIDTH - len(tag) - 2)
        first[-1] = f"{first[-1]:<{min(TAG_AT, WIDTH - len(tag)) - 2}}  {tag}"
        return first

    def _lead(self) -> tuple[str, str]:
        """Return what of the verdict leads, and the rest: of an observation, which has its mend in
        it, the first sentence leads."""
        end = SENTENCE_ENDS.search(self.verdict) if self._is_remark else None
        if end is None:
            return self.verdict, ""
        return self.verdict[: end.start()], self.verdict[end.end() :]

    @property
    def _is_remark(self) -> bool:
        """Whether the verdict is an observation, or an account of what was found."""
        return self.cause is Cause.HEALTHY or bool(self.odd_calls)

    def _parts(self) -> list[tuple[str, str]]:
        """Return its further parts, each with its title; those that say nothing left out."""
        ruled_out = "; ".join(self.ruled_out)
        parts = [
            (say("explanation.where"), self.where),
            (say("explanation.why"), self.why),
            (say("explanation.mend"), self.mend),
            (
                say("explanation.ruled_out"),
                say("explanation.all_ruled_out", all=ruled_out) if ruled_out else "",
            ),
        ]
        return [(title, text) for title, text in parts if text]

    @property
    def html(self) -> str:
        """The same words for a cell, whatever its width."""
        return self._html(is_linked=False)

    def _html(self, *, is_linked: bool) -> str:
        """Write the words for a cell; where marks of a picture are linked to it, the row of the
        place can be pointed at and clicked."""
        where = say("explanation.where") if is_linked else ""
        rows = "".join(
            HTML_ROW.format(
                WHERE if title == where else "",
                html.escape(title),
                html.escape(visible(text, 600)),
            )
            for title, text in self._parts()
        )
        lines = (html.escape(visible(line, 500)) for line in self.told_beside)
        more = "".join(f"<br>{line}" for line in lines)
        lead, rest = (html.escape(visible(part, 600)) for part in self._lead())
        bars = bars_html(self.verdict, self.bars)
        tag = HTML_TAG.format(html.escape(self.tag))
        before = "".join(f"<p>{html.escape(visible(line, 500))}</p>" for line in self.before)
        verdict = f"<b>{lead}</b> {rest}".rstrip()
        return f"{before}<p>{verdict} {tag}{more}</p>{bars}<table>{rows}</table>"

    def save(
        self, path: str | os.PathLike[str], *, theme: Literal["light", "dark"] = "light"
    ) -> None:
        """Write the answer to a file.

        Args:
            path: its suffix says what of it: .txt the words, .html words and picture; any other
                format the picture, as ``Figure.save``.
            theme: "dark" for a picture on a dark page.

        Raises:
            GradvizError: another theme or suffix, or there is no picture.

        Example:
            >>> import tempfile
            >>> answer = Explanation(Cause.FROZEN, "w.grad is None: w is frozen.")
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     answer.save(f"{folder}/why.txt")
        """
        target = given.path("save()", path, "why.html")
        suffix = given.suffix(target, dict.fromkeys([*WORDS_IN, *SUFFIXES]))
        given.one_of("theme=", theme, ("light", "dark"))
        if suffix in WORDS_IN:
            write(place_of(target), self._as_file(suffix))
        elif (figure := self.figure) is not None:
            figure.save(target, theme=theme)
        else:
            raise GradvizError(
                f"cannot save {target.name!r}: this answer has no picture; its words can be saved"
                " as .txt or .html"
            )

    def _as_file(self, suffix: str) -> bytes:
        """Return the words as a text, or as a page with the picture."""
        if suffix == "txt":
            return f"{self}\n".encode("utf-8", "replace")
        return still_page(visible(self.verdict, 200), self._repr_mimebundle_()["text/html"])

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        figure = self.figure
        picture = figure.html if figure is not None else ""
        if MARK in picture:
            both = self._html(is_linked=True) + picture
            shown = f'<style>{static(LINKED)}</style><div class="gv-why">{both}</div>'
        else:
            shown = self.html + picture
        return {"text/plain": str(self), "text/html": shown}


def _wrapped(text: str, head: str, most: int) -> list[str]:
    lines = textwrap.wrap(
        visible(text, WIDTH * MEND), WIDTH, initial_indent=head, subsequent_indent=" " * len(head)
    )
    return (
        lines
        if len(lines) <= most
        else [*lines[: most - 1], _shortened(lines[most - 1] + " …", WIDTH)]
    )


def _hanging(text: str) -> list[str]:
    """Return a line of an account, whole, its further lines set in."""
    lines = visible(text, 600)
    return textwrap.wrap(lines, WIDTH, initial_indent="  ", subsequent_indent="    ")


def _shortened(line: str, width: int) -> str:
    return line if len(line) <= width else line[: width - 1].rstrip() + "…"


def _fitted(more: list[str], parts: list[list[str]], room: int) -> list[str]:
    """Return all of it where there is room; otherwise first the further lines go, then the ends of
    the longest parts."""
    while sum(map(len, parts)) > room:
        longest = max(parts, key=len)
        longest.pop()
        longest[-1] = _shortened(longest[-1] + " …", WIDTH)
    return [*more[: room - sum(map(len, parts))], *(line for part in parts for line in part)]


# --- words that every explanation uses ------------------------------------------------------------


def at_a_word(text: str, most: int) -> str:
    """Shorten a text to so many letters, at a blank where there is one.

    >>> at_a_word("one two three", 9), at_a_word("one two", 9), at_a_word("onetwothree", 9)
    ('one two …', 'one two', 'onetwoth…')
    """
    words, blank, rest = text[: most - 1].rpartition(" ")
    return text if len(text) <= most else f"{words} …" if blank else f"{rest}…"


def worded(finding: Finding, words: Words, group: str = "") -> Explanation:
    """Put a finding into words.

    Args:
        finding: what is proven.
        words: what the tensors and calls of its graph are called.
        group: names of the tensors of which all the same is told; "" for the finding's own subject.
    """
    answer = language().answers[finding.cause, finding.form]
    fields = fields_of(finding, group)
    verdict = fill(answer.verdict, fields)
    told = (*finding.calls, *finding.also_at)
    return Explanation(
        finding.cause,
        say("group.verdict", names=group, verdict=verdict) if group else verdict,
        _where(finding, words),
        fill(answer.why, fields),
        fill(answer.mend, fields),
        tuple(say(f"ruled_out.{key}", **fields) for key in finding.checked),
        tuple(dict.fromkeys([*offs(finding), *lines_of(told, finding.statements)])),
        finding.cuts,
        finding.node_ids,
        finding.tensor_ids,
        words.graph,
        (*(fill(line, fields) for line in answer.more), *finding.more),
        finding,
    )


def _where(finding: Finding, words: Words) -> str:
    """Return where it happened; what a line switched off, by that line first."""
    places = words.places(finding.calls, finding.statements)
    switched = offs(finding)
    if not switched:
        return places
    call = next(c for c in finding.calls if c.source and c.source.off == switched[0])
    return say(
        "explanation.switched_off",
        where=words.where_off(call),
        block=reason_of(next(c for c in finding.cuts if c.call_id == call.id)),
        places=places,
    )


def offs(finding: Finding) -> list[int]:
    """Return the lines that switched gradients off around the cuts of a finding, each once."""
    blocks = {c.call_id for c in finding.cuts if c.reason in BLOCKS}
    sources = (call.source for call in finding.calls if call.id in blocks)
    return list(dict.fromkeys(s.off for s in sources if s is not None and s.off is not None))


def fields_of(finding: Finding, group: str = "") -> dict[str, Any]:
    """Return what the sentences of a finding may name: its own fields, and those of every one."""
    name = finding.subject
    fields = {
        "it": say("group.it") if group else name,
        "grad": say("group.grad") if group else say("label.grad", name=name),
        "loss": finding.loss,
        "health": health_of(finding.sure),
        **finding.fields,
    }
    if finding.symptom not in OF_A_GRADIENT:
        return fields
    return {**fields, "symptom": say(f"symptom.{finding.symptom.name.lower()}", **fields)}


def health_of(sure: Sure) -> str:
    """Say how sure it is that all is well, where no fault was found; "" where it is proven."""
    if sure is Sure.PROVEN:
        return ""
    return say("doubt.so_far" if sure is Sure.LIKELY else "doubt.open")


def lines_of(calls: Iterable[Call], statements: Iterable[Source] = ()) -> tuple[int, ...]:
    """Return line numbers of calls, then those of statements, each once."""
    sources = (*(c.source for c in calls if c.source), *statements)
    return tuple(dict.fromkeys(source.line for source in sources))
