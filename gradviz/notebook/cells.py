"""What keeps a lesson's cells short: tables of what a panel answers, goals of an exercise,
errors and warnings on one line, and small drawings. ``lesson`` has them all."""

from __future__ import annotations

import contextlib
import html
import itertools
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gradviz.graph.records import GradvizError
from gradviz.live.explore import Exploration
from gradviz.live.run import Run
from gradviz.picture.inline import inline
from gradviz.picture.render import render
from gradviz.picture.table import COLUMNS
from gradviz.words import given
from gradviz.words.plain import visible
from gradviz.words.speech import say

ERROR_WIDTH, CELL_WIDTH = 220, 105  # characters of an error on its line, and in a table
PLOT_WIDTH, PLOT_GAP = 275, 20
PLOT = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="245"'
    ' font-family="sans-serif" font-size="15"><rect width="{width}" height="245" rx="8"'
    ' fill="#f8f8f8"/>{parts}</svg>'
)
BAND = '<rect x="{x}" y="35" width="60" height="170" fill="#cfcfcf"/>'
LINE = '<polyline points="{points}" fill="none" stroke-width="3" {look}/>'
# of a plot's lines, in their order
LOOKS = {
    "solid": 'stroke="#1864ab"',
    "dashed": 'stroke="#c92a2a" stroke-dasharray="6 5"',
}
OF_A_RUN = ("error", "sentence", "printed")  # what can be asked of a run besides its tensors


def table(panel: Exploration, *asked: str, **states: Any) -> None:
    """Print what comes of some settings of a panel, one line for each. The panel stays as it is.

    Args:
        panel: what ``gv.explore`` made.
        asked: what to print of each run: "a" (its value), "a.grad", "a.is_leaf" or another column
            of the tensor table, "error", "printed" or "sentence".
        states: control -> label or value, or a list of them; with several lists every combination
            is run. The other controls are at their start.

    Raises:
        GradvizError: there is no such panel, control, state or column.

    Example:
        >>> import torch, gradviz
        >>> @gradviz.explore(factor=[2, 3])
        ... def scaled(factor):
        ...     a = torch.tensor(1.0, requires_grad=True)
        ...     (a * factor).backward()
        >>> table(scaled, "a", "a.grad", factor=[2, 3])
        factor  a  a.grad
        2       1  2
        3       1  3
        <BLANKLINE>
    """
    if not isinstance(panel, Exploration):
        raise GradvizError(say("cells.no_panel", given=given.shown(panel)))
    listed = {name: v if isinstance(v, list | tuple) else [v] for name, v in states.items()}
    runs = [
        panel.run(**dict(zip(listed, values, strict=True)))
        for values in itertools.product(*listed.values())
    ]
    found = [[answer(run, name) for run in runs] for name in asked]
    for name, answers in zip(asked, found, strict=True):
        if name.rpartition(".")[2] not in COLUMNS and not any(map(_is_known, answers)):
            raise GradvizError(say("cells.unknown", name=name, columns=", ".join(COLUMNS[1:])))
    columns = [[name, *(visible(run.labels[name]) for run in runs)] for name in listed]
    columns += [
        [name, *(answer or say("cells.absent") for answer in answers)]
        for name, answers in zip(asked, found, strict=True)
    ]
    _print_columns(columns)


def _print_columns(columns: list[list[str]]) -> None:
    """Print columns of equal length side by side, and an empty line below them."""
    widths = [max(map(len, column)) for column in columns]
    for row in zip(*columns, strict=True):
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(padded).rstrip())
    print()


def _is_known(answer: str | None) -> bool:
    """Tell whether a run had what it was asked for; it may have printed nothing."""
    return answer is not None


def goals(goals: Mapping[str, tuple[Any, Any]]) -> None:
    """Print what an exercise has and what its goals are, and whether it is solved.

    Args:
        goals: name -> (what there is, what there should be). What ``print`` shows of both is
            compared.

    Raises:
        GradvizError: it is no such dictionary.

    Example:
        >>> goals({"w": (1.4, 3.0), "w.requires_grad": (True, True)})
        w                1.4   goal: 3.0
        w.requires_grad  True   goal: True
        Not solved yet: w (1.4 instead of 3.0).
        >>> goals({"w": (3.0, 3.0)})
        w  3.0   goal: 3.0
        Solved.
    """
    given.mapping("goals", goals, "name: (what there is, what there should be) in a dict")
    width = max(map(len, goals), default=0)
    missed = []
    for name, (there, goal) in goals.items():
        print(f"{name.ljust(width)}  {there!s}   goal: {goal!s}")
        if str(there) != str(goal):
            missed.append(say("cells.missed", name=name, there=str(there), goal=str(goal)))
    print(say("cells.not_solved", missed=missed) if missed else say("cells.solved"))


