"""What is said of the planted faults is so: torch alone runs each changed script and is asked.

Nothing of gradviz takes part. The blind faults have numbers for names, so that a list of the tests
does not tell them.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from types import FrameType
from typing import Any

import pytest
import torch
from model_scripts import (
    MARKER,
    Namespace,
    Planted,
    count,
    in_an_optimizer,
    marker_line,
    modules_of,
    named_parameters,
    read,
    run,
    setup_and_cell,
)
from planted import OPEN, TWINS
from planted_blind import BLIND
from planted_blind2 import BLIND2
from planted_blind3 import BLIND3
from planted_blind4 import BLIND4

FIRST = [*OPEN, *BLIND]
ALL = [*FIRST, *TWINS, *BLIND2, *BLIND3, *BLIND4]
NAMES = [
    *map(str, OPEN),
    *(f"blind-{number:02}" for number in range(len(BLIND))),
    *map(str, TWINS),
    *(f"blind2-{number:02}" for number in range(len(BLIND2))),
    *(f"blind3-{number:02}" for number in range(len(BLIND3))),
    *(f"blind4-{number:02}" for number in range(len(BLIND4))),
]
# torch's own word for one of the faults
pytestmark = pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")
# What stands in a setup, or is no call at all, no recording of the step can see.
UNSEEN = {
    "never_called",
    "wrong_tensor",
    "requires_grad_false",
    "not_in_optimizer",
    "group_missing",
    "buffer_for_parameter",
    "tying_broken",
    "teacher_not_frozen",
}
each_fault = pytest.mark.parametrize("planted", ALL, ids=NAMES)


@contextmanager
def lines_noted(filename: str, noted: set[int]) -> Iterator[None]:
    """Note the numbers of the lines of a file that run inside the block, which the file entered."""

    def trace(frame: FrameType, event: str, _arg: Any) -> Any:
        if frame.f_code.co_filename != filename:
            return None
        if event == "line":
            noted.add(frame.f_lineno)
        return trace

    before = sys.gettrace()
    entered: FrameType | None = sys._getframe()
    while entered is not None and entered.f_code.co_filename != filename:
        entered = entered.f_back
    sys.settrace(trace)
    if entered is not None:  # it runs already, and only what begins is traced otherwise
        entered.f_trace = trace
    try:
        yield
    finally:
        sys.settrace(before)


@cache
def outcome(planted: Planted) -> tuple[Namespace, frozenset[int]]:
    """Run a changed script. Return its names and the lines that ran in its cell."""
    noted: set[int] = set()
    filename = f"{planted}.py"
    names = run(planted.source, filename, partial(lines_noted, filename, noted))
    return names, frozenset(noted)


def is_silent_by_nature(path: str, names: Namespace) -> bool:
    """Whether no call of a module is to be seen by a hook that was set in the setup."""
    modules = modules_of(names)
    root = names["model"] if "model" in names else modules[path.split(".")[0]]
    inner = path if "model" in names else path.partition(".")[2]
    try:
        module = root.get_submodule(inner)
    except AttributeError:
        return True  # it stands in a plain list
    made_in_cell = not module._forward_pre_hooks
    return made_in_cell or isinstance(module, torch.nn.ModuleList)


@cache
def healthy(script: str) -> Namespace:
    return run(read(script), f"{script}.py")


@each_fault
def test_torch_gives_the_stated_numbers_of_parameters(planted: Planted) -> None:
    names, _ = outcome(planted)
    assert count(names) == planted.counts


@each_fault
def test_the_fault_changes_what_the_step_gives(planted: Planted) -> None:
    before = named_parameters(healthy(planted.script))
    after = named_parameters(outcome(planted)[0])
    owned_before = in_an_optimizer(healthy(planted.script))
    owned_after = in_an_optimizer(outcome(planted)[0])
    assert any(
        path not in after
        or (p.grad is None) != (after[path].grad is None)
        or (p.grad is not None and not torch.equal(p.grad, after[path].grad))
        or (id(p) in owned_before) != (id(after[path]) in owned_after)
        for path, p in before.items()
    )


@each_fault
def test_the_line_holds_the_fault_and_is_a_changed_one(planted: Planted) -> None:
    lines = planted.source.splitlines()
    before = read(planted.script).splitlines()
    assert planted.at in lines[planted.line - 1]
    assert lines[planted.line - 1] not in before
    assert all(0 < number <= len(lines) for number in planted.near)
    _, cell = setup_and_cell(planted.source)
    if planted.line_in_cell is None:
        assert planted.line < marker_line(planted.source)
    else:
        assert planted.at in cell.splitlines()[planted.line_in_cell - 1]


@each_fault
def test_a_line_that_can_be_seen_runs_while_the_step_is_recorded(planted: Planted) -> None:
    _, ran = outcome(planted)
    if planted.line_can_be_seen:
        assert ran & {planted.line, *planted.near}
    else:
        assert planted.kind in UNSEEN


@each_fault
def test_the_modules_exist(planted: Planted) -> None:
    names, _ = outcome(planted)
    modules = modules_of(names)
    paths = {
        path
        for name, module in modules.items()
        for path, _ in module.named_modules(prefix=name if len(modules) > 1 else "")
    }
    # a module in a plain list is known by its parameters alone
    for parameter in named_parameters(names):
        parts = parameter.split(".")
        paths |= {".".join(parts[:end]) for end in range(1, len(parts))}
    assert set(planted.modules) <= paths
    assert planted.modules or planted.cards
    assert planted.words


# Where a flag, a call or an optimizer is at fault, the parameters themselves show it.
SHOWN = {"requires_grad_false", "not_in_optimizer", "never_called", "wrong_tensor"}
OF_THEIR_OWN = [(one, name) for one, name in zip(ALL, NAMES, strict=True) if one.kind in SHOWN]


@pytest.mark.parametrize(
    "planted", [one for one, _ in OF_THEIR_OWN], ids=[name for _, name in OF_THEIR_OWN]
)
def test_a_state_of_its_own_stands_in_the_named_modules(planted: Planted) -> None:
    names, _ = outcome(planted)
    parameters = named_parameters(names)
    owned = in_an_optimizer(names)
    if planted.kind == "requires_grad_false":
        wrong = [path for path, p in parameters.items() if not p.requires_grad]
    elif planted.kind == "not_in_optimizer":
        wrong = [path for path, p in parameters.items() if id(p) not in owned]
    else:
        wrong = [path for path, p in parameters.items() if p.grad is None]
    assert wrong
    # what the loss does not use takes along what comes before it
    of = any if planted.kind == "wrong_tensor" else all
    assert of(path.startswith(tuple(f"{m}." for m in planted.modules)) for path in wrong)


@each_fault
def test_hooks_see_no_call_of_a_module_that_is_never_called(planted: Planted) -> None:
    setup, cell = setup_and_cell(planted.source)
    names = run(f"{setup}{MARKER}\n", f"{planted}.py")
    called: set[str] = set()
    modules = modules_of(names)
    for name, module in modules.items():
        for path, part in module.named_modules(prefix=name if len(modules) > 1 else ""):
            part.register_forward_pre_hook(lambda _m, _i, path=path: called.add(path))
    exec(cell, names)
    silent = {path for path, p in named_parameters(names).items() if p.grad is None}
    if planted.kind == "never_called":
        assert not called & set(planted.modules)
        assert silent
    else:
        # a container is not called, what is in it is; a module in a plain list has no name here
        known = {path for path in planted.modules if not is_silent_by_nature(path, names)}
        assert known <= called


def test_twelve_kinds_in_four_scripts_each() -> None:
    kinds = Counter(planted.kind for planted in FIRST)
    assert set(kinds.values()) == {4}
    assert len(kinds) == 12
    assert len({(planted.kind, planted.script) for planted in FIRST}) == 48


def test_a_seeded_sample_chose_the_blind_third() -> None:
    pairs = sorted((planted.kind, planted.script) for planted in FIRST)
    chosen = random.Random(2026).sample(pairs, 16)
    assert {(planted.kind, planted.script) for planted in BLIND} == set(chosen)
    assert len(OPEN) == 32


def test_the_second_blind_set_has_every_kind_and_faults_of_its_own() -> None:
    assert len(BLIND2) == 16
    assert {planted.kind for planted in BLIND2} == {planted.kind for planted in FIRST}
    assert len({planted.script for planted in BLIND2}) == 16
    known = {(planted.script, change) for planted in FIRST for change in planted.changes}
    assert not known & {
        (planted.script, change) for planted in BLIND2 for change in planted.changes
    }


def test_the_third_blind_set_has_faults_of_its_own() -> None:
    assert len(BLIND3) == len({planted.kind for planted in BLIND3}) == 12
    known = {(fault.script, change) for fault in (*FIRST, *BLIND2) for change in fault.changes}
    assert not known & {(fault.script, c) for fault in BLIND3 for c in fault.changes}


def test_the_fourth_blind_set_has_models_of_its_own() -> None:
    assert len(BLIND4) == 12
    assert len({fault.script for fault in BLIND4}) == 4
    known = {fault.script for fault in (*FIRST, *TWINS, *BLIND2, *BLIND3)}
    assert not {fault.script for fault in BLIND4} & known
