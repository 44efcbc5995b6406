"""Whether planted faults are seen on the saved picture alone, and a report of it.

    python tests/outline/planted_seen.py planted

runs the changed scripts of that module, draws and saves each outline, and reads what was saved, as
a person would: texts and classes of the SVG. What "found" means is written at ``verdict``.
"""

from __future__ import annotations

import importlib
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from drawn import drawn
from model_scripts import Planted
from svg_text import Picture, Seen

COSTLY = {"lost", "alarm", "loses"}


@dataclass(frozen=True)
class Told:
    """One thing that a picture tells, and all that stands beside it: on an arrow the titles of its
    two cards, in a row that of its card, on a frame those of its cards."""

    text: str
    beside: str
    kinds: frozenset[str]


@dataclass(frozen=True)
class Verdict:
    """What of a fault is seen. ``by``: the text that tells it."""

    module: bool
    line: bool
    mechanism: bool
    together: bool  # one text tells all that can be told
    by: str = ""

    @property
    def found(self) -> bool:
        return self.together


def saved(planted: Planted, folder: Path) -> Path:
    """Record the changed script, draw it, and save the picture."""
    path = folder / f"{planted}.svg"
    path.write_text(drawn(planted.source, f"{planted.script}.py").svg, encoding="utf-8")
    return path


def tellings(picture: Picture) -> Iterator[Told]:
    """Go through everything that a picture tells."""
    cards = {card.title: card for card in picture.cards}
    for line in picture.headline.lines:
        yield Told(line, "", frozenset({"headline"}))
    for card in picture.cards:
        for line in card.lines[1:]:
            yield Told(line, card.lines[0], card.kinds)
        yield Told(card.lines[0], "", card.kinds)
    for arrow in picture.of("edge"):
        if arrow.lines:
            ends = " | ".join(cards[end].lines[0] for end in arrow.ends if end in cards)
            yield Told(arrow.text, ends, arrow.kinds)
    for frame in picture.of("frame"):
        yield Told(frame.text, _inside(frame, cards.values()), frame.kinds)


def _inside(frame: Seen, cards: Sequence[Seen] | object) -> str:
    return " | ".join(card.text for card in cards if frame.is_around(card))  # type: ignore[attr-defined]


def verdict(planted: Planted, picture: Picture) -> Verdict:
    """Say what of a fault a picture tells.

    It is found if one text (a row, a chip, the label of a frame, a line of the headline) names the
    mechanism, and the line where a recording can know it, and names the module, or stands in its
    card, on an arrow to or from it, or on a frame around it.
    """
    told = list(tellings(picture))
    line = [t for t in told if _names_line(planted, t.text)]
    module = [t for t in told if _names_module(planted, f"{t.text} | {t.beside}")]
    mechanism = [t for t in told if any(word in t.text for word in planted.words)]
    needed = [module, mechanism] + ([line] if planted.line_can_be_seen else [])
    all_of_it = [t for t in told if all(t in some for some in needed)]
    by = all_of_it[0] if all_of_it else None
    return Verdict(
        bool(module),
        bool(line),
        bool(mechanism),
        bool(all_of_it),
        f"{by.text}  [{by.beside}]" if by else "",
    )


def _names_line(planted: Planted, text: str) -> bool:
    numbers = {int(n) for n in re.findall(r"\bline (\d+)", text)}
    return bool(numbers & {planted.line, *planted.near})


def _names_module(planted: Planted, text: str) -> bool:
    """Say whether a text names one of the modules, in full or without the modules around it, or a
    range that it stands in; or a card of the cell."""
    text = f"{text} | {_spelled_out(text)}"
    if any(name in text for name in planted.cards):
        return True
    if not planted.modules and not planted.cards:
        return True
    return any(_is_named(path, text) for path in planted.modules)


def _is_named(path: str, text: str) -> bool:
    parts = path.split(".")
    # a number alone is no name: at least the list that it counts in belongs to it
    ends = [".".join(parts[k:]) for k in range(len(parts)) if not parts[k].isdigit()]
    return any(re.search(rf"(?<![\w.]){re.escape(end)}(?![\w.]*\w)", text) for end in ends)


def _spelled_out(text: str) -> str:
    """A text with every name that stands for many, ``h.{0..2}.{q,k}``, as all of these."""
    return re.sub(r"[\w.]*\{[\w.{},]+\}[\w.{},]*", lambda found: _every(found[0]), text)


def _every(name: str) -> str:
    first, brace, rest = name.partition("{")
    if not brace:
        return name
    inside, _, last = rest.partition("}")
    ends = (part.split("..") for part in inside.split(","))
    parts = [
        str(n)
        for end in ends
        for n in (range(int(end[0]), int(end[-1]) + 1) if end[0].isdigit() else end)
    ]
    return " | ".join(_every(f"{first}{part}{last}") for part in parts)


def is_shown_as_costly(picture: Picture) -> list[str]:
    """List what a picture shows in red."""
    return [seen.text for seen in picture.all if seen.kinds & COSTLY]


def check(planted: Planted, folder: Path) -> tuple[Verdict, list[str]]:
    """Draw and read one fault. Return what is seen, and what of it is shown in red."""
    picture = Picture(saved(planted, folder).read_text(encoding="utf-8"))
    return verdict(planted, picture), is_shown_as_costly(picture)


def is_costly(planted: Planted) -> bool:
    """Say whether parameters are left without a gradient, or with one that moves nothing."""
    counts = planted.counts
    return bool(counts.none or counts.zero or counts.vanishing or counts.nan)


def main(module: str) -> int:
    """Print what is seen of each fault. Return how many are not found."""
    faults = [
        one
        for value in vars(importlib.import_module(module)).values()
        if isinstance(value, list)
        for one in value
        if isinstance(one, Planted)
    ]
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        for planted in faults:
            try:
                seen, red = check(planted, Path(folder))
            except Exception as error:
                print(f"{planted!s:45} raised {type(error).__name__}: {error}"[:200])
                missed += 1
                continue
            marks = " ".join(
                f"{name} {'✓' if value else '✗'}"
                for name, value in (
                    ("module", seen.module),
                    ("line", seen.line if planted.line_can_be_seen else True),
                    ("mechanism", seen.mechanism),
                    ("together", seen.together),
                )
            )
            untrue = "" if bool(red) == is_costly(planted) else f"  red: {red[:2]}"
            missed += not seen.found or bool(untrue)
            print(f"{planted!s:45} {marks}  {seen.by[:90]}{untrue[:200]}")
    print(f"{len(faults) - missed} of {len(faults)} found")
    return missed


if __name__ == "__main__":
    import torch

    torch.set_num_threads(1)
    sys.exit(main(sys.argv[1]))
