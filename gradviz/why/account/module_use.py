"""What the code makes of modules and of their results, against what torch's documentation says of
them: dropout that goes on in evaluation mode, the last sample in place of the last step, an
embedding that is frozen unless it is told otherwise."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gradviz.graph.records import Call
from gradviz.graph.sites import is_installed_file
from gradviz.graph.training import line_of
from gradviz.names.statements import source_of
from gradviz.why.account.remark import Remark, Weight

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

_DROPOUTS = {"dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout"}
_RECURRENT = ("RNN", "LSTM", "GRU")
_PLACE_OF_TRAINING = 2  # F.dropout(input, p, training)


def module_use(case: Case) -> Iterator[Remark]:
    """Tell of modules and results that are used as torch does not mean them."""
    yield from _dropout_in_eval(case)
    yield from _last_of_the_batch(case)
    yield from _frozen_by_default(case)


def _dropout_in_eval(case: Case) -> Iterator[Remark]:
    """Tell of ``F.dropout`` without ``training`` in modules that ran in evaluation mode."""
    ran = {m.id: m for m in case.graph.module_calls if not m.training}
    calls = [
        c for c in case.facts.ordinary_calls if c.function in _DROPOUTS and c.module_call in ran
    ]
    for place, node in case.statements.calls("dropout"):
        keywords = {k.arg for k in node.keywords}
        own = "self" in ast.unparse(node.func)
        if own or "training" in keywords or len(node.args) > _PLACE_OF_TRAINING:
            continue
        here = [c for c in calls if line_of(c) == (place.file, place.line)]
        if here:
            call = here[-1]
            kind = ran[call.module_call or 0].kind
            fields = {"code": case.words.at(call), "module": kind}
            yield Remark(Weight.WEIGHTY, "dropout_in_eval", fields, (call,))


def _last_of_the_batch(case: Case) -> Iterator[Remark]:
    """Tell of an index at the end of the batch of what a recurrent layer gave, where the last step
    is at the end of another dimension."""
    firsts = {
        bool(part.batch_first)
        for _, part in case.live_state.parts()
        if type(part).__name__ in _RECURRENT and hasattr(part, "batch_first")
    }
    if len(firsts) != 1:
        return
    batch_dim = 0 if firsts.pop() else 1
    taken = {line_of(c): c for c in _indexed(case) if _dim_of_last(c, case) == batch_dim}
    for call in taken.values():
        shape = case.graph.tensor[call.inputs[0]].shape or ()
        fields = {
            "code": case.words.at(call),
            "name": case.words.name(call.inputs[0]),
            "instead": "[-1]" if batch_dim else "[:, -1]",
            "n": shape[batch_dim],
        }
        key = "last_of_dimension_one" if batch_dim else "last_of_the_batch"
        yield Remark(Weight.WEIGHTY, key, fields, (call,))


def _indexed(case: Case) -> Iterator[Call]:
    """Yield the calls that index the steps of a batch as a recurrent layer gave them, on the way to
    a loss."""
    behind = case.facts.ancestors(case.facts.losses)
    for call in case.facts.ordinary_calls:
        if call.function != "__getitem__" or behind.isdisjoint(call.outputs):
            continue
        maker = case.facts.maker.get(call.inputs[0])
        is_of_steps = maker is not None and maker.outputs[:1] == call.inputs[:1]
        shape = case.graph.tensor[call.inputs[0]].shape or ()
        if maker is not None and is_of_steps and len(shape) == 3 and _is_recurrent(case, maker):
            yield call


def _is_recurrent(case: Case, maker: Call) -> bool:
    """Say whether a call is that of a recurrent layer."""
    around = case.facts.module_call.get(maker.module_call)
    return around is not None and around.kind in _RECURRENT


def _dim_of_last(call: Call, case: Case) -> int | None:
    """Return the dimension of which an index takes the last element: 0 of ``out[-1]``, 1 of
    ``out[:, -1]``; None for other indices."""
    for file, node in case.statements.nodes(ast.Subscript):
        if is_installed_file(file.filename):
            continue
        place = source_of(file, node)
        if (place.file, place.line) != line_of(call) or not isinstance(node.ctx, ast.Load):
            continue
        index = node.slice
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        at = [i for i, part in enumerate(parts) if _is_minus_one(part)]
        whole = all(isinstance(p, ast.Slice) for i, p in enumerate(parts) if i not in at)
        if len(at) == 1 and whole:
            return at[0]
    return None


def _is_minus_one(node: Any) -> bool:
    return ast.unparse(node) == "-1"


def _frozen_by_default(case: Case) -> Iterator[Remark]:
    """Tell of embeddings that ``from_pretrained`` froze, as it does unless it is told not to."""
    frozen = {
        name
        for name, part in case.live_state.parts()
        if type(part).__name__ in ("Embedding", "EmbeddingBag") and not part.weight.requires_grad
    }
    for place, node in case.statements.calls("from_pretrained") if frozen else ():
        keywords = {k.arg for k in node.keywords}
        kind = ast.unparse(node.func).split(".")[-2]
        if (
            kind in ("Embedding", "EmbeddingBag")
            and "freeze" not in keywords
            and len(node.args) < 2
        ):
            fields = {
                "statement": place.code,
                "place": case.words.line_of(place),
                "names": sorted(frozen),
            }
            yield Remark(Weight.NOTABLE, "frozen_by_default", fields, statements=(place,))
