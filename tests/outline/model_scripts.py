"""Scripts of small models: how they are read, changed, run, and what torch alone says of them.

A script has a setup, the line ``# %% the recorded cell`` and the cell. A fault is planted into one
by replacing a few words of its text. Nothing here knows gradviz: what a step gave its parameters is
read from ``.grad``, so it can judge what a picture says.
"""

from __future__ import annotations

import linecache
import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

FOLDER = Path(__file__).parent / "models"
KEPT_ASIDE = Path(__file__).parent / "blind_models"  # only faults are planted into these
PROGRAMS = Path(__file__).parent / "programs"  # whole programs, written as people write them
MARKER = "# %% the recorded cell"
# A gradient whose norm is below this, yet not zero, counts as vanishing: in float32 Adam's eps of
# 1e-8 is then a hundred times larger.
VANISHING = 1e-10

Namespace = dict[str, Any]


def model_names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.py"))


def read(name: str) -> str:
    folders = (FOLDER, PROGRAMS, KEPT_ASIDE)
    path = next(f / f"{name}.py" for f in folders if (f / f"{name}.py").exists())
    return path.read_text(encoding="utf-8")


@dataclass(frozen=True)
class Counts:
    """How many parameters of a script have what in ``.grad`` when the step is over.

    ``some``: a gradient that is neither zero nor vanishing. ``none``: ``.grad`` is None, though
    ``requires_grad`` holds. ``frozen``: ``.grad`` is None and ``requires_grad`` is False. ``zero``:
    every number is exactly zero. ``vanishing``: the norm is below ``VANISHING``, but not zero.
    ``nan``: some number is nan or inf.
    ``unowned``: of those with ``requires_grad``, how many no optimizer of the script holds.
    ``unlisted``: parameters of a module that stands in a plain list, so that ``named_parameters``
    does not know them; they are counted above as well.
    """

    some: int = 0
    none: int = 0
    frozen: int = 0
    zero: int = 0
    vanishing: int = 0
    nan: int = 0
    unowned: int = 0
    unlisted: int = 0


@dataclass(frozen=True)
class Planted:
    """One fault in one script, with the truth about it.

    ``changes``: pairs of old and new text; each old one occurs once in the script.
    ``modules``: paths of modules in or at which the fault stands, as ``named_modules`` of ``model``
    gives them (``G.4``, ``D.0`` where a script has several); one of them found is enough.
    ``cards``: names or code of the cell that stand for it as well.
    ``line``: number of its line in the changed script, counted from 1.
    ``near``: lines that lead to it too, such as those inside a ``with``.
    ``at``: a part of that line.
    ``words``: one of them, as a part of a text, names the mechanism.
    ``counts``: what torch gives the parameters.
    ``line_can_be_seen`` is False where no recording of the step can know the line: a call that is
    missing, a result that is not used, a flag or an optimizer of the setup. Module and state are to
    be found then.
    """

    kind: str
    script: str
    changes: tuple[tuple[str, str], ...]
    modules: tuple[str, ...]
    line: int
    at: str
    words: tuple[str, ...]
    counts: Counts
    cards: tuple[str, ...] = ()
    near: tuple[int, ...] = ()
    line_can_be_seen: bool = True

    @property
    def source(self) -> str:
        """The text of the script with the fault in it."""
        text = read(self.script)
        for old, new in self.changes:
            if text.count(old) != 1:
                raise ValueError(
                    f"{old!r} occurs {text.count(old)} times in {self.script}, not once"
                )
            text = text.replace(old, new)
        return text

    @property
    def line_in_cell(self) -> int | None:
        """The number of its line counted from the first of the cell, None if not in the cell."""
        number = self.line - marker_line(self.source)
        return number if number > 0 else None

    def __str__(self) -> str:
        return f"{self.kind}-{self.script}"


def marker_line(source: str) -> int:
    """The number of the line that begins the recorded cell, counted from 1."""
    return source.splitlines().index(MARKER) + 1


def setup_and_cell(source: str) -> tuple[str, str]:
    """Split a script at its marker, for those who run both parts as cells of a notebook."""
    setup, cell = source.split(MARKER + "\n")
    return setup, cell


def run(
    source: str,
    filename: str,
    around: Callable[[], AbstractContextManager[Any]] = nullcontext,
    names: Namespace | None = None,
) -> Namespace:
    """Run the setup, then the cell inside ``around()``. Return the names that the script has made:
    ``names``, if given, so that ``around`` can look into them.

    The script runs in one go, as Python before 3.11 finds no place in a part of one: ``around()``
    is entered in the marker's line, so that all lines keep their numbers, and left at the end.
    ``linecache`` knows the text.
    """
    entered = source.replace(MARKER, "__around__.__enter__()")
    lines = entered.splitlines(keepends=True)
    linecache.cache[filename] = (len(entered), None, lines, filename)
    namespace: Namespace = {} if names is None else names
    namespace |= {"__name__": "__main__", "__file__": filename}
    namespace["__around__"] = recording = around()
    with torch.random.fork_rng():
        try:
            exec(compile(entered, filename, "exec"), namespace)
        except BaseException as error:
            if not recording.__exit__(type(error), error, error.__traceback__):
                raise
        else:
            recording.__exit__(None, None, None)
    del namespace["__around__"]
    return namespace


