"""What was given as an argument: said in words, and refused where it is not what is expected.

Nothing of the value runs but a built-in type's own ``repr``: a user's class may do anything in its
``__repr__``, ``__eq__``, ``__bool__`` and ``__iter__``. Knows no torch.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gradviz.graph.records import GradvizError

PLAIN = (bool, int, float, complex, str, bytes)
COLLECTIONS = (list, tuple, set, frozenset, dict)
LONG = 60  # characters of a value in an error


def said(value: Any) -> str:
    """Return a value in the words of an error.

    >>> said(3), said("x"), said((5, 1)), said([object()]), said(dict), said(object())
    ('the int 3', "the str 'x'", 'the tuple (5, 1)', 'a list of 1', 'the class dict', 'an object of
    type object')
    """
    kind = type(value)
    if value is None:
        return "None"
    if issubclass(kind, type):
        return f"the class {type.__getattribute__(value, '__name__')}"
    if kind in PLAIN:
        text = repr(value)
        return f"the {kind.__name__} {text if len(text) <= LONG else text[: LONG - 1] + '…'}"
    if kind in COLLECTIONS:
        parts = [*value, *value.values()] if kind is dict else value
        text = repr(value) if all(part is None or type(part) in PLAIN for part in parts) else ""
        return (
            f"the {kind.__name__} {text}"
            if 0 < len(text) <= LONG
            else f"a {kind.__name__} of {len(value)}"
        )
    return f"an object of type {kind.__name__}"


def shown(value: Any) -> str:
    """Return the same without the kind of a plain value, for a sentence that says what it is.

    >>> shown(3), shown("x"), shown(object())
    ('3', "'x'", 'an object of type object')
    """
    words = said(value)
    return (
        words.split(" ", 2)[2]
        if type(value) in (*PLAIN, *COLLECTIONS) and words.startswith("the ")
        else words
    )


def refused(argument: str, value: Any, expected: str) -> GradvizError:
    """Return the error to raise: what was given, and what is expected.

    >>> print(refused("limit=", "x", "a whole number of at least 1, e.g. 256"))
    limit= was given the str 'x'; expected a whole number of at least 1, e.g. 256
    """
    return GradvizError(f"{argument} was given {said(value)}; expected {expected}")


def text(argument: str, value: Any, expected: str, *, none: bool = False) -> None:
    """Refuse what is not a text; None is one only where ``none`` says so."""
    if not issubclass(type(value), str) and not (none and value is None):
        raise refused(argument, value, expected)


def texts(argument: str, value: Any, expected: str) -> tuple[str, ...]:
    """Return one text, or several in a collection, as a tuple.

    >>> texts("focus=", "a", "a name"), texts("focus=", ["a", "b"], "a name")
    (('a',), ('a', 'b'))
    """
    if issubclass(type(value), str):
        return (value,)
    if type(value) not in COLLECTIONS or any(not issubclass(type(v), str) for v in value):
        raise refused(argument, value, expected)
    return tuple(value)


def flag(argument: str, value: Any) -> None:
    """Refuse what is neither True nor False."""
    if value is not True and value is not False:
        raise refused(argument, value, "True or False")


def count(argument: str, value: Any, example: str) -> None:
    """Refuse what is not a whole number of at least 1."""
    if type(value) is bool or not issubclass(type(value), int) or value < 1:
        raise refused(argument, value, f"a whole number of at least 1, e.g. {example}")


def is_index(value: Any, length: int) -> bool:
    """Tell whether a value is a whole number from 0 up to, but without, ``length``."""
    return issubclass(type(value), int) and type(value) is not bool and 0 <= value < length


def one_of(argument: str, value: Any, known: Iterable[str]) -> None:
    """Refuse what is none of a few words."""
    words = list(known)
    if not issubclass(type(value), str) or value not in words:
        raise refused(argument, value, " or ".join(map(repr, words)))


def mapping(argument: str, value: Any, expected: str) -> None:
    """Refuse what is no mapping."""
    if not issubclass(type(value), Mapping):
        raise refused(argument, value, expected)


def path(argument: str, value: Any, example: str) -> Path:
    """Return the path that a text or a ``pathlib.Path`` names."""
    if not issubclass(type(value), (str, os.PathLike)):
        raise refused(
            argument, value, f"where to write, as a text or a pathlib.Path, e.g. {example!r}"
        )
    try:
        return Path(value)
    except TypeError:  # a PathLike of bytes
        raise refused(
            argument, value, f"where to write, as a text or a pathlib.Path, e.g. {example!r}"
        ) from None


def suffix(target: Path, known: Iterable[str]) -> str:
    """Return the suffix of a file to write, without its dot, and refuse one that says no known
    format.

    >>> suffix(Path("why.TXT"), ("txt", "html"))
    'txt'
    """
    found, formats = target.suffix.lower().removeprefix("."), list(known)
    if found not in formats:
        listed = ", ".join(f".{one}" for one in formats)
        raise GradvizError(
            f"cannot save {target.name!r}: the suffix says the format, and it is one of {listed}"
        )
    return found
