"""The statements under which a call ran: what each of them binds, reads, keeps and drops. They are
read off the syntax tree once, and told as text afterwards. Knows no torch."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

from gradviz.graph.facts import code_of
from gradviz.graph.records import Call, Frame, Source
from gradviz.names.bindings import bindings, scope_of
from gradviz.names.position import Place, display_name, dotted, is_literal, statement_or_head

STATEMENT = 240  # characters of a statement that is read again
_CONTAINERS = (ast.Tuple, ast.List, ast.Dict, ast.Set)
FILLING = ("append", "add", "extend", "insert", "appendleft")  # methods of lists, sets and deques
# arguments that say how a tensor is made, not of what
_HOW = ("dtype", "device", "layout", "requires_grad", "pin_memory", "memory_format")
_SIZES = ("size", "numel", "dim")  # methods that tell a size
# what copies the numbers of a list of tensors
_OF_NUMBERS = {"torch.tensor", "torch.Tensor", "torch.FloatTensor", "torch.as_tensor"}
_KEEPER = 100  # the numbers of statements that keep a value stand beyond those of frames


class Scope(NamedTuple):
    """A function, or the top level of a file or cell: its variables are one set."""

    file: str
    begins: int


class Bound(NamedTuple):
    """Names that one statement binds and another of the same scope reads."""

    depth: int  # of the binding frame, from the call outwards
    scope: Scope
    names: list[str]


# --- from the syntax tree -------------------------------------------------------------------------


def frame_of(place: Place) -> Frame:
    """Return the statement around a place; of a loop, a condition or a ``with`` the expression in
    its head."""
    first = place.code.co_firstlineno
    file = display_name(place.code.co_filename)
    shown = None if place.node is None else statement_or_head(place.node)
    if shown is None:
        return Frame(file, place.line, first, "")
    text = place.text(shown, STATEMENT)
    kept = [(k.lineno, place.text(k, STATEMENT)) for k in _keepers_of(shown)]
    return Frame(file, shown.lineno, first, text, tuple(kept))


def _keepers_of(statement: Any) -> list[Any]:
    """Return the statements of the same scope that keep what this one binds."""
    if not isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        return []
    scope = scope_of(statement)
    kept: list[Any] = []
    for name in dict.fromkeys(n for n, binder in bindings(scope) if binder is statement):
        for keeper in _keepers(scope).get(name, ()):
            before = [b for n, b in bindings(scope) if n == name and b.lineno < keeper.lineno]
            if before and max(before, key=lambda b: int(b.lineno)) is statement:
                kept.append(keeper)
    return kept


@functools.lru_cache(maxsize=64)
def _keepers(scope: Any) -> dict[str, list[Any]]:
    """Return, by the name that they keep, the statements of a scope that give it a second holder:
    an attribute, an item, another name, a list."""
    found: dict[str, list[Any]] = {}
    for name, binder in _kept(scope):
        found.setdefault(name, []).append(binder)
    return found


def _kept(scope: Any) -> Iterator[tuple[str, Any]]:
    """Yield each name that a statement of a scope gives a second holder, with the statement."""
    for node in _statements(scope):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            for name in _held(node.value):
                yield name, node
        elif isinstance(node, ast.Expr) and _filling(node.value) is not None:
            for argument in getattr(node.value, "args", ()):
                for name in _held(argument):
                    yield name, node


def _statements(scope: Any) -> Iterator[Any]:
    """Yield the statements of a scope, without those of the functions and classes in it."""
    todo = list(ast.iter_child_nodes(scope)) if not isinstance(scope, ast.expr) else []
    for node in todo:  # which grows
        if isinstance(node, ast.stmt):
            yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.expr)):
            todo += ast.iter_child_nodes(node)


def _held(value: Any) -> Iterator[str]:
    """Yield the names that a value is, or that a tuple, list or dict holds."""
    name = dotted(value)
    if name is not None:
        yield name
    elif isinstance(value, _CONTAINERS):
        for element in getattr(value, "elts", None) or getattr(value, "values", None) or ():
            if element is not None:
                yield from _held(element)


# --- from a recorded call ------------------------------------------------------------------------


def frames(call: Call) -> tuple[Frame, ...]:
    """Return the statements under which a call ran, the innermost first."""
    return call.source.frames if call.source else ()


def whole_code(call: Call) -> str:
    """Return the user's code of a call, as ``code_of`` does; of code that is cut short its whole
    statement, where that is known."""
    code = code_of(call)
    statement = next((frame.code for frame in frames(call)[:1]), "")
    return statement if statement and code.endswith("…") else code


def stands_above(first: Call, second: Call) -> bool:
    """Say whether the statements of two calls stand in one scope, the first above the second."""
    one, other = frames(first)[:1], frames(second)[:1]
    if not one or not other:
        return False
    in_one_scope = (one[0].file, one[0].scope) == (other[0].file, other[0].scope)
    return in_one_scope and one[0].line < other[0].line


def variables_of(frame: Frame) -> Scope:
    """Return where the variables of a statement live."""
    return Scope(frame.file, frame.scope)


def place_at(call: Call, depth: int) -> Call:
    """Return a stand-in for a call, told at a whole statement that it ran under: for words
    alone. The call itself where that statement is not known."""
    frame = frames(call)[depth] if depth < len(frames(call)) else None
    if (
        frame is None
        or not frame.code
        or (depth == 0 and call.source and call.source.code == frame.code)
    ):
        return call
    return _stand_in(call, depth + 1, frame.line, frame.file, frame.code)


def place_of_keeper(call: Call, frame: Frame, line: int, code: str) -> Call:
    """Return a stand-in for a call, told at a statement that keeps its result."""
    return _stand_in(call, _KEEPER + line, line, frame.file, code)


def _stand_in(call: Call, nr: int, line: int, file: str, code: str) -> Call:
    """Return a call that is told at another place than its own; ``nr`` is that of the place among
    those of the call."""
    # what is told of a call is remembered by its id: no other call may have this one
    return call._replace(
        id=-((call.id + 1) * 1_000_000 - nr), source=Source(file, line, code), module=None
    )


def bound_and_read(maker: Call, reader: Call, inside: Call) -> Bound | None:
    """Return what a statement of the maker's binds and one of the reader's reads, in a scope that
    another call runs in too; of several scopes the innermost one.

    Args:
        maker: made the value.
        reader: reads it later.
        inside: whose scopes are asked: the backward of a loop.
    """
    for scope in map(variables_of, frames(inside)):
        read = {n for f in frames(reader) if variables_of(f) == scope for n in names_in(f.code)[1]}
        for depth, frame in enumerate(frames(maker)):
            names = [n for n in names_in(frame.code)[0] if n in read]
            if variables_of(frame) == scope and names:
                return Bound(depth, scope, list(dict.fromkeys(names)))
    return None


def keepers(call: Call) -> Iterator[tuple[Frame, int, str]]:
    """Yield the statements that keep what a call made, as (frame, line, code): its own where that
    binds an attribute or fills a list, then those that the binding is followed by."""
    for frame in frames(call):
        bound = names_in(frame.code)[0]
        if any("." in name or "[" in name for name in bound) or list_of(frame.code):
            yield frame, frame.line, frame.code
        for line, code in frame.keepers:
            yield frame, line, code


def value_kept(frame: Frame, code: str) -> str:
    """Return what a statement keeps of what a frame binds, as it is written there; "…" where that
    has no name."""
    bound = names_in(frame.code)[0]
    read = names_in(code)[1] if code != frame.code else set()
    return next((name for name in bound if name in read), "…")


def _filling(call: Any) -> ast.Attribute | None:
    """Return the method of a call that adds to a list, a set or a deque; None of any other node."""
    method = call.func if isinstance(call, ast.Call) else None
    return method if isinstance(method, ast.Attribute) and method.attr in FILLING else None


def list_of(code: str) -> str:
    """Return the method with which a statement adds to a list; "" where it does not.

    >>> list_of("losses.append(loss)"), list_of("loss = f(x)")
    ('append', '')
    """
    method = _filling(call_alone(code))
    return method.attr if method else ""


def list_filled(code: str) -> str:
    """Return the list to which a statement adds; "" where it adds to none.

    >>> list_filled("log['loss'].append(loss)"), list_filled("loss = f(x)")
    ("log['loss']", '')
    """
    method = _filling(call_alone(code))
    return ast.unparse(method.value) if method else ""


class Copied(NamedTuple):
    """A call that makes a tensor of the numbers of a list.

    Attributes:
        call: its code.
        parts: the code of the list.
    """

    call: str
    parts: str


def list_copied(code: str, *, holds_many: bool) -> Copied | None:
    """Return the call in a statement that makes a tensor of the numbers of a list of tensors; None
    where it makes one of something else.

    Args:
        code: of the statement.
        holds_many: whether the call was given several tensors: then a variable is a list, too.

    >>> list_copied("m = torch.tensor([a, b]).mean()", holds_many=True)
    Copied(call='torch.tensor([a, b])', parts='[a, b]')
    >>> list_copied("m = torch.tensor(losses)", holds_many=True).parts
    'losses'
    >>> list_copied("m = torch.tensor(loss)", holds_many=False)
    >>> list_copied("m = torch.tensor([a, 1.0])", holds_many=False)
    """
    calls = (node for node in ast.walk(_parsed(code)) if isinstance(node, ast.Call))
    for call in calls:
        is_made = bool(call.args) and ast.unparse(call.func) in _OF_NUMBERS
        if is_made and _is_of_tensors(call.args[0], holds_many=holds_many):
            return Copied(ast.unparse(call), ast.unparse(call.args[0]))
    return None


def _is_of_tensors(parts: ast.expr, *, holds_many: bool) -> bool:
    """Say whether an argument is a list that holds nothing but variables and what is computed."""
    if isinstance(parts, (ast.Name, ast.Attribute)):
        return holds_many
    if isinstance(parts, ast.ListComp):
        return not _lets_out(parts.elt)
    is_list = isinstance(parts, (ast.List, ast.Tuple)) and bool(parts.elts)
    return is_list and not any(map(_lets_out, getattr(parts, "elts", ())))


def _lets_out(part: ast.expr) -> bool:
    """Say whether a part of a list is a number, or a list of its own."""
    if isinstance(part, (ast.Constant, ast.List, ast.Tuple, ast.UnaryOp, ast.Starred)):
        return True
    called = part.func if isinstance(part, ast.Call) else None
    name = getattr(called, "attr", getattr(called, "id", ""))
    return name in ("item", "tolist", "float", "int", "detach")


def sum_added_to(code: str) -> str:
    """Return what a statement adds to; "" where it adds to nothing.

    >>> sum_added_to("total += loss.item()"), sum_added_to("total = loss")
    ('total', '')
    """
    statements = _parsed(code).body
    only = statements[0] if len(statements) == 1 else None
    adds = isinstance(only, ast.AugAssign) and isinstance(only.op, ast.Add)
    return ast.unparse(only.target) if adds and isinstance(only, ast.AugAssign) else ""


def attribute_of(code: str) -> str:
    """Return the attribute that a statement binds; "" where it binds none.

    >>> attribute_of("self.last = x"), attribute_of("x = self.last")
    ('self.last', '')
    """
    return next((name for name in names_in(code)[0] if "." in name), "")


def dropped(call: Call) -> str:
    """Return what a call was made on where the user's statement is that call and nothing takes what
    it returns; "" where something does.

    Only a statement that is the call itself counts: ``h.detach()``, and ``detached(h)`` where that
    function returns it.
    """
    for frame in frames(call):
        returned = _returned(frame.code)
        alone = returned or call_alone(frame.code)
        innermost = frame is frames(call)[0]
        if alone is None or (innermost and _method(alone) != call.function):
            return ""
        if not returned:
            function = alone.func
            receiver = function.value if isinstance(function, ast.Attribute) else None
            return ast.unparse(receiver) if innermost and receiver is not None else frame.code
    return ""


def _method(call: ast.Call) -> str:
    """Return the method that a call names; "" where it calls something else."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def call_alone(code: str) -> ast.Call | None:
    """Return the call that a statement is, and that gives its result to nothing."""
    return _call_of(code, ast.Expr)


