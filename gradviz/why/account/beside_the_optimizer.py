"""Settings that the code gives an optimizer where it does not read them, and the one by which it
climbs: what a step does is in its ``param_groups``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gradviz.graph.preview import number
from gradviz.graph.records import Source
from gradviz.names.bindings import scope_of
from gradviz.names.statements import source_of
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.code.reading import UNREAD, value_of

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

_RATES = {"lr", "learning_rate"}
# what reads the rate of an optimizer, to show it
_READS_RATE = ("param_groups", "get_last_lr", "get_lr")
_WRITES = (ast.Assign, ast.AugAssign)


def beside_the_optimizer(case: Case) -> Iterator[Remark]:
    """Tell of learning rates that were set where no optimizer reads them, and of optimizers that
    climb."""
    known = {case.optimizer_name(o): o for o in case.known_optimizers}
    for place, optimizer, form in _rates_elsewhere(case, known):
        rate = known[optimizer].param_groups[0].get("lr")
        fields = {
            "statement": place.code,
            "place": case.words.line_of(place),
            "optimizer": optimizer,
            "rate": number(rate) if isinstance(rate, (int, float)) else "",
        }
        yield Remark(Weight.IN_VAIN, form, fields, statements=(place,))
    yield from _climbing(case, known)


def _rates_elsewhere(case: Case, known: dict[str, Any]) -> Iterator[tuple[Source, str, str]]:
    """Yield each statement that sets a learning rate elsewhere, the optimizer's name, and the
    sentence's key."""
    only = next(iter(known)) if len(known) == 1 else ""
    for file, node in case.statements.nodes(_WRITES):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            found = _set_elsewhere(target, known, only, case) if known else None
            if found is not None:
                yield source_of(file, node), *found


def _set_elsewhere(
    target: ast.expr, known: dict[str, Any], only: str, case: Case
) -> tuple[str, str] | None:
    """Return the optimizer whose learning rate a target seems to be, and the sentence's key."""
    if isinstance(target, ast.Attribute) and target.attr in _RATES:
        owner = _optimizer_of(target.value, known, only, case)
        return (owner, "rate_attribute") if owner and not _is_read(target, case) else None
    if isinstance(target, ast.Subscript) and _key(target) in _RATES:
        text = ast.unparse(target.value)
        if text.endswith(".defaults"):
            return (only, "rate_defaults") if only else None
        if ".state_dict()" in text or _is_copied(target.value):
            return (only, "rate_copy") if only else None
    if isinstance(target, ast.Name) and only and _was_handed_over(target, case):
        return only, "rate_variable"
    return None


def _optimizer_of(owner: ast.expr, known: dict[str, Any], only: str, case: Case) -> str:
    """Return the name of the optimizer that an expression stands for, as far as that is clear:
    where its value cannot be read, it is called so."""
    found = value_of(owner, {**case.names, **known})
    by_value = next((name for name, one in known.items() if one is found), "")
    text = ast.unparse(owner)
    is_called_so = found is UNREAD and text.rpartition(".")[2].lower().startswith("opt")
    return by_value or (only if is_called_so else "")


def _is_read(target: ast.Attribute, case: Case) -> bool:
    """Say whether the code reads the attribute that a statement sets: options have one, too."""
    text = ast.unparse(target)
    same = (n for _, n in case.statements.nodes(ast.Attribute) if n.attr == target.attr)
    reads = (n for n in same if isinstance(n.ctx, ast.Load) and not _is_printed(n))
    return any(ast.unparse(n) == text for n in reads)


def _key(target: ast.Subscript) -> object:
    """Return the constant key of a subscript."""
    return target.slice.value if isinstance(target.slice, ast.Constant) else None


def _is_copied(owner: ast.expr) -> bool:
    """Say whether what is written into is a copy that the same scope made, or an item of one."""
    while isinstance(owner, ast.Subscript):
        owner = owner.value
    if not isinstance(owner, ast.Name):
        return False
    nodes = [n for n in ast.walk(scope_of(owner)) if isinstance(n, ast.Assign)]
    given = [n.value for n in nodes for t in n.targets if ast.unparse(t) == owner.id]
    return bool(given) and all(_makes_copy(value) for value in given)


def _makes_copy(value: ast.expr) -> bool:
    """Say whether an expression copies parameter groups."""
    text = ast.unparse(value)
    is_copy = text.startswith(("copy.", "deepcopy(", "dict(")) or text.endswith(".copy()")
    return "param_groups" in text and (is_copy or ".state_dict()" in text)


def _was_handed_over(target: ast.Name, case: Case) -> bool:
    """Say whether a variable was handed to an optimizer as its learning rate, is changed after
    that, and is handed to nothing then."""
    handed = _lines_handing_over(target.id, case)
    if not handed or max(handed) >= target.lineno:
        return False
    statement = next(iter(_statements_around(target)))
    if any(name in ast.unparse(statement) for name in _READS_RATE):
        return False
    own = {id(n) for n in ast.walk(statement)}
    names = (node for _, node in case.statements.nodes(ast.Name) if node.id == target.id)
    reads = (n for n in names if isinstance(n.ctx, ast.Load) and id(n) not in own)
    return all(n.lineno in handed or _is_printed(n) for n in reads)


def _lines_handing_over(name: str, case: Case) -> set[int]:
    """Return the lines in which a variable is handed to a call as ``lr``."""
    keywords = (k for _, call in case.statements.nodes(ast.Call) for k in call.keywords)
    return {k.value.lineno for k in keywords if k.arg == "lr" and _is_named(k.value, name)}


def _is_named(node: ast.expr, name: str) -> bool:
    """Say whether an expression is a variable of a name."""
    return isinstance(node, ast.Name) and node.id == name


def _statements_around(node: Any) -> Iterator[ast.stmt]:
    """Yield the statements in which a node stands, the innermost first."""
    while node is not None:
        if isinstance(node, ast.stmt):
            yield node
        node = getattr(node, "parent", None)


def _is_printed(node: Any) -> bool:
    """Say whether a variable or an attribute is only shown."""
    around: Any = node.parent
    while isinstance(around, (ast.FormattedValue, ast.JoinedStr)):
        around = getattr(around, "parent", None)
    return isinstance(around, ast.Call) and ast.unparse(around.func) == "print"


def _climbing(case: Case, known: dict[str, Any]) -> Iterator[Remark]:
    """Tell of optimizers that were told to make the loss larger."""
    for name, optimizer in known.items():
        if not any(group.get("maximize") for group in optimizer.param_groups):
            continue
        places = tuple(
            source_of(file, node.value)
            for file, node in case.statements.nodes(ast.keyword)
            if node.arg == "maximize"
        )
        fields = {"optimizer": name, "places": [case.words.line_of(p) for p in places]}
        yield Remark(Weight.WEIGHTY, "climbs", fields, statements=places)
