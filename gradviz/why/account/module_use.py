"""What the code makes of modules and of their results, against what torch's documentation says of
them: dropout that goes on in evaluation mode, the last sample in place of the last step, an
embedding that is frozen unless it is told otherwise."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gradviz.graph.records import Call, ModuleCall, Source
from gradviz.graph.training import line_of
from gradviz.names.bindings import scope_of
from gradviz.names.position import callee_of, statement_or_head
from gradviz.names.statements import source_of
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.handed_on import plain_name

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

_DROPOUTS = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout")
_FUNCTIONAL = ("F", "functional", "torch")  # what F.dropout is taken from
_RECURRENT = ("RNN", "LSTM", "GRU")
_PLACE_OF_TRAINING = 2  # F.dropout(input, p, training)


def module_use(case: Case) -> Iterator[Remark]:
    """Tell of modules and results that are used as torch does not mean them."""
    yield from _dropout_in_eval(case)
    yield from _training_in_eval(case)
    yield from _kept_from_eval(case)
    yield from _last_of_the_batch(case)
    yield from _frozen_by_default(case)


def _dropout_in_eval(case: Case) -> Iterator[Remark]:
    """Tell of ``F.dropout`` without ``training`` in modules that ran in evaluation mode."""
    ran = {m.id: m for m in case.graph.module_calls if not m.training}
    last = {line_of(c): c for c in case.facts.ordinary_calls if _drops_in(ran, c)}
    every = (pair for function in _DROPOUTS for pair in case.statements.calls(function))
    for place, node in every:
        call = last.get((place.file, place.line))
        if call is None or not _drops_always(node) or _is_set_elsewhere(case, node):
            continue
        kind = ran[call.module_call or 0].kind
        if _is_of_a_layer(node, kind):
            continue
        fields = {"code": case.words.at(call), "module": kind}
        told = any(k.arg == "training" for k in node.keywords)
        key = "dropout_told_to_train" if told else "dropout_in_eval"
        yield Remark(Weight.WEIGHTY, key, fields, (call,))


def _drops_in(ran: dict[int, ModuleCall], call: Call) -> bool:
    """Say whether a call is a dropout in one of some calls of modules."""
    return call.function in _DROPOUTS and call.module_call in ran


def _is_of_a_layer(node: ast.Call, kind: str) -> bool:
    """Say whether a call is one of nn.Dropout, which tells F.dropout its mode."""
    owner = ast.unparse(node.func).rpartition(".")[0]
    return kind.endswith("Dropout") and owner.rpartition(".")[2] not in _FUNCTIONAL


def _drops_always(node: ast.Call) -> bool:
    """Say whether a call of ``F.dropout`` is not told whether it is a training."""
    own = "self" in ast.unparse(node.func)
    told = [
        *node.args[_PLACE_OF_TRAINING:],
        *(k.value for k in node.keywords if k.arg == "training"),
    ]
    return not own and all(isinstance(t, ast.Constant) and t.value is True for t in told)


def _is_set_elsewhere(case: Case, node: ast.Call) -> bool:
    """Say whether the share that is dropped is an attribute which methods set: it may be 0."""
    given = [*node.args[1:2], *(k.value for k in node.keywords if k.arg == "p")]
    names = {a.attr for a in given if isinstance(a, ast.Attribute)}
    written = (n for name in names for _, n in case.statements.sets(name))
    return any(getattr(scope_of(n), "name", "") not in ("__init__", "") for n in written)


def _training_in_eval(case: Case) -> Iterator[Remark]:
    """Tell of dropout layers in training mode in a module in evaluation mode: it does not have
    them."""
    for ran in case.graph.module_calls:
        around = case.facts.module_call.get(ran.parent_id)
        if not ran.kind.endswith("Dropout") or not ran.training or around is None:
            continue
        if around.training or ran.module_id == around.module_id:
            continue  # a layer that the module has was switched by itself, as for Monte Carlo
        fields = {
            "layer": ran.code or ran.kind,
            "module": around.kind,
            "place": f" ({case.words.line_of(ran.source)})" if ran.source else "",
        }
        statements = (ran.source,) if ran.source else ()
        yield Remark(Weight.WEIGHTY, "training_in_eval", fields, statements=statements)
        return


def _kept_from_eval(case: Case) -> Iterator[Remark]:
    """Tell of attributes that a method sets in evaluation mode, and that nothing sets back."""
    sets = [
        (file, node, target)
        for file, node in case.statements.nodes(ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self"
    ]
    for file, node, target in sets:
        if not _is_constant_of_eval(node):
            continue
        same = [scope_of(n) for _, n, t in sets if t.attr == target.attr and n is not node]
        if any(getattr(scope, "name", "") != "__init__" for scope in same):
            continue
        place = source_of(file, node)
        fields = {
            "statement": place.code,
            "place": case.words.line_of(place),
            "name": ast.unparse(target),
            "function": getattr(scope_of(node), "name", "forward"),
        }
        yield Remark(Weight.WEIGHTY, "kept_from_eval", fields, statements=(place,))


def _is_constant_of_eval(node: Any) -> bool:
    """Say whether a statement runs in evaluation mode only, and sets a constant: a result is kept
    to be looked at."""
    around = node.parent
    in_eval = isinstance(around, ast.If) and ast.unparse(around.test) == "not self.training"
    return in_eval and not around.orelse and isinstance(node.value, ast.Constant)


def _last_of_the_batch(case: Case) -> Iterator[Remark]:
    """Tell of an index at the end of the batch of what a recurrent layer gave, where the last step
    is at the end of another dimension."""
    layers = [part for _, part in case.live_state.parts() if type(part).__name__ in _RECURRENT]
    layers = [part for part in layers if hasattr(part, "batch_first")]
    firsts = {bool(part.batch_first) for part in layers}
    if len(firsts) != 1:
        return
    batch_dim, made = 0 if firsts.pop() else 1, _where_made(case, layers)
    taken = {line_of(c): c for c in indexed(case) if dim_of_last(c, case) == batch_dim}
    for call in taken.values():
        shape = case.graph.tensor[call.inputs[0]].shape or ()
        fields = {
            "code": case.words.at(call),
            "name": case.words.name(call.inputs[0]),
            "instead": "[-1]" if batch_dim else "[:, -1]",
            "n": shape[batch_dim],
            "made": f" ({case.words.line_of(made[0])})" if made else "",
        }
        key = "last_of_dimension_one" if batch_dim else "last_of_the_batch"
        yield Remark(Weight.WEIGHTY, key, fields, (call,), statements=tuple(made))


def _where_made(case: Case, layers: list[Any]) -> list[Source]:
    """Return the one statement of the program that makes such a layer, in a list; none where there
    are several."""
    kinds = {type(part).__name__ for part in layers}
    own = {node.name for _, node in case.statements.nodes(ast.ClassDef)}  # may be named alike
    made = [
        source_of(file, statement_or_head(node))
        for file, node in case.statements.nodes(ast.Call)
        if callee_of(node.func) in kinds and getattr(node.func, "id", None) not in own
    ]
    return made if len(made) == 1 else []


def indexed(case: Case) -> Iterator[Call]:
    """Yield the calls that index the steps of a batch as a recurrent layer gave them, on the way to
    a loss."""
    behind = case.facts.in_losses
    for call in case.facts.ordinary_calls:
        if call.function != "__getitem__" or behind.isdisjoint(call.outputs):
            continue
        maker = case.facts.maker.get(call.inputs[0])
        # of packed rows a layer puts the states in another order, by a call of its own
        is_of_steps = (
            maker is not None
            and maker.outputs[:1] == call.inputs[:1]
            and plain_name(maker.function) != "index_select"
        )
        shape = case.graph.tensor[call.inputs[0]].shape or ()
        if maker is not None and is_of_steps and len(shape) == 3 and _is_recurrent(case, maker):
            yield call


def _is_recurrent(case: Case, maker: Call) -> bool:
    """Say whether a call is that of a recurrent layer."""
    around = case.facts.module_call.get(maker.module_call)
    return around is not None and around.kind in _RECURRENT


def dim_of_last(call: Call, case: Case) -> int | None:
    """Return the dimension of which an index takes the last element: 0 of ``out[-1]``, 1 of
    ``out[:, -1]``; None for other indices."""
    for file, node in case.statements.nodes(ast.Subscript):
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