def _returned(code: str) -> ast.Call | None:
    """Return the call whose result a statement returns."""
    return _call_of(code, ast.Return)


def _call_of(code: str, kind: type[ast.Expr | ast.Return]) -> ast.Call | None:
    """Return the call in the one statement of this kind that code is."""
    statements = _parsed(code).body
    only = statements[0] if len(statements) == 1 else None
    value = only.value if isinstance(only, kind) else None
    return value if isinstance(value, ast.Call) else None


@functools.lru_cache(maxsize=4096)
def _parsed(code: str) -> ast.Module:
    """Return the syntax tree of a statement; of one that is cut short an empty one."""
    try:
        return ast.parse(code.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def names_kept(call: Call) -> set[str]:
    """Return the names under which the statement of a call keeps what was computed there: those
    that it binds, and the list that it adds to."""
    codes = [frame.code for frame in frames(call)[:1]]
    return {n for code in codes for n in (*names_in(code)[0], list_filled(code)) if n}


def names_bound(call: Call) -> tuple[str, ...]:
    """Return the names that the code of a call binds, as ``names_in`` does."""
    return _names_of(call)[0]


def names_read(call: Call) -> frozenset[str]:
    """Return the names that the code of a call reads, as ``names_in`` does."""
    return _names_of(call)[1]


def _names_of(call: Call) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the names in the code of a call; of code that is cut short those of its statement."""
    code = (call.source.code or "") if call.source else ""
    whole = [frame.code for frame in frames(call)[:1]]
    return names_in(next((text for text in (code, *whole) if _parsed(text).body), ""))


def is_of_literals(code: str) -> bool:
    """Say whether code calls something with nothing but numbers that stand there, and sizes.

    >>> is_of_literals("t = torch.tensor([1, -2.0], dtype=d)"), is_of_literals("torch.tensor([x])")
    (True, False)
    >>> is_of_literals("m = causal_mask(x.size(1))")
    True
    """
    statements = _parsed(code).body
    value = getattr(statements[0], "value", None) if len(statements) == 1 else None
    if not isinstance(value, ast.Call):
        return False
    given = [*value.args, *(k.value for k in value.keywords if k.arg not in _HOW)]
    return all(_is_of_numbers(node) for node in given)


def _is_of_numbers(node: ast.expr) -> bool:
    """Say whether an expression is a number, a size, or a list or tuple of such."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return all(_is_of_numbers(element) for element in node.elts)
    return is_literal(node) or _is_size(node)


def _is_size(node: ast.expr) -> bool:
    """Say whether an expression is a size: ``x.size(0)``, ``x.shape[1]``, ``len(x)``."""
    if isinstance(node, ast.Call):
        called = node.func
        is_method = isinstance(called, ast.Attribute) and called.attr in _SIZES
        return is_method or (isinstance(called, ast.Name) and called.id == "len")
    shape = node.value if isinstance(node, ast.Subscript) else node
    return isinstance(shape, ast.Attribute) and shape.attr == "shape"


@functools.lru_cache(maxsize=4096)  # the code of a loop is asked about in each of its passes
def names_in(code: str) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the names, attributes and items that code binds, from left to right, and those that it
    reads; the variables of a comprehension are bound in there alone.

    >>> names_in("out, h = net(x, h)")[0], sorted(names_in("total += loss")[1])
    (('out', 'h'), ['loss', 'total'])
    >>> names_in("total = sum(net(x) for x in xs)")[0]
    ('total',)
    """
    tree = _parsed(code)
    named = [n for n in ast.walk(tree) if isinstance(n, (ast.Name, ast.Attribute, ast.Subscript))]
    named.sort(key=lambda n: (n.lineno, n.col_offset))
    targets = (node.target for node in ast.walk(tree) if isinstance(node, ast.comprehension))
    inner = {id(node) for target in targets for node in ast.walk(target)}
    stored = (n for n in named if isinstance(n.ctx, ast.Store) and id(n) not in inner)
    bound = [ast.unparse(n) for n in stored]
    read = {ast.unparse(n) for n in named if not isinstance(n.ctx, ast.Store)}
    added = [ast.unparse(n.target) for n in ast.walk(tree) if isinstance(n, ast.AugAssign)]
    return tuple(bound), frozenset(read.union(added))
