"""What a language is: tables of whole sentences, and how it joins lists and tells numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gradviz.graph.findings import Cause


class Answer(NamedTuple):
    """The sentences of one finding: what is wrong, why, what to write instead, and more lines."""

    verdict: str
    why: str = ""
    mend: str = ""
    more: tuple[str, ...] = ()


class Language(NamedTuple):
    """All that one language says.

    Attributes:
        sentences: by "section.key".
        answers: of every finding, by its cause and form.
        page: what the front end itself says, by key.
        numbers: words for 0 to 12.
        last_two: how the last two parts of a list are joined, of ``{}`` and ``{}``.
        between: what stands between the other parts.
        others: the last part of a list that is not told whole, of ``{}`` more.
        between_sentences: what stands between two sentences.
    """

    sentences: Mapping[str, str]
    answers: Mapping[tuple[Cause, str], Answer]
    page: Mapping[str, str]
    numbers: Sequence[str]
    last_two: str
    between: str
    others: str
    between_sentences: str = " "
