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
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from functools import cache, partial
from string import Formatter
from typing import Any, NamedTuple

from gradviz.graph.preview import parts_of, unread
from gradviz.words.en import ENGLISH
from gradviz.words.language import Language

FEW = 3  # parts of a list that are all named
Tell = Callable[[Any], str]
# text, the field after it or "", and how that is told
Part = tuple[str, str, Tell]


class Phrase(str):
    """A text that begins with words of the language, and not with the user's: such a one alone is
    written upper case where a sentence begins."""

    __slots__ = ()


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
    whole, first, fill_in = voice.forms.get(key) or voice.form(key)
    if whole is not None:
        return whole
    text = fill_in(fields)
    if first and not isinstance(fields[first], Phrase):
        return text
    return Phrase(text)


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
    pieces = [(text, name or "", spec or "") for text, name, spec, _ in Formatter().parse(sentence)]
    begin, first, spec = pieces[0] if pieces else ("", "", "")
    if begin or spec not in TELL:
        first = ""
    if not any(name for _, name, _ in pieces):
        return Form(Phrase(sentence.format_map({})), "", sentence.format_map)
    # without specs Python's own way takes a third of the time
    if not any(spec for _, _, spec in pieces):
        return Form(None, first, sentence.format_map)
    parts = tuple((text, name, TELL.get(spec) or agreeing(spec)) for text, name, spec in pieces)
    return Form(None, first, partial(_joined_parts, parts))


def _joined_parts(parts: Sequence[Part], fields: Mapping[str, Any]) -> str:
    """Join the parts of a sentence, each field told as its spec says."""
    told = []
    for text, name, tell in parts:
        told.append(text)
        if name:
            told.append(tell(fields[name]))
    return "".join(told)


def joined(parts: Sequence[str]) -> str:
    """Join the parts of a list.

    >>> joined([]), joined(["a"]), joined(["a", "b", "c"])
    ('', 'a', 'a, b and c')
    """
    if len(parts) < 2:
        return "".join(parts)
    spoken = language()
    return spoken.last_two.format(spoken.between.join(parts[:-1]), parts[-1])


def enumerated(parts: Sequence[str]) -> str:
    """Join the parts of a list that only enumerates.

    >>> enumerated(["a", "b", "c"])
    'a, b, c'
    """
    return language().between.join(parts)


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
        n = value if isinstance(value, int) else len(value)
        form = none if n == 0 else one if n == 1 else many
        return form.replace("##", number(n)).replace("#", f"{n:,}") if "#" in form else form

    return tell


# How a field is told, by its spec; every other spec is of forms that agree with it.
TELL: dict[str, Tell] = {
    "": str,
    "list": joined,
    "values": values_of_all,
    "few": several,
    "commas": enumerated,
    "sentences": lambda parts: language().between_sentences.join(parts),
    "cap": lambda phrase: phrase[:1].upper() + phrase[1:],
    "begin": begun,
}
