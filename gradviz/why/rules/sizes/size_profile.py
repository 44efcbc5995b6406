"""How large a gradient is from step to step of a loop, or from layer to layer: where it falls out
of what counts, and a chart of it. Knows no torch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gradviz.picture.bars import MOST, Bar, shares

FEW = 6  # sizes that are told in one line


class Profile(NamedTuple):
    """Sizes from the loss to the input.

    Attributes:
        labels: what each is of.
        sizes: the norms.
        limit: how many times smaller, or larger, than the first one no longer counts.
    """

    labels: tuple[str, ...]
    sizes: tuple[float, ...]
    limit: float

    @property
    def crossing(self) -> int | None:
        """The place of the first size beyond the limit; None where none is.

        >>> Profile(("c", "b", "a"), (1.0, 0.5, 0.0), 100.0).crossing
        2
        >>> Profile(("b", "a"), (1.0, 0.5), 100.0).crossing is None
        True
        """
        places = (k for k in range(1, len(self.sizes)) if self.is_beyond(k))
        return next(places, None)

    def is_beyond(self, place: int) -> bool:
        """Say whether the size at a place is beyond the limit."""
        first, size = self.sizes[0], self.sizes[place]
        return size * self.limit <= first or size >= first * self.limit

    def chosen(self, most: int) -> list[int]:
        """Return the places that are shown, both ends and those at the crossing among them.

        >>> Profile(tuple("abcdefgh"), (1,) * 8, 9.0).chosen(3)
        [0, 4, 7]
        """
        total = len(self.sizes)
        if total <= most:
            return list(range(total))
        every = max(1.0, (total - 1) / (most - 1))
        places = {min(total - 1, round(k * every)) for k in range(most)}
        at = self.crossing
        wanted = {0, total - 1} if at is None else {0, at - 1, at, total - 1}
        for end in sorted(wanted - places):
            places.discard(min(places - wanted, key=lambda k: abs(k - end)))
            places.add(end)
        return sorted(places)

    def line(self) -> str:
        """Return a few of the sizes as one line: "50 1.2e-01   40 3.4e-05"."""
        return "   ".join(f"{self.labels[k]} {_text(self.sizes[k])}" for k in self.chosen(FEW))

    def bars(self) -> tuple[Bar, ...]:
        """Return a chart of at most ``MOST`` of the sizes."""
        places = self.chosen(MOST)
        lengths = shares([self.sizes[k] for k in places])
        beyond = self.crossing
        return tuple(
            Bar(self.labels[k], _text(self.sizes[k]), length, beyond is not None and k >= beyond)
            for k, length in zip(places, lengths, strict=True)
        )


def _text(size: float) -> str:
    """Return a size as it is told.

    >>> _text(0.0), _text(0.00012)
    ('0', '1.2e-04')
    """
    return f"{size:.1e}" if size else "0"


def profile(labels: Iterable[str], sizes: Sequence[float | None], limit: float) -> Profile:
    """Return a profile of what was measured."""
    known = [(x, size) for x, size in zip(labels, sizes, strict=True) if size is not None]
    return Profile(tuple(x for x, _ in known), tuple(size for _, size in known), limit)
