"""Where a text on a card or a chip goes on in the next line."""

from __future__ import annotations

from gradviz.words.plain import visible

CHIP_CHARS = 20  # of one line of a chip
BREAKS = ")]}=·→+("
WHOLE = "AccumulateGrad"
BACKWARD = "Backward"  # how the names of nodes end


def wrap(text: str, chars: int, lines: int) -> list[str]:
    """Break text into at most ``lines`` lines of at most ``chars``; what does not fit ends in an
    ellipsis.

    >>> wrap("loss = torch.nn.functional.mse_loss(model(x), y)", 30, 2)
    ['loss = torch.nn.functional', '.mse_loss(model(x), y)']
    >>> wrap("leaf.AccumulateGrad", 18, 2), wrap("CloneBackward0", 12, 2)
    (['leaf', '.AccumulateGrad'], ['Clone', 'Backward0'])
    """
    out: list[str] = []
    text = visible(text)
    while len(text) > chars and len(out) < lines - 1:
        cut = max(range(chars // 3, chars + 1), key=lambda i: _break_here(text, i))
        if _is_inside_a_word(text, cut):
            cut = max(range(1, chars + 1), key=lambda i: _break_here(text, i))
        out.append(text[:cut].rstrip())
        text = text[cut:].lstrip()
    return [*out, text if len(text) <= chars else text[: chars - 1] + "…"]


def _is_inside_a_word(text: str, i: int) -> bool:
    """Say whether ``i`` is a place inside of the one word that a reader has to find whole."""
    begin = text.rfind(WHOLE, 0, i + len(WHOLE) - 1)
    return 0 <= begin < i < begin + len(WHOLE)


def _break_here(text: str, i: int) -> int:
    """Rate ``i`` as a place for a line break: late in the line, after a space or comma, before a
    dot or the end of a node's name."""
    if len(text) - i < 4 or text[i - 2 : i] == "# " or _is_inside_a_word(text, i):
        return -1
    if text[i : i + 2] == "# ":
        return i + 60
    if text.startswith(BACKWARD, i):
        return i + 30
    if text[i - 1] in " ," or (text[i] == "." and not text[i + 1 : i + 2].isdigit()):
        return i + 40
    return i + (25 if text[i - 1] in BREAKS else 10 if text[i - 1] == "_" else 0)


def joined(text: str, chars: int) -> list[str]:
    """Return lines, those that have room in one line joined.

    >>> joined("5\\n→ AccumulateGrad\\n→ a.grad: None → 5", 21)
    ['5 → AccumulateGrad', '→ a.grad: None → 5']
    """
    lines: list[str] = []
    for part in text.split("\n"):
        if lines and len(lines[-1]) + len(part) < chars:
            lines[-1] += f" {part}"
        else:
            lines.append(part)
    return lines


def steps(text: str) -> list[str]:
    """Break what became of a gradient on its way before its arrows, where it is long.

    >>> steps("1 → hook → 10"), steps("[1, 1, 1] → hook → [10, 10, 10]")
    (['1 → hook → 10'], ['[1, 1, 1] → hook', '→ [10, 10, 10]'])
    """
    lines: list[str] = []
    for part in text.replace(" → ", "\n→ ").split("\n"):
        if lines and len(lines[-1]) + len(part) < CHIP_CHARS:
            lines[-1] += f" {part}"
        else:
            lines += wrap(part, CHIP_CHARS, 2)
    return lines
