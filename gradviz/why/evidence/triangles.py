"""Masks of 0 and 1 that are triangles: which one, as the calls that made them tell. Knows no
torch."""

from __future__ import annotations

import re
from typing import NamedTuple

from gradviz.graph.facts import Facts, code_of
from gradviz.graph.records import Call
from gradviz.names.written import diagonal_written
from gradviz.why.evidence.handed_on import ONES, computed, plain_name

# what leaves each number in its row and column
_IN_PLACE = frozenset(
    """__getitem__ bool byte clone contiguous double expand float half int long to type type_as
    unsqueeze view""".split()
)
_NOT = {"__invert__", "logical_not", "bitwise_not"}
# the end of a comparison with a number; and what is 0 or 1 less a mask
_COMPARED = re.compile(r"(==|!=|>|<|\b(?:eq|ne|gt|lt)\()\s*([01])(?:\.0?)?\s*\)*$")
_TRUE_OF_ONES = {"==1", "!=0", ">0", "eq(1", "ne(0", "gt(0"}
_TRUE_OF_ZEROS = {"==0", "!=1", "<1", "eq(0", "ne(1", "lt(1"}
_FROM_ONE = re.compile(r"(?<![\w.])1(\.0?)?\s*-")


class Triangle(NamedTuple):
    """Where a mask is 1 or True.

    Attributes:
        is_lower: from the diagonal downwards; else from it upwards.
        diagonal: which one, 0 for the main one; it belongs to the triangle.
    """

    is_lower: bool
    diagonal: int

    def others(self) -> Triangle:
        """Return where the mask is 0.

        >>> Triangle(True, 0).others()
        Triangle(is_lower=False, diagonal=1)
        """
        return Triangle(not self.is_lower, self.diagonal + (1 if self.is_lower else -1))


def triangle(facts: Facts, mask: int) -> Triangle | None:
    """Return the triangle in which a square mask is 1 or True; None where that is not known."""
    shape, call = facts.graph.tensor[mask].shape, facts.maker.get(mask)
    if call is None or shape is None or len(shape) < 2 or shape[-1] != shape[-2] or shape[-1] < 2:
        return None
    name = plain_name(call.function)
    if name in ("tril", "triu"):
        return _made(facts, call, is_lower=name == "tril")
    before = triangle(facts, call.inputs[0]) if call.inputs else None
    if before is None:
        return None
    if name in _IN_PLACE:
        return before if _begins_alike(facts, call) else None
    is_same = _is_same(call)
    return None if is_same is None else before if is_same else before.others()


def _made(facts: Facts, call: Call, *, is_lower: bool) -> Triangle | None:
    """Return the triangle of ones that a call of ``tril`` or ``triu`` made."""
    ones = facts.maker.get(computed(facts, call.inputs[0], _IN_PLACE))
    if ones is None or ones.function not in ONES or call.source is None:
        return None
    diagonal = diagonal_written(call.source, plain_name(call.function))
    return None if diagonal is None else Triangle(is_lower, diagonal)


def _begins_alike(facts: Facts, call: Call) -> bool:
    """Say whether a result begins where the mask begins that a call read: only then ``[:T, :T]``
    of it is the same triangle."""
    before, after = (facts.graph.tensor[i] for i in (call.inputs[0], call.outputs[0]))
    return call.function != "__getitem__" or before.storage_offset == after.storage_offset


def _is_same(call: Call) -> bool | None:
    """Say whether the result of a call is True where the mask was 1; False where it is True where
    that was 0, None where neither is known."""
    if call.function in _NOT:
        return False
    if len(call.inputs) > 1:
        return None
    code = code_of(call)
    if call.function in ("__rsub__", "rsub"):
        return False if _FROM_ONE.search(code) else None
    found = _COMPARED.search(code)
    compared = "" if found is None else "".join(found.groups())
    return True if compared in _TRUE_OF_ONES else False if compared in _TRUE_OF_ZEROS else None