def modules_of(namespace: Namespace) -> dict[str, nn.Module]:
    """The modules that a script has under a name and that are no part of another, by name."""
    found = {name: value for name, value in _values(namespace) if isinstance(value, nn.Module)}
    inner = {id(part) for value in found.values() for part in value.modules() if part is not value}
    return {name: value for name, value in found.items() if id(value) not in inner}


def _values(namespace: Namespace) -> Iterator[tuple[str, Any]]:
    """Go through what a script has under a name, and through the attributes of objects of its own
    classes, such as an agent or a trainer, each with its name."""
    for name, value in namespace.items():
        yield name, value
        if type(value).__module__ == "__main__" and not isinstance(value, nn.Module):
            yield from ((f"{name}.{key}", one) for key, one in vars(value).items())


def named_parameters(namespace: Namespace) -> dict[str, torch.Tensor]:
    """Every parameter of a script once, by the path that a person would write.

    Without prefix if the script has one module. Parameters that the script holds by name come last:
    beside a module the nn.Parameters, and what an optimizer has, else all leaves.
    """
    modules = modules_of(namespace)
    pairs: list[tuple[str, torch.Tensor]] = []
    for name, module in modules.items():
        prefix = f"{name}." if len(modules) > 1 else ""
        pairs += [(prefix + path, p) for path, p in module.named_parameters()]
        pairs += [(prefix + path, p) for path, p in _in_plain_lists(module)]
    held = in_an_optimizer(namespace)
    pairs += [
        (name, value)
        for name, value in _values(namespace)
        if isinstance(value, torch.Tensor)
        and (not modules or isinstance(value, nn.Parameter) or id(value) in held)
        and value.is_leaf
        and value.requires_grad
    ]
    seen: set[int] = set()
    by_name = {}
    for name, parameter in pairs:
        if id(parameter) not in seen:
            seen.add(id(parameter))
            by_name[name] = parameter
    return by_name


def _in_plain_lists(module: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    """The parameters of modules in a plain list or dict of a module, each with its path."""
    for path, part in module.named_modules():
        for attribute, value in vars(part).items():
            if attribute.startswith("_"):
                continue
            pairs = enumerate(value) if isinstance(value, list) else ()
            if isinstance(value, dict):
                pairs = value.items()
            for key, inner in pairs:
                if isinstance(inner, nn.Module):
                    prefix = ".".join(filter(None, [path, attribute, str(key)]))
                    yield from ((f"{prefix}.{name}", p) for name, p in inner.named_parameters())


def state_of(parameter: torch.Tensor) -> str:
    """The field of ``Counts`` that a parameter belongs to."""
    if parameter.grad is None:
        return "none" if parameter.requires_grad else "frozen"
    norm = parameter.grad.detach().double().norm().item()
    if not math.isfinite(norm):
        return "nan"
    if norm == 0:
        return "zero"
    return "vanishing" if norm < VANISHING else "some"


def states(namespace: Namespace) -> dict[str, str]:
    """The state of each parameter, by its name."""
    return {name: state_of(p) for name, p in named_parameters(namespace).items()}


def in_an_optimizer(namespace: Namespace) -> set[int]:
    """The ids of the parameters that an optimizer of the script, or of a trainer, holds."""
    values = [value for _, value in _values(namespace)]
    for value in namespace.values():
        held = getattr(value, "optimizers", None)  # a trainer's list, a Lightning module's method
        values += held if isinstance(held, list) else []
    return {
        id(parameter)
        for value in values
        if isinstance(value, torch.optim.Optimizer)
        for group in value.param_groups
        for parameter in group["params"]
    }


def count(namespace: Namespace) -> Counts:
    """Ask torch, and nothing else, what the step gave to the parameters."""
    parameters = named_parameters(namespace)
    listed = {id(p) for module in modules_of(namespace).values() for p in module.parameters()} | {
        id(value) for value in namespace.values() if isinstance(value, torch.Tensor)
    }
    owned = in_an_optimizer(namespace)
    found = list(states(namespace).values())
    trained = [p for p in parameters.values() if p.requires_grad]
    return Counts(
        **{
            state: found.count(state)
            for state in ("some", "none", "frozen", "zero", "vanishing", "nan")
        },
        unowned=sum(id(p) not in owned for p in trained),
        unlisted=sum(id(p) not in listed for p in parameters.values()),
    )
