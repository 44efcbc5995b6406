"""An inference tensor where autograd needs an ordinary one: where it was made, and what switched
inference mode on there. Plain data in and out, knows no torch."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from gradviz.graph.findings import Cause
from gradviz.graph.records import Call, Source, Tensor
from gradviz.names.frames import frames
from gradviz.names.statements import source_of
from gradviz.why.rules.errors.failure import Failure, call_at
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import Code, say

_SWITCH = re.compile(r"inference_mode(\([^()]*\))?")


def made_in_inference(failure: Failure) -> Explanation | None:
    """Tell which input was made in inference mode, where, and by which line that was on; of a layer
    that was made there the statement that made it."""
    found = [(t, met) for t in failure.inputs if (met := _met_in_inference(failure, t)) is not None]
    if not found:
        return None
    tensor, met = found[0]
    head = head_that_switched(failure, met)
    if head is None or _SWITCH.search(head.code or "") is None:
        return None
    maker = failure.facts.maker.get(tensor.id)
    it = failure.in_code(tensor)  # of a parameter, a copy would be another one
    copied = say("raised.copied_outside", it=Code(it)) if maker is not None else ""
    made = [met] if maker is not None else [*map(call_at, _layer_made(failure, tensor, met))]
    return failure.answer(
        Cause.INFERENCE_TENSOR,
        "made_under",
        calls=[call_at(head), *made, failure.call],
        tensors=[tensor],
        name=failure.name(tensor),
        code=failure.code(failure.call),
        head=Code(head.code or ""),
        line=head.line,
        copied=copied,
        anew=Code(_SWITCH.sub("no_grad()", head.code or "")),
    )


def _met_in_inference(failure: Failure, tensor: Tensor) -> Call | None:
    """Return the call in inference mode that made an inference tensor, or met it first."""
    seen = set[int]()
    while tensor.version is None and tensor.object_id not in seen:
        seen.add(tensor.object_id)
        first = failure.facts.first_maker.get(tensor.object_id)
        readers = failure.facts.readers.get(tensor.object_id, ())
        met = first if first is not None else next(iter(readers), None)
        if met is None or met.inference_mode:
            return met
        taken = [failure.graph.tensor[i] for i in met.inputs]  # a view of one is one, too
        tensor = next((t for t in taken if t.version is None), tensor)
    return None


def head_that_switched(failure: Failure, call: Call) -> Source | None:
    """Return the decorator, or the head of the block, that switched a call's grad mode off; where
    too many functions stand in between, the only one of the program that does."""
    off = None if call.source is None else call.source.off
    heads = [*_heads(failure)]
    if off is None:
        switching = [head for head in heads if _SWITCH.search(head.code or "")]
        return switching[0] if len(switching) == 1 else None
    files = {frame.file for frame in frames(call)}
    return next((head for head in heads if head.line == off and head.file in files), None)


def _heads(failure: Failure) -> Iterator[Source]:
    """Yield the decorators and the heads of the blocks of the code that ran."""
    code, kinds = failure.statements, (ast.FunctionDef, ast.AsyncFunctionDef, ast.With)
    for file, node in () if code is None else code.nodes(kinds):
        heads = (
            [i.context_expr for i in node.items]
            if isinstance(node, ast.With)
            else node.decorator_list
        )
        for head in heads:
            begin, end = ("with ", ":") if isinstance(node, ast.With) else ("@", "")
            code_of_head = f"{begin}{ast.unparse(head)}{end}"
            yield source_of(file, head)._replace(line=head.lineno, code=code_of_head)


def _layer_made(failure: Failure, tensor: Tensor, met: Call) -> list[Source]:
    """Return the statement that gave a module the layer of a parameter, in a function under which
    the parameter was met first."""
    parts = [p for p in (tensor.name or "").split(".")[1:-1] if p.isidentifier()]
    found = [] if failure.statements is None or not parts else failure.statements.sets(parts[-1])
    return [
        place for place, node in found if any(_stands_above(node, f, place) for f in frames(met))
    ]


def _stands_above(node: Any, frame: Any, place: Source) -> bool:
    """Say whether a statement stands above a frame's line in its function."""
    function = node
    while function is not None and not isinstance(function, ast.FunctionDef):
        function = getattr(function, "parent", None)
    is_inside = function is not None and function.lineno <= frame.line <= function.end_lineno
    return is_inside and place.file == frame.file and node.lineno <= frame.line
