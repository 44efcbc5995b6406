"""A language that is none: the English one, in which each sentence's own text stands in ⟦brackets⟧.

Fields fall outside of the brackets, so what is outside in the end was not said by the tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from string import Formatter
from typing import Any

from gradviz.words.en import ENGLISH
from gradviz.words.language import Language
from gradviz.words.speech import TELL

OPEN, CLOSE = "⟦", "⟧"
# of a language, what is no sentence
NO_WORDS = {"code"}
IDENTIFIER = re.compile(r"[^\W\d]\w+")


def bracketed(sentence: str) -> str:
    """Return a sentence with its own text in brackets.

    >>> bracketed("A {x} b"), bracketed("{n:one leaf|# leaves}: {names:list}")
    ('⟦A ⟧{x}⟦ b⟧', '{n:⟦one leaf⟧|⟦# leaves⟧}⟦: ⟧{names:list}')
    """
    parts = []
    for text, name, spec, _ in Formatter().parse(sentence):
        parts.append(in_brackets(text.replace("{", "{{").replace("}", "}}")))
        if name is not None:
            told = spec or ""
            if told not in TELL:
                told = "|".join(map(in_brackets, told.split("|")))
            parts.append(f"{{{name}:{told}}}" if told else f"{{{name}}}")
    return "".join(parts)


def in_brackets(text: str) -> str:
    """Return a text in brackets, and as it is where there is nothing to read in it."""
    return f"{OPEN}{text}{CLOSE}" if text.strip() else text


def every(words: Any) -> Any:
    """Return all sentences of a table, an answer or a list in brackets."""
    if isinstance(words, str):
        return bracketed(words)
    if isinstance(words, Mapping):
        return {key: every(sentence) for key, sentence in words.items()}
    if hasattr(words, "_fields"):
        return type(words)(*map(every, words))
    return tuple(map(every, words)) if isinstance(words, tuple) else words


PSEUDO = Language(
    **{
        name: words if name in NO_WORDS else every(words)
        for name, words in ENGLISH._asdict().items()
    }
)


def outside(text: str) -> str:
    """Return what stands outside of the brackets.

    A text that was cut short ends in "…": what it opened and could not close any more ends there.

    >>> outside("⟦A ⟧x⟦ b ⟦three⟧ c⟧"), outside("y ⟦and so …"), outside("y ⟦and s…⟦; ⟧z")
    (' x ', 'y ', 'y  z')
    """
    text = re.sub(rf"{OPEN}[^{OPEN}{CLOSE}]*…(?=\s*{OPEN}|\n|$| [^{OPEN}{CLOSE}]*$)", "", text)
    found, opened = [], list[int]()
    for c in text:
        if c == OPEN:
            opened.append(len(found))
        elif c == CLOSE and opened:
            del found[opened.pop() :]
            found.append(" ")
        else:
            found.append(c)
    rest = "".join(found)
    if opened:
        start = opened[0]
        rest = rest[:start] + rest[start:].partition("…")[2]
    return rest


def without(text: str, quotes: Iterable[str], least: int = 12) -> str:
    """Return a text without what it quotes, whole or cut short.

    >>> without("it raised: one of the variables …", ["one of the variables needed"])
    'it raised:  …'
    """
    for quote in sorted(quotes, key=len, reverse=True):
        while len(quote) >= least and (at := text.find(quote[:least])) >= 0:
            end = at
            while end < len(text) and end - at < len(quote) and text[end] == quote[end - at]:
                end += 1
            text = text[:at] + text[end:]
    return text


def words_in(text: str) -> set[str]:
    """Return the words and identifiers of a text that have two letters or more."""
    return set(IDENTIFIER.findall(text))
