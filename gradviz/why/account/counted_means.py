"""Sums of several losses each of which is a mean over another number of targets. Read off steps and
the code. Knows no torch."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from gradviz.graph.effects import CLASS_LOSSES
from gradviz.graph.records import Call, Source
from gradviz.graph.training import line_of
from gradviz.names.position import callee_of
from gradviz.names.statements import Statements, source_of
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.account.steps import SCALING, Step, Steps
from gradviz.why.evidence.handed_on import plain_name

if TYPE_CHECKING:
    import torch

_MAKES = {"CrossEntropyLoss": "cross_entropy", "NLLLoss": "nll_loss"}
# what fills a tensor, or a part of one, with a number
_FILLS = {"masked_fill", "masked_fill_", "full", "full_like", "new_full", "fill_", "where", "pad"}
_FILLS |= {"pad_sequence", "append"}
_KEEPS = SCALING | {"squeeze", "view", "reshape", "float", "to"}


def counted_means(
    steps: Steps, statements: Statements, values_of: Callable[[int], torch.Tensor | None]
) -> Iterator[Remark]:
    """Tell of steps that used the sum of several backwards, the loss of each a mean over the
    targets that ``ignore_index`` leaves: one with few targets counts as much as one with many.
    None where no target is known to be left out.

    Args:
        steps: of the recording.
        statements: the code that ran.
        values_of: gives the living values of a state.
    """
    ignoring = dict(_ignoring(statements))
    for step in steps.steps if ignoring else ():
        losses = _losses_added(steps, step)
        ignored = ignoring.get(plain_name(losses[-1].function)) if losses else None
        if ignored is None or not _leaves_some(ignored, losses[-1], statements, values_of):
            continue
        place = ignored.place
        fields = {
            "step": steps.step_name(step),
            "n": len(losses),
            "loss": steps.words.at(losses[-1]),
            "ignoring": place.code,
            "place": steps.words.line_of(place),
        }
        calls = (losses[-1], step.call)
        yield Remark(Weight.NOTABLE, "counted_means", fields, calls, statements=(place,))


def _losses_added(steps: Steps, step: Step) -> list[Call]:
    """Return the losses of classes, all of one line, whose gradients a step used the sum of; none
    where there is another among them."""
    several = [u for u in step.used if len({m.run for m in u.added}) > 1]
    every = [_class_loss(steps, m.call) for u in several[:1] for m in u.added]
    losses = [call for call in every if call is not None]
    is_one = len(losses) == len(every) and len({line_of(c) for c in losses}) == 1
    return losses if is_one else []


def _class_loss(steps: Steps, backward: Call) -> Call | None:
    """Return the loss of classes on which, scaled by a number perhaps, backward was called."""
    tensor_id = next(iter(backward.inputs), None)
    while tensor_id is not None and (maker := steps.facts.maker.get(tensor_id)) is not None:
        function = plain_name(maker.function)
        if function in CLASS_LOSSES:
            return maker
        tensor_id = maker.inputs[0] if function in _KEEPS and len(maker.inputs) == 1 else None
    return None


class Ignored(NamedTuple):
    """The targets that a loss leaves out: where the code says so, and their number as it is
    written."""

    place: Source
    number: ast.expr


def _leaves_some(
    ignored: Ignored,
    loss: Call,
    statements: Statements,
    values_of: Callable[[int], torch.Tensor | None],
) -> bool:
    """Say whether some targets are left out, as far as the last ones tell, or the code: it writes
    that number into something; one that has a name is there for that."""
    try:
        index = ast.literal_eval(ignored.number)
    except ValueError:
        return True
    values = values_of(loss.inputs[1]) if len(loss.inputs) > 1 else None
    if values is not None and bool((values == index).any()):
        return True
    text = ast.unparse(ast.Constant(index))
    return any(
        _writes(node, text) for _, node in statements.nodes((ast.Assign, ast.Call, ast.List))
    )


def _writes(node: Any, number: str) -> bool:
    """Say whether a statement, a call or a list puts a number, as it is written, into a tensor or a
    list."""
    if isinstance(node, ast.Assign):
        return isinstance(node.targets[0], ast.Subscript) and ast.unparse(node.value) == number
    if isinstance(node, ast.List):  # [-100] * n, and no index
        is_repeated = isinstance(getattr(node, "parent", None), ast.BinOp)
        return is_repeated and any(ast.unparse(element) == number for element in node.elts)
    given = [*node.args, *(k.value for k in node.keywords)]
    return callee_of(node.func) in _FILLS and any(ast.unparse(a) == number for a in given)


def _ignoring(statements: Statements) -> Iterator[tuple[str, Ignored]]:
    """Yield the functions of losses that leave targets out and take the mean of the others, each
    with where the code says so."""
    for file, node in statements.nodes(ast.Call):
        name = callee_of(node.func) or ""
        function = _MAKES.get(name, name)
        given: dict[str | None, Any] = {k.arg: k.value for k in node.keywords}
        is_mean = ast.unparse(given.get("reduction", ast.Constant("mean"))) == "'mean'"
        if function in CLASS_LOSSES and "ignore_index" in given and is_mean:
            yield function, Ignored(source_of(file, node), given["ignore_index"])
