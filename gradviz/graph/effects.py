"""What functions do to the values and the memory of tensors, by their names. Knows no torch."""

from __future__ import annotations

from gradviz.graph.records import Call

# Functions that read only the shape or dtype of their first tensor, and of every tensor but the
# first.
FACTORIES = frozenset(
    """empty_like zeros_like ones_like rand_like randn_like randint_like full_like new_empty
    new_zeros new_ones new_full new_empty_strided new""".split()
)
SHAPE_OF_OTHER = frozenset(
    "expand_as view_as reshape_as type_as to resize_as_ resize_as_sparse_ sum_to_size".split()
)
# Functions that write flags or gradients of a tensor, not its memory.
NO_MEMORY = frozenset(
    "backward autograd.grad grad requires_grad requires_grad_ retain_grad detach_".split()
)
# In place, by values that no tensor gave, and with these nothing of what was there before is left.
WIPING = frozenset("zero_ fill_ normal_ uniform_ random_ exponential_ bernoulli_".split())
# The same, and what ``nn.init`` fills a tensor with.
FILLING = WIPING | frozenset(
    """trunc_normal_ constant_ ones_ zeros_ eye_ dirac_ sparse_ orthogonal_ kaiming_uniform_
    kaiming_normal_ xavier_uniform_ xavier_normal_""".split()
)
OVERWRITING = WIPING | {"copy_", "set_", "data"}
# What multiplies two tensors, number by number.
PRODUCTS = frozenset({"mul", "multiply", "__mul__", "__rmul__"})
# What multiplies two matrices.
MATRIX_PRODUCTS = frozenset({"matmul", "__matmul__", "mm", "bmm"})
# Losses that compare a prediction with a target number by number.
ELEMENTWISE_LOSSES = frozenset({"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"})
# Losses that compare the scores of classes with the class that each sample is of.
CLASS_LOSSES = frozenset({"cross_entropy", "nll_loss"})
# What gives another name to the memory of a tensor, without its history.
DETACHED = frozenset({"data", "detach"})


def read_by(call: Call) -> tuple[int, ...]:
    """Return the inputs whose values a call reads, and not only their shape."""
    if call.function in FACTORIES:
        return ()
    return call.inputs[:1] if call.function in SHAPE_OF_OTHER else call.inputs
