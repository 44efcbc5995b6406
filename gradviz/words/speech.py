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
- ``{phrase:cap}``: with its first letter upper case.
- ``{name:begin}``: what begins the sentence: a phrase like that, a name or code as it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from functools import cache
from string import Formatter
from typing import Any

from gradviz.words.en import ENGLISH
from gradviz.words.language import Language

FEW = 3  # parts of a list that are all named
Tell = Callable[[Any, str], str]
# text, the field after it or "", the field's spec, and how it is told
Part = tuple[str, str, str, Tell]


class Phrase(str):
    """A text that begins with words of the language, and not with the user's: such a one alone is
    written upper case where a sentence begins."""

    __slots__ = ()


_spoken: list[Language] = [ENGLISH]


def language() -> Language:
    """Return the language that is spoken now."""
    return _spoken[-1]


@contextmanager
def speaking(other: Language) -> Iterator[None]:
    """Speak another language inside the block."""
    _spoken.append(other)
    try:
        yield
    finally:
        _spoken.remove(other)


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
    sentence = _spoken[-1].sentences[key]
    text = fill(sentence, fields)
    name = first_field(sentence)
    return text if name and not isinstance(fields[name], Phrase) else Phrase(text)


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
    parts = parts_of(sentence)
    if parts is None:
        return sentence.format_map(fields)
    told = []
    for text, name, spec, tell in parts:
        told.append(text)
        if name:
            told.append(tell(fields[name], spec))
    return "".join(told)


@cache
def first_field(sentence: str) -> str:
    """Return the field with which a sentence begins; "" where it begins with words of its own.

    >>> first_field("a view of {base}"), first_field("{name} of {base}"), first_field("{n:one|#}")
    ('', 'name', '')
    """
    for text, name, spec, _ in Formatter().parse(sentence):
        return "" if text or spec not in TELL else name or ""
    return ""


@cache
def parts_of(sentence: str) -> tuple[Part, ...] | None:
    """Take a sentence apart; None where no field has a spec, so that ``format_map`` fills it in,
    which takes a third of the time."""
    parsed = [(text, name or "", spec or "") for text, name, spec, _ in Formatter().parse(sentence)]
    if not any(spec for _, _, spec in parsed):
        return None
    return tuple((text, name, spec, TELL.get(spec, _agreeing)) for text, name, spec in parsed)


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


def _plain(value: Any, spec: str) -> str:
    return str(value)


def _agreeing(value: int | Sized, spec: str) -> str:
    """Choose the form that agrees with a number, or with the length of a list."""
    n = value if isinstance(value, int) else len(value)
    forms = spec.split("|")
    if len(forms) not in (2, 3):
        known = ", ".join(name for name in TELL if name)
        raise KeyError(f"a field's spec is {known}, or forms that agree with it, not {spec}")
    none, one, many = forms if len(forms) == 3 else (forms[1], *forms)
    form = none if n == 0 else one if n == 1 else many
    return form.replace("##", number(n)).replace("#", f"{n:,}")


# How a field is told, by its spec; every other spec is of forms that agree with it.
TELL: dict[str, Tell] = {
    "": _plain,
    "list": lambda parts, _: joined(parts),
    "few": lambda parts, _: several(parts),
    "commas": lambda parts, _: enumerated(parts),
    "sentences": lambda parts, _: language().between_sentences.join(parts),
    "cap": lambda phrase, _: phrase[:1].upper() + phrase[1:],
    "begin": lambda words, _: begun(words),
}
