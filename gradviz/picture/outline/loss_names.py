"""What a loss is called: by its variable, or by the code of its backward."""

from __future__ import annotations

from gradviz.graph.operations import Operations
from gradviz.words.plain import as_operand, visible
from gradviz.words.speech import say

CODE = 24  # characters of a loss that has no name


def loss_name(operations: Operations, run: int) -> str:
    """Return the name of the tensor on which a backward was called."""
    call = operations.facts.call_of_run.get(run)
    inputs = call.inputs if call else ()
    tensor = operations.graph.tensor.get(inputs[0]) if inputs else None
    name = tensor.code_name if tensor else ""
    maker = operations.facts.maker.get(tensor.id) if tensor else None
    code = maker.source.code if maker and maker.source else None
    if not name and code and "=" not in code:
        name = _short_operand(code)
    return name or say("outline.nth_backward", n=run + 1)


def _short_operand(code: str) -> str:
    """Write an expression, or how a long one begins, so that ``.backward()`` may follow it.

    >>> _short_operand("real + fake")
    '(real + fake)'
    >>> _short_operand("bce(judge(real), ones) + bce(judge(fake), ones)")
    '(bce(judge(real), ones) …)'
    """
    whole = as_operand(visible(code))
    return f"({visible(code, CODE)})" if whole != visible(code) else visible(code, CODE)
