"""Sentences of the language that is spoken, with their fields filled in. Knows no torch.

NOTE [whole sentences]: what a person reads is a whole sentence from a language's tables, named by
its key; code chooses the sentence and gives the fields, and glues nothing. A field is plain text
(a name, code, a number) or itself a phrase from the tables. What agrees with a field says so in the
sentence, by the spec behind the field's colon:

- ``{names:list}``: "a, b and c", of a list.
- ``{names:few}``: "a, b and 3 more", of a list.
- ``{names:commas}``: "a, b, c", of a list that only enumerates.
- ``{reasons:sentences}``: whole sentences, one after the other.
- ``{n:one leaf|# leaves}``: by a number, or by the length of a list. Three forms are for none, one
  and more. In a form ``#`` is the number in digits, ``##`` the number in words up to twelve.
- ``{gradient:values}``: what a record keeps of a tensor's values; of a list, of each.
- ``{phrase:cap}``: with its first letter upper case.
- ``{name:begin}``: what begins the sentence: a phrase like that, a name or code as it is written.

NOTE [what is code]: a panel sets names and code in another font. Which letters these are is known
where a text is made: a field may be ``Code``, and a sentence of the tables, or an author's text,
has its own code between backticks, which nobody sees. ``tell`` keeps it with the text, ``say`` does
not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from functools import cache, partial
from string import Formatter
from typing import Any, NamedTuple

from gradviz.graph.preview import parts_of, unread
from gradviz.words.en import ENGLISH
from gradviz.words.language import Language
from gradviz.words.plain import visible

FEW = 3  # parts of a list that are all named
QUOTE = "`"  # around code, in sentences of the tables and in texts of authors
Tell = Callable[[Any], str]
Span = tuple[int, int]  # of letters: the first, and the one after the last


class Told(str):
    """A text that may know which of its letters are code: see NOTE [what is code]."""

    __slots__ = ("code",)
    code: tuple[Span, ...]  # not set where nothing is


class Phrase(Told):
    """A text that begins with words of the language, and not with the user's: such a one alone is
    written upper case where a sentence begins."""

    __slots__ = ()


class Code(str):
    """A name or code: all of it is code."""

    __slots__ = ()

    @property
    def code(self) -> tuple[Span, ...]:
        """All letters."""
        return ((0, len(self)),) if self else ()


class Voice:
    """A language while it is spoken, and its sentences taken apart as far as they were said."""

    def __init__(self, language: Language) -> None:
        self.language = language
        self.forms: dict[str, Form] = {}  # by key

    def form(self, key: str) -> Form:
        """Return one sentence of the language, taken apart.

        Raises:
            KeyError: the language has no such sentence.
        """
        form = self.forms.get(key)
        if form is None:
            form = self.forms[key] = form_of(self.language.sentences[key])
        return form


_voices = [Voice(ENGLISH)]


def language() -> Language:
    """Return the language that is spoken now."""
    return _voices[-1].language


@contextmanager
def speaking(other: Language) -> Iterator[None]:
    """Speak another language inside the block."""
    voice = Voice(other)
    _voices.append(voice)
    try:
        yield
    finally:
        # the last of that language: blocks of two languages may end in any order
        _voices.remove(voice)


def say(key: str, /, **fields: Any) -> str:
    """Return a sentence with its fields filled in.

    Args:
        key: "section.key" of the language's tables.
        fields: what stands in the sentence's braces: texts, numbers, lists of texts.

    Raises:
        KeyError: the language has no such sentence, or the sentence names another field.

    Example:
        >>> say("list.more_places", n=2)
        'and 2 more places'
    """
    # a picture says hundreds of sentences, so the usual way is the short one
    voice = _voices[-1]
    whole, first, fill_in, _ = voice.forms.get(key) or voice.form(key)
    if whole is not None:
        return whole
    text = fill_in(fields)
    if first and not isinstance(fields[first], Phrase):
        return text
    return Phrase(text)


def tell(key: str, /, **fields: Any) -> Told:
    """Return the same sentence as ``say`` does, which knows what of it is code.

    Example:
        >>> told = tell("summary.path", name=Code("c"), leaves=[Code("a")])
        >>> told, spans_of(told)
        ('A gradient path leads from c to a.', ((27, 28), (32, 33)))
    """
    form = _voices[-1].form(key)
    told = together([part.told(fields) for part in form.parts])
    is_phrase = not form.first or isinstance(fields[form.first], Phrase)
    return _knowing(told, spans_of(told), Phrase if is_phrase else Told)


def backticked(text: str) -> Told:
    """Return an author's text without its backticks; what stood between two of them is code.

    >>> backticked("is `a` cut?"), spans_of(backticked("is `a` cut?"))
    ('is a cut?', ((3, 4),))
    >>> backticked("one ` alone"), spans_of(backticked("one ` alone"))
    ('one ` alone', ())
    """
    return _knowing("".join(piece for piece, _ in _quoted(text)), _spans(_quoted(text)))


def spans_of(text: str) -> tuple[Span, ...]:
    """Return which letters of a text are code.

    >>> spans_of(Code("a.grad")), spans_of("a.grad")
    (((0, 6),), ())
    """
    return getattr(text, "code", ())


def pieces_of(text: str) -> list[tuple[str, bool]]:
    """Return a text in pieces, each with whether it is code.

    >>> pieces_of(backticked("is `a` cut?"))
    [('is ', False), ('a', True), (' cut?', False)]
    """
    pieces, at = [], 0
    for start, end in spans_of(text):
        pieces += [(str(text[at:start]), False), (str(text[start:end]), True)]
        at = end
    return [(piece, is_code) for piece, is_code in [*pieces, (str(text[at:]), False)] if piece]


def together(parts: Iterable[str], between: str = "") -> Told:
    """Join texts; what is code in them is code in the whole.

    >>> whole = together([Code("a"), "is cut."], " ")
    >>> whole, spans_of(whole)
    ('a is cut.', ((0, 1),))
    """
    parts = list(parts)
    text = between.join(parts)
    if not any(map(spans_of, parts)):
        return Told(text)
    spans: list[Span] = []
    at = 0
    for part in parts:
        spans += [(at + start, at + end) for start, end in spans_of(part)]
        at += len(part) + len(between)
    return _knowing(text, spans)


def part_of(text: str, start: int, end: int) -> Told:
    """Return the letters of a text from one to the one before another; what is code stays code.

    >>> pieces_of(part_of(backticked(" `a.grad` is 5"), 3, 10))
    [('grad', True), (' is', False)]
    """
    clipped = [(max(start, a), min(end, b)) for a, b in spans_of(text)]
    return _knowing(text[start:end], [(a - start, b - start) for a, b in clipped if a < b])


def clear(text: str, limit: int) -> Told:
    """Write out what cannot be seen in a text, and keep it short, as ``visible`` does; what is code
    stays code.

    >>> pieces_of(clear(backticked("`a.grad` is cut"), 9)), pieces_of(clear(Code("a.grad"), 4))
    ([('a.grad', True), (' i…', False)], [('a.g', True), ('…', False)])
    """
    seen = [(visible(piece, len(piece)), is_code) for piece, is_code in pieces_of(text)]
    whole = _knowing("".join(piece for piece, _ in seen), _spans(seen))
    return together([part_of(whole, 0, limit - 1), "…"]) if len(whole) > limit else whole


def _quoted(text: str) -> list[tuple[str, bool]]:
    """Return the pieces of a text with backticks, each with whether it stands between two."""
    pieces = text.split(QUOTE)
    if len(pieces) % 2 == 0:  # the last one stands alone, and is a letter like any other
        pieces[-2:] = [QUOTE.join(pieces[-2:])]
    return [(piece, i % 2 == 1) for i, piece in enumerate(pieces)]


def _spans(pieces: Iterable[tuple[str, bool]]) -> list[Span]:
    """Return where the pieces that are code stand in the whole."""
    spans, at = [], 0
    for piece, is_code in pieces:
        if is_code and piece:
            spans.append((at, at + len(piece)))
        at += len(piece)
    return spans


def _knowing(text: str, spans: Iterable[Span], kind: type[Told] = Told) -> Told:
    """Return a text that knows what of it is code; what touches is one piece of code."""
    merged: list[Span] = []
    for start, end in spans:
        if merged and merged[-1][1] == start:
            start = merged.pop()[0]
        merged.append((start, end))
    told = kind(text)
    told.code = tuple(merged)
    return told


def fill(sentence: str, fields: Mapping[str, Any]) -> str:
    """Fill in the fields of one sentence: see NOTE [whole sentences].

    >>> fill("{xs:list} {xs:is|are} {n:no leaf|one leaf|## leaves}", {"xs": ["a", "b"], "n": 3})
    'a and b are three leaves'
    >>> fill("{xs:few}; {n:# node|# nodes}; {what:cap}", {"xs": "abcde", "n": 1200, "what": "it"})
    'a, b and 3 more; 1,200 nodes; It'
    >>> fill("{what:begin}. {name:begin}.", {"what": Phrase("the input"), "name": "input"})
    'The input. input.'
    >>> fill("{why:sentences}", {"why": ["It is a leaf.", "It is frozen."]})
    'It is a leaf. It is frozen.'
    """
    return form_of(sentence).fill_in(fields)


class Form(NamedTuple):
    """A sentence taken apart, once."""

    whole: Phrase | None  # all of it, where it has no field
    first: str  # the field with which it begins, "" where it begins with words of its own
    fill_in: Callable[[Mapping[str, Any]], str]
    parts: tuple[Part, ...]


class Part(NamedTuple):
    """A text of a sentence, or a field."""

    text: str  # the field's name, where it is one
    tell: Tell | None  # how the field is told; None for a text
    is_code: bool  # it stands between backticks

    def told(self, fields: Mapping[str, Any]) -> str:
        """Return the text, or the field as it is told."""
        text = self.tell(fields[self.text]) if self.tell else self.text
        return Code(text) if self.is_code else text


@cache
def form_of(sentence: str) -> Form:
    """Take a sentence apart.

    Raises:
        KeyError: a field has a spec that is none.

    Example:
        >>> form_of("a view of {base}").first, form_of("{name} of {base}").first
        ('', 'name')
        >>> form_of("{n:one|#}").first
        ''
        >>> form_of("It is a leaf.").whole
        'It is a leaf.'
    """
    parts = _parts_of(sentence)
    plain = sentence.replace(QUOTE, "")
    pieces = [(text, name or "", spec or "") for text, name, spec, _ in Formatter().parse(plain)]
    begin, first, spec = pieces[0] if pieces else ("", "", "")
    if begin or spec not in TELL:
        first = ""
    if not any(name for _, name, _ in pieces):
        return Form(Phrase(plain.format_map({})), "", plain.format_map, parts)
    # without specs Python's own way takes a third of the time
    if not any(spec for _, _, spec in pieces):
        return Form(None, first, plain.format_map, parts)
    return Form(None, first, partial(_joined_parts, parts), parts)


def _parts_of(sentence: str) -> tuple[Part, ...]:
    """Take a sentence apart into its texts and fields."""
    parts: list[Part] = []
    is_code = False
    for text, name, spec, _ in Formatter().parse(sentence):
        for i, piece in enumerate(text.split(QUOTE)):
            is_code ^= i > 0
            parts.append(Part(piece, None, is_code))
        if name:
            parts.append(Part(name, TELL.get(spec or "") or agreeing(spec or ""), is_code))
    return tuple(part for part in parts if part.text)


def _joined_parts(parts: Sequence[Part], fields: Mapping[str, Any]) -> str:
    """Join the parts of a sentence, each field told as its spec says."""
    return "".join([how(fields[text]) if how else text for text, how, _ in parts])


def joined(parts: Sequence[str]) -> str:
    """Join the parts of a list.

    >>> joined([]), joined(["a"]), joined(["a", "b", "c"])
    ('', 'a', 'a, b and c')
    """
    if len(parts) < 2:
        return together(parts)
    spoken = language()
    begin, middle, end = spoken.last_two.split("{}")
    return together([begin, together(parts[:-1], spoken.between), middle, parts[-1], end])


def enumerated(parts: Sequence[str]) -> str:
    """Join the parts of a list that only enumerates.

    >>> enumerated(["a", "b", "c"])
    'a, b, c'
    """
    return together(parts, language().between)


def several(names: Sequence[str], few: int = FEW) -> str:
    """Join the parts of a list, and count those after the second where they are many.

    >>> several(["a"]), several(["a", "b", "c"]), several(list("abcde"))
    ('a', 'a, b and c', 'a, b and 3 more')
    """
    if len(names) <= few:
        return joined(names)
    return joined([*names[:2], language().others.format(len(names) - 2)])


def number(n: int) -> str:
    """Return a number in words, in digits above twelve.

    >>> number(2), number(40)
    ('two', '40')
    """
    words = language().numbers
    return words[n] if n < len(words) else f"{n:,}"


def begun(words: Any) -> str:
    """Begin a sentence: a phrase gets a capital, a name or code stays as it is written."""
    return words[:1].upper() + words[1:] if isinstance(words, Phrase) else str(words)


def values_of(preview: str | None) -> str:
    """Return what a record keeps of a tensor's values, in words where they were not read.

    >>> values_of("[1, 2]"), values_of("(32, 10)"), values_of("()"), values_of("(?)")
    ('[1, 2]', '32×10 values', '1 value', 'values not known')
    >>> values_of("(3, 4) ‖0.5‖")
    '3×4 values of norm 0.5'
    """
    text = str(preview)
    if not unread(text):
        return text
    shape, norm = parts_of(text)
    if shape is None:
        words = say("values.unknown")
    else:
        words = say("values.many", shape="×".join(map(str, shape))) if shape else say("values.one")
    return say("values.of_norm", values=words, norm=norm) if norm else words


def values_of_all(preview: str | list[str] | None) -> str:
    """Return values in words; of a list of them, each."""
    return (
        joined(list(map(values_of, preview))) if isinstance(preview, list) else values_of(preview)
    )


class AtLeast(int):
    """A number of times that may have been more: of a recording that has not kept all of them.

    >>> f"{AtLeast(3)} times", agreeing("once|# times")(AtLeast(1))
    ('at least 3 times', 'at least once')
    """

    def __format__(self, spec: str) -> str:
        """Return it as it is told."""
        return say("list.at_least", what=format(int(self), spec))

    __str__ = __repr__ = lambda self: format(self, "")


def text_of(value: Any) -> str:
    """Return a field as a text; what is code in it stays code."""
    return value if isinstance(value, str) else str(value)


@cache
def agreeing(spec: str) -> Tell:
    """Return what chooses the form that agrees with a number, or with the length of a list.

    Raises:
        KeyError: these are neither two forms nor three.

    Example:
        >>> agreeing("one leaf|# leaves")(["a", "b"]), agreeing("no leaf|one leaf|## leaves")(3)
        ('2 leaves', 'three leaves')
    """
    forms = spec.split("|")
    if len(forms) not in (2, 3):
        known = ", ".join(name for name in TELL if name)
        raise KeyError(f"a field's spec is {known}, or forms that agree with it, not {spec}")
    none, one, many = forms if len(forms) == 3 else (forms[1], *forms)

    def tell(value: int | Sized) -> str:
        n = int(value) if isinstance(value, int) else len(value)
        form = none if n == 0 else one if n == 1 else many
        told = form.replace("##", number(n)).replace("#", f"{n:,}") if "#" in form else form
        return say("list.at_least", what=told) if isinstance(value, AtLeast) else told

    return tell


# How a field is told, by its spec; every other spec is of forms that agree with it.
TELL: dict[str, Tell] = {
    "": text_of,
    "list": joined,
    "values": values_of_all,
    "few": several,
    "commas": enumerated,
    "sentences": lambda parts: together(parts, language().between_sentences),
    "cap": lambda phrase: phrase[:1].upper() + phrase[1:],
    "begin": begun,
}
