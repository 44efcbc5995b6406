"""Whether what runs at a place is the call that is written there, or one that a builtin makes for
it."""

from __future__ import annotations

import ast

from gradviz.names.position import BUILTINS, Place, callee_of

# What a builtin calls is not what it returns, but for these, which pass torch's result on.
_PASS_ON = {"abs", "round", "pow", "getattr", "float", "int", "bool", "complex", "len"}
_HIGHER_ORDER = {"reduce", "accumulate", "map", "starmap", "imap", "submit"}


def is_written_call(place: Place) -> bool:
    """Tell whether what runs at a place is the call that is written there: no builtin makes it."""
    return isinstance(place.node, ast.Call) and not is_made_by_builtin(place.node)


def is_direct(place: Place) -> bool:
    """Tell whether the node's value is the recorded call's own result."""
    node = place.node
    if isinstance(node, ast.Call):
        return not is_made_by_builtin(node) or callee_of(node.func) in _PASS_ON
    if isinstance(node, ast.Compare):
        return (
            len(node.ops) == 1
            and not isinstance(node.ops[0], (ast.In, ast.NotIn))
            and not place.is_test
        )
    return node is not None and not place.is_test and not isinstance(node, ast.With)


def is_made_by_builtin(call: ast.Call) -> bool:
    """Tell whether something written in C makes the recorded call on behalf of ``call``: sum, map,
    sorted, reduce."""
    return (isinstance(call.func, ast.Name) and call.func.id in BUILTINS) or callee_of(
        call.func
    ) in _HIGHER_ORDER