@contextlib.contextmanager
def brief() -> Iterator[None]:
    """Print an error or a warning of the block on one line, and go on after it.

    Example:
        >>> import torch
        >>> with brief():
        ...     torch.ones(1).backward()
        RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        except Exception as error:
            print(_in_brief(error))
    for warning in caught:
        print(_in_brief(warning.message))


class Drawing:
    """An SVG picture with its text, as a cell shows it.

    Attributes:
        text: what the picture says.
        html: the picture.
    """

    def __init__(self, text: str, svg: bytes) -> None:
        self.text = text
        self.html = inline(svg.decode(), text)

    def _repr_html_(self) -> str:
        """Return the picture for a notebook."""
        return self.html

    def __repr__(self) -> str:
        """Return what the picture says."""
        return self.text


def torchviz(result: Any, **names: Any) -> Drawing:
    """Return torchviz's drawing of a result, to compare it with gradviz's own.

    Args:
        result: a tensor that was computed.
        names: name -> a leaf that it was computed from.

    Raises:
        ImportError: torchviz is not installed.
    """
    import torchviz as drawer  # type: ignore[import-untyped]

    source = drawer.make_dot(result, params=names).source
    boxes: dict[str, str] = {}
    # torchviz names boxes by address, which changes from run to run
    named = re.sub(r"\d{6,}", lambda old: boxes.setdefault(old[0], f"n{len(boxes)}"), source)
    said = ", ".join(re.findall(r'label="?(\w+)', named))
    return Drawing(say("cells.torchviz", boxes=said), render(named))


def step_plot(
    runs: Mapping[str, Mapping[str, Sequence[float]]], shaded: Sequence[int] = ()
) -> Drawing:
    """Return a plot of a number after each step, one panel beside the other.

    Args:
        runs: panel -> line -> the number at the start and after each step.
        shaded: the steps with a grey band behind them, from 1.

    Example:
        >>> step_plot({"SGD": {"None": [1.0, 1.2], "zeros": [1.0, 1.1]}}, shaded=[1])
        SGD, None: 1.0, 1.2; SGD, zeros: 1.0, 1.1
    """
    lines = [(f"{name}, {line}", path) for name, of in runs.items() for line, path in of.items()]
    told = "; ".join(f"{name}: {', '.join(map(str, path))}" for name, path in lines)
    numbers = [number for _, path in lines for number in path]
    low, high = min(numbers), max(numbers)
    parts = [
        _plot_panel(PLOT_WIDTH * place + PLOT_GAP, name, of, shaded, (low, high))
        for place, (name, of) in enumerate(runs.items())
    ]
    first = next(iter(runs.values()))
    key = " · ".join(f"{line}: {look}" for line, look in zip(first, LOOKS, strict=False))
    parts.append(f'<text x="{PLOT_GAP}" y="232">{html.escape(key)}</text>')
    width = PLOT_WIDTH * len(runs) + PLOT_GAP
    svg = PLOT.format(width=width, parts="".join(parts))
    return Drawing(told, svg.encode())


def _plot_panel(
    left: int,
    name: str,
    paths: Mapping[str, Sequence[float]],
    shaded: Sequence[int],
    bounds: tuple[float, float],
) -> str:
    """Return one panel of a plot as SVG: its name, the bands, the lines."""
    low, high = bounds
    scale = 165 / ((high - low) or 1)
    svg = f'<text x="{left}" y="25">{html.escape(name)}</text>'
    for step in shaded:
        svg += BAND.format(x=left + 60 * (step - 1))
    for path, look in zip(paths.values(), LOOKS.values(), strict=False):
        points = " ".join(
            f"{left + 60 * step},{200 - scale * (number - low):.0f}"
            for step, number in enumerate(path)
        )
        svg += LINE.format(points=points, look=look)
    return svg


def answer(run: Run, name: str) -> str | None:
    """Return what a run says of this on one line; None where it has no such tensor."""
    if name == "error":
        return _first_sentence(run.error, CELL_WIDTH) if run.error else say("cells.no_error")
    if name == "sentence":
        return run.sentence
    if name == "printed":
        return " · ".join(line.strip() for line in run.printed.splitlines())
    tensors = run.tensors
    if name in tensors:
        return tensors[name]["value"]
    whose, _, column = name.rpartition(".")
    return tensors.get(whose, {}).get(column)


def _in_brief(error: BaseException | str) -> str:
    """Return the kind of an error or a warning and its first sentence."""
    return _first_sentence(f"{type(error).__name__}: {error}")


def _first_sentence(text: str, width: int = ERROR_WIDTH) -> str:
    """Return the first sentence of torch's words, on one line of bounded length.

    >>> _first_sentence("RuntimeError: It failed. Hint: do not.")
    'RuntimeError: It failed'
    """
    first = " ".join(text.split()).partition(". ")[0].removesuffix(".")
    return first if len(first) <= width else f"{first[: width - 1]}…"
