"""The questions that the recorder asks, too; what all readers look up stands in ``facts``."""

from __future__ import annotations

from gradviz.graph.records import Graph, Tensor

# Functions that read only the shape or dtype of their first tensor, and of every tensor but the
# first.
FACTORIES = frozenset(
    """empty_like zeros_like ones_like rand_like randn_like randint_like full_like new_empty
    new_zeros new_ones new_full new_empty_strided new""".split()
)
SHAPE_OF_OTHER = frozenset(
    "expand_as view_as reshape_as type_as to resize_as_ resize_as_sparse_ sum_to_size".split()
)


def latest_states(graph: Graph) -> dict[int, Tensor]:
    """Return the last recorded state of every tensor object, by ``object_id``."""
    return {t.object_id: t for t in graph.tensors}
