"""At which tensor a backward raised before it ran a node, as torch's message tells."""

from __future__ import annotations

import math
import re

from gradviz.graph.records import Backward, Graph


def refused_at(graph: Graph, run: Backward, message: str) -> list[int]:
    """Find the tensors at which a backward raised before it ran a node.

    Of the inputs of its call those come first that it was called on. The weights to start with, and
    the tensors that ``autograd.grad`` was asked about, come after them. torch's message counts the
    former.

    Args:
        graph: in which it was recorded.
        run: the backward.
        message: what it raised.

    Returns:
        Tensor ids: one where it is known which tensor raised, else all that the backward was called
        on.
    """
    tensor, inputs = graph.tensor, graph.call[run.call_id].inputs
    counted = re.search(
        r"element (\d{1,6}) of (?:tensors|variables)|\boutput\[(\d{1,6})\]", message
    )
    if counted:
        at = int(counted[1] or counted[2])
        untracked = counted[1] is not None
        found = inputs[at : at + 1]
        return [i for i in found if not untracked or tensor[i].requires_grad is False]
    roots = list(dict.fromkeys(inputs[: max(1, len(run.roots))]))
    if "scalar outputs" not in message:
        return roots
    # torch asks for a single number
    shapes = {i: tensor[i].shape for i in roots}
    return [i for i, shape in shapes.items() if shape is None or math.prod(shape) != 1]
