"""Many parameters as a few groups: those in one part of a model of which the same is known. Each
group has one name: ``transformer.h.{0..4}.*``. Knows no torch.

NOTE [one name for many]: ``*`` stands for everything below a module, ``{0..4}`` for a range of
numbers, ``{q,k}`` for words in the same place, ``params[0..4]`` for places in a list. A picture, a
table, ``reach``, ``will_it_move`` and ``why`` write many names in this way alone.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

EVERYTHING, ELLIPSIS = "*", "…"
FEW = 2  # names that are told one by one, and not as those of one model
RANGE = 3  # numbers in a row that are written as a range
NAMED = 12  # parameters of a group that are named one by one where it is opened
WORDS = 4  # in one place of a name that are all written


class Group(NamedTuple):
    """Parameters of which the same is known.

    Attributes:
        name: one name for all of them.
        key: what is known of each.
        members: their places among those that were grouped, in order.
    """

    name: str
    key: Hashable
    members: tuple[int, ...]


class _Found(NamedTuple):
    """A group, with the parts of its name below the module that is looked at."""

    parts: tuple[str, ...]
    key: Hashable
    members: tuple[int, ...]


@dataclass
class _Module:
    """What stands below one part of the names."""

    members: list[int] = field(default_factory=list)
    below: dict[str, _Module] = field(default_factory=dict)


def grouped_by_name(
    names: Sequence[str], keys: Sequence[Hashable], *, are_all: bool = True
) -> list[Group]:
    """Divide parameters into as few groups as have one name and one key each.

    A module is one group where the same is known of all that stands below it. The modules directly
    below the outermost one at which the names differ are told apart, numbered ones excepted.

    Args:
        names: of the parameters: paths, with dots, or variables.
        keys: what is known of each.
        are_all: whether nothing else stands below their modules, so that ``*`` may stand for them.

    Returns:
        The groups, by their first members. Every place is in one of them.

    Example:
        >>> names = [f"h.{i}.{part}" for i in range(4) for part in ("q", "k")]
        >>> [group.name for group in grouped_by_name(names, "aaaaaabb")]
        ['h.{0..2}.*', 'h.3.*']
        >>> [group.name for group in grouped_by_name(names, "abababab")]
        ['h.{0..3}.q', 'h.{0..3}.k']
    """
    root = _Module()
    for place, name in enumerate(names):
        module = root
        for part in parts_of(name):
            module = module.below.setdefault(part, _Module())
        module.members.append(place)
    before, top = _outermost(root)
    found = sorted(_groups(top, keys, are_all=are_all, is_top=True), key=lambda one: one.members[0])
    return [
        Group(
            joined((*before, *one.parts)) if len(one.members) > 1 else names[one.members[0]],
            one.key,
            one.members,
        )
        for one in found
    ]


def _outermost(module: _Module) -> tuple[list[str], _Module]:
    """Find the outermost module at which the names differ, and the parts of its name."""
    before: list[str] = []
    while len(module.below) == 1 and not module.members:
        ((part, module),) = module.below.items()
        before.append(part)
    return before, module


def _groups(
    module: _Module, keys: Sequence[Hashable], *, are_all: bool, is_top: bool = False
) -> list[_Found]:
    """Divide what stands below a module."""
    own: dict[Hashable, list[int]] = {}
    for place in module.members:
        own.setdefault(keys[place], []).append(place)
    found = [_Found((), key, tuple(members)) for key, members in own.items()]
    inside = {part: _groups(one, keys, are_all=are_all) for part, one in module.below.items()}
    below = _side_by_side(inside, are_words_apart=is_top)
    is_range = len(below) == 1 and all(number_in(part) is not None for part in inside)
    is_one = len(inside) > 1 and len({one.key for one in below}) == 1
    if is_top or is_range or not (are_all and is_one):
        return [*found, *below]
    members = sorted(place for one in below for place in one.members)
    return [*found, _Found((EVERYTHING,), below[0].key, tuple(members))]


def _side_by_side(inside: dict[str, list[_Found]], *, are_words_apart: bool) -> list[_Found]:
    """Make one group of those that differ in one part of the name alone: a number, or a word."""
    alike: dict[Hashable, list[tuple[str, _Found]]] = {}
    for part, groups in inside.items():
        is_word = number_in(part) is None
        apart = part if is_word and are_words_apart else is_word
        for one in groups:
            alike.setdefault((apart, one.parts, one.key), []).append((part, one))
    found = []
    for same in alike.values():
        words = [part for part, _ in same]
        rest = same[0][1].parts
        members = sorted(place for _, one in same for place in one.members)
        found.append(_Found((ranged(words), *rest), same[0][1].key, tuple(members)))
    return found


def name_of(wanted: Sequence[str], names: Sequence[str] = ()) -> list[str]:
    """Write several names as one, or as few as they have.

    Args:
        wanted: some of the names.
        names: all that there are, for ``*`` means every one; left out where that is not known.

    Example:
        >>> names = ["a.w", "a.b", "h.0.w", "h.0.b", "h.1.w", "h.1.b"]
        >>> name_of(names[2:], names), name_of(names[2:]), name_of(["a.w"], names)
        (['h.{0,1}.*'], ['h.{0,1}.{w,b}'], ['a.w'])
        >>> whole = ["net.embed.w", "net.mean", "net.head.w"]
        >>> name_of(whole, whole), name_of(whole[:2], whole)
        (['net.*'], ['net.embed.w', 'net.mean'])
        >>> name_of(["h.0.w", "h.1.w", "a.b"], names)
        ['a.b', 'h.{0,1}.w']
    """
    every, some = list(dict.fromkeys([*names, *wanted])), {*wanted}
    keys = [name in some for name in every]
    groups = grouped_by_name(every, keys, are_all=bool(names))
    found = [group.name for group in groups if group.key]
    roots = {parts_of(name)[0] for name in every}
    is_whole = bool(names) and all(keys) and len(roots) == 1
    return [joined([*roots, EVERYTHING])] if is_whole and len(found) > FEW else found


def side_by_side(names: Sequence[str]) -> str | None:
    """Return one name for several that differ in their last part; None for others.

    >>> side_by_side(["h.0", "h.1", "h.2"]), side_by_side(["q", "k"]), side_by_side(["a.q", "k"])
    ('h.{0..2}', '{q,k}', None)
    """
    parts = [parts_of(name) for name in names]
    if len({tuple(part[:-1]) for part in parts}) > 1:
        return None
    return joined([*parts[0][:-1], ranged([part[-1] for part in parts])])


def opened(group: Group, names: Sequence[str]) -> list[Group]:
    """Divide a group by what stands directly below its module.

    Args:
        group: of ``grouped_by_name``.
        names: that were grouped.

    Returns:
        The smaller groups; none where the group has one name for each place in a module already.

    Example:
        >>> names = ["h.0.q.w", "h.0.q.b", "h.1.q.w", "h.1.q.b", "h.0.k", "h.1.k"]
        >>> (group,) = grouped_by_name(names, "aaaaaa")
        >>> group.name, [one.name for one in opened(group, names)]
        ('h.{0,1}.*', ['h.{0,1}.q.*', 'h.{0,1}.k'])
    """
    if not group.name.endswith(EVERYTHING):
        return []
    depth = len(parts_of(group.name)) - 1
    below = [parts_of(names[place])[depth:] for place in group.members]
    inside = [names[place] for place in group.members]
    found = grouped_by_name(inside, [part[0] if part else "" for part in below])
    return [
        Group(one.name, group.key, tuple(group.members[place] for place in one.members))
        for one in found
    ]


def parts_within(group: Group, names: Sequence[str]) -> list[Group]:
    """Divide a group as one that is opened is shown: a few parameters one by one, many by what
    stands below their module.

    >>> group = Group("fc.*", None, (0, 1))
    >>> [part.name for part in parts_within(group, ["fc.weight", "fc.bias"])]
    ['fc.weight', 'fc.bias']
    """
    if len(group.members) == 1:
        return []
    if len(group.members) <= NAMED:
        return [Group(names[i], group.key, (i,)) for i in group.members]
    return opened(group, names)


# --- names ----------------------------------------------------------------------------------------

# A part of a name: a place in a list, alternatives, or what stands between two dots.
_PART = re.compile(r"\[[^\[\]]*\]|(?:\{[^{}]*\}|[^.\[{])+|\[|\{")


def parts_of(name: str) -> list[str]:
    """Take a name apart.

    >>> parts_of("model.h.0.weight"), parts_of("params[2]"), parts_of("h.{0..4}.*")
    (['model', 'h', '0', 'weight'], ['params', '[2]'], ['h', '{0..4}', '*'])
    """
    return _PART.findall(name) or [name]


def joined(parts: Iterable[str]) -> str:
    """Put the parts of a name together.

    >>> joined(["h", "{0..4}", "*"]), joined(["params", "[0..2]"])
    ('h.{0..4}.*', 'params[0..2]')
    """
    return "".join(part if part[:1] == "[" else f".{part}" for part in parts).removeprefix(".")


def number_in(part: str) -> int | None:
    """Return the number that a part of a name is, or None.

    >>> number_in("12"), number_in("[3]"), number_in("q")
    (12, 3, None)
    """
    digits = part.removeprefix("[").removesuffix("]")
    return int(digits) if digits.isascii() and digits.isdigit() else None


def ranged(parts: Sequence[str]) -> str:
    """Return one part of a name for those that stand in the same place of many.

    >>> ranged(["0", "1", "2", "5"]), ranged(["[0]", "[1]"]), ranged(["h"]), ranged(["q", "k"])
    ('{0..2,5}', '[0,1]', 'h', '{q,k}')
    >>> ranged(list("abcdef"))
    '{a,b,c,…}'
    """
    if len(parts) == 1:
        return parts[0]
    numbers = [number_in(part) for part in parts]
    known = [n for n in numbers if n is not None]
    if len(known) < len(parts):
        words = parts if len(parts) <= WORDS else [*parts[: WORDS - 1], ELLIPSIS]
        return "{" + ",".join(words) + "}"
    runs = ",".join(_runs(sorted({*known})))
    return f"[{runs}]" if parts[0].startswith("[") else "{" + runs + "}"


def _runs(numbers: Sequence[int]) -> list[str]:
    """Write numbers, those in a row as a range.

    >>> _runs([0, 1, 2, 4, 5])
    ['0..2', '4', '5']
    """
    runs: list[list[int]] = []
    for n in numbers:
        if runs and n == runs[-1][-1] + 1:
            runs[-1].append(n)
        else:
            runs.append([n])
    return [
        text
        for run in runs
        for text in ([f"{run[0]}..{run[-1]}"] if len(run) >= RANGE else map(str, run))
    ]
