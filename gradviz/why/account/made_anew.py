"""Models and optimizers that are made anew in every pass: what one step learnt, or what an
optimizer keeps between steps, is gone at the next one. Knows no torch."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from gradviz.graph.facts import Facts, grouped
from gradviz.graph.records import Call, Source
from gradviz.graph.training import Training, line_of
from gradviz.names.position import callee_of, statement_or_head
from gradviz.names.statements import Statements, source_of
from gradviz.why.account.remark import Remark, Weight
from gradviz.words.speech import say
from gradviz.words.words import Words

_STEPS = 3  # of a place, from which on it is a habit
# optimizers that keep something of each parameter from step to step; not LBFGS, one step of which
# takes many by itself
_KEEPING = {
    *("Adam", "AdamW", "Adamax", "NAdam", "RAdam", "Adagrad", "Adadelta", "RMSprop", "Rprop"),
}
_LOOPS = (ast.For, ast.While)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Use(NamedTuple):
    """A step that moved a leaf.

    Attributes:
        leaf: its object id.
        step: the step's call.
        run: the last backward whose gradient it used.
    """

    leaf: int
    step: Call
    run: int | None


def made_anew(
    facts: Facts, words: Words, training: Training, statements: Statements
) -> Iterator[Remark]:
    """Tell of models, and else of optimizers, that are made anew for each step.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
        training: what was done with gradients.
        statements: the code that ran.
    """
    steps = _uses(training)
    models = [*_models(facts, words, steps)]
    yield from models or _optimizers(words, steps, statements)
    yield from _models_of_loops(facts, words, steps)


def _uses(training: Training) -> dict[object, list[Use]]:
    """Return what stepped at each line."""
    return grouped(
        (line_of(pile.step.call), Use(leaf, pile.step.call, pile.added[-1].run))
        for leaf, piles in training.sums_used.items()
        for pile in piles
    )


def _models(facts: Facts, words: Words, steps: dict[object, list[Use]]) -> Iterator[Remark]:
    """Tell of steps each of which moved other leaves of the same shapes."""
    for every in steps.values():
        rows = [*grouped((use.run, use.leaf) for use in every).values()]
        shapes = {tuple(facts.latest_state[i].shape or () for i in row) for row in rows}
        alone = len({leaf for row in rows for leaf in row}) == sum(map(len, rows))
        if len(rows) < _STEPS or len(shapes) != 1 or not alone:
            continue
        made = _made_by(facts, rows[-1], rows[-2])
        if made is None:
            continue
        step = every[-1].step
        fields = {
            "code": words.source(made),
            "n": words.times(len(rows)),
            "step": words.at(step),
            "names": [words.name(facts.latest_state[i].id) for i in rows[-1]],
        }
        objects = frozenset(rows[-1])
        key = "leaf_anew" if objects.isdisjoint(facts.of_modules) else "model_anew"
        if not _is_sought(facts, step, steps, objects):
            yield Remark(Weight.WEIGHTY, key, fields, (), objects, (made,))


def _models_of_loops(
    facts: Facts, words: Words, steps: dict[object, list[Use]]
) -> Iterator[Remark]:
    """Tell of models that are made anew for every row of several steps."""
    for every in steps.values():
        rows = _rows_apart(facts, every)
        made = _made_by(facts, rows[-1], rows[-2]) if len(rows) >= _STEPS else None
        objects = frozenset(rows[-1]) if rows else frozenset()
        if made is None or objects.isdisjoint(facts.of_modules):
            continue
        fields = {
            "code": words.source(made),
            "n": words.times(len(rows)),
            "step": words.at(every[-1].step),
            "names": [words.name(facts.latest_state[i].id) for i in rows[-1]],
            "times": _times_each(words, every, rows),
        }
        yield Remark(Weight.NOTABLE, "model_anew_in_loop", fields, (), objects, (made,))


def _times_each(words: Words, every: Sequence[Use], rows: Sequence[Sequence[int]]) -> str:
    """Say how often the steps of one place moved each of several models."""
    counts = [len({use.run for use in every if use.leaf == row[0]}) for row in rows]
    least, most = words.times(min(counts)), words.times(max(counts))
    return say("account.from_to", least=least, most=most) if least != most else str(most)


def _rows_apart(facts: Facts, uses: Sequence[Use]) -> list[list[int]]:
    """Return the leaves that the steps of one place moved, those of one model together; nothing
    unless all models have the same shapes, and steps of their own, several each."""
    runs = grouped((use.leaf, use.run) for use in uses)
    models = grouped((tuple(own), leaf) for leaf, own in runs.items())
    steps = [run for own in models for run in own]
    rows = [*models.values()]
    shapes = {tuple(facts.latest_state[i].shape or () for i in row) for row in rows}
    each_apart = len(set(steps)) == len(steps) and min(map(len, models), default=0) >= _STEPS
    return rows if each_apart and len(shapes) == 1 else []


def _is_sought(
    facts: Facts, step: Call, steps: dict[object, list[Use]], objects: frozenset[int]
) -> bool:
    """Say whether leaves that are no model's were moved by hand, while steps move others again and
    again: inputs that are sought anew for each batch, as an attack does."""
    if step.bookkeeping or not objects.isdisjoint(facts.of_modules):
        return False
    others = Counter(use.leaf for every in steps.values() for use in every)
    return any(n > 1 for leaf, n in others.items() if leaf not in objects)


def _made_by(facts: Facts, leaves: Sequence[int], before: Sequence[int]) -> Source | None:
    """Return the statement of the user's in which some leaves got their first values, where others
    got theirs there, too."""
    places = [_first_write(facts, leaf) for leaf in (leaves[0], before[0])]
    one, other = places
    return one if one is not None and other is not None and one == other else None


def _first_write(facts: Facts, leaf: int) -> Source | None:
    """Return where a leaf was written first."""
    writes = facts.writes_by_object.get(leaf, ())
    call = facts.graph.call[writes[0].call_id] if writes else None
    source = None if call is None else call.source
    if source is None or not source.frames:
        return source
    frame = source.frames[-1] if _is_method(source) else source.frames[0]
    return Source(frame.file, frame.line, frame.code)


def _is_method(source: Source) -> bool:
    """Say whether a place stands in a constructor: the statement that called it made the thing."""
    code = source.frames[0].code
    return len(source.frames) > 1 and code.startswith(("self.", "super()"))


def _optimizers(
    words: Words, steps: dict[object, list[Use]], statements: Statements
) -> Iterator[Remark]:
    """Tell of an optimizer that the loop or function which steps it makes anew each time."""
    for file, node in statements.nodes(ast.Assign):
        if not _keeps(node.value):
            continue
        name = ast.unparse(node.targets[0])
        body = _repeated_around(node)
        step = _step_in(body, name) if body is not None else None
        if step is None or body is None or _repeated_around(step) is not body:
            continue
        if not _conditions_around(node, body) <= _conditions_around(step, body):
            continue  # made where there is none yet
        place = source_of(file, step)
        many = [u for key, every in steps.items() if key == _line(place) for u in every]
        leaves = {use.leaf for use in many}
        times = len(many) // len(leaves) if leaves else 0
        if times < _STEPS:
            continue
        made = source_of(file, node)
        fields = {
            "code": words.source(made),
            "name": name,
            "kind": callee_of(node.value.func),
            "n": words.times(times),
            "step": words.source(place),
        }
        yield Remark(Weight.WEIGHTY, "optimizer_anew", fields, (), frozenset(leaves), (made,))


def _line(place: Source) -> object:
    """Return the line of a statement as ``line_of`` gives that of a call."""
    return place.file, place.line


def _keeps(value: Any) -> bool:
    """Say whether an expression makes an optimizer that keeps something from step to step."""
    if not isinstance(value, ast.Call):
        return False
    kind = callee_of(value.func)
    momentum = [k.value for k in value.keywords if k.arg == "momentum"]
    is_zero = any(isinstance(m, ast.Constant) and m.value == 0 for m in momentum)
    return kind in _KEEPING or (kind == "SGD" and bool(momentum) and not is_zero)


def _repeated_around(node: Any) -> Any:
    """Return the innermost loop or function in which a node stands; None where there is none."""
    node = getattr(node, "parent", None)
    while node is not None and not isinstance(node, (*_LOOPS, *_FUNCTIONS)):
        node = getattr(node, "parent", None)
    return node


def _conditions_around(node: Any, body: Any) -> set[ast.AST]:
    """Return the conditions and attempts within a loop or function under which a node stands."""
    found = set[ast.AST]()
    while (node := getattr(node, "parent", None)) is not None and node is not body:
        found |= {node} if isinstance(node, (ast.If, ast.Try)) else set()
    return found


def _step_in(body: Any, name: str) -> Any:
    """Return the statement in a loop or function that steps a variable."""
    for node in ast.walk(body):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == f"{name}.step":
            return statement_or_head(node)
    return None
