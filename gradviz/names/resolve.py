"""Variable names and source text of recorded calls, found after the recording in the syntax tree.
Knows no torch.

While recording, only a *site* is kept per call: ``(code object, f_lasti)`` of the innermost user
frame and of its callers. Frames and ``f_locals`` are never touched: on Python 3.11 reading
``f_locals`` keeps tensors alive.

Known limitations: a name is left out where the syntax alone does not prove it. That holds for calls
that a builtin makes (``sum(losses)``, ``map``, ``sorted``), for comprehension elements and for
``hs[i] = ...``. The tree cannot see
what runs between two frames of a site: where other frames of torch than those of
``nn.Module.__call__`` were left out, the site has to end, and of several calls that a module makes
at one site only the last may take the name.
"""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
from collections.abc import Callable, Iterable, Sequence
from types import CodeType
from typing import Any, NamedTuple

from gradviz.graph.sites import REPLACED
from gradviz.names.position import (
    BUILTINS,
    Place,
    callee_of,
    display_name,
    dotted,
    is_literal,
    is_module,
    locate,
    statement_of,
)

Site = tuple[tuple[CodeType, int], ...]

# What a builtin calls is not what it returns, but for these, which pass torch's result on.
_PASS_ON = {"abs", "round", "pow", "getattr", "float", "int", "bool", "complex", "len"}
_HIGHER_ORDER = {"reduce", "accumulate", "map", "starmap", "imap", "submit"}
_NO_RESULT = {"__bool__", "__contains__", "__hash__", "__index__", "__iter__", "__len__"}
_GENERATOR = inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR

# from a literal down to the call: (index, length) or (key, -1), ...
_Path = tuple[tuple[Any, int], ...]


class Named(NamedTuple):
    """What the source says about one recorded call."""

    file: str  # "train.py", "cell [3]"
    line: int  # 1-based, where the call's expression starts
    # what made the result: the whole assignment where the result is bound, else the expression
    code: str | None
    targets: tuple[str | None, ...] | None  # names of the result; read them through ``outputs``
    unpacked: bool  # ``targets`` names the result's elements, "*rest" a starred one
    # names of receiver and positional arguments, up to a starred one
    arguments: tuple[str | None, ...]
    keywords: dict[str, str]
    # a binary operator between two non-literals: torch may get them in the other order
    swaps: bool = False
    each: bool = False  # a for loop: ``targets`` names every element of the result in turn
    # the object called, as ``net`` in ``net(x)``; None for what a module holds (``F.relu``)
    callee: str | None = None
    depth: int = 0  # which of the site's frames has the statement that binds ``targets``

    def outputs(self, count: int | None) -> tuple[str | None, ...]:
        """Return the names of the tensors that the call returned.

        Args:
            count: None where it returned one tensor, else the length of the tuple or list that it
                returned.

        Returns:
            One name or None per tensor.

        Example:
            >>> Named("train.py", 1, None, ("q", "*rest"), True, (), {}).outputs(3)
            ('q', 'rest[0]', 'rest[1]')
            >>> Named("train.py", 1, None, ("pair",), False, (), {}).outputs(2)
            ('pair[0]', 'pair[1]')
        """
        names = self.targets or (None,)
        if count is None:
            return (None,) if self.unpacked or self.each else names[:1]
        if self.each:
            return names[:1] * count
        if not self.unpacked:
            return tuple(names[0] and f"{names[0]}[{i}]" for i in range(count))
        return _names_of_elements(names, count)

    def inputs(self, tensors: Sequence[bool]) -> tuple[str | None, ...]:
        """Return the names of the call's positional arguments, only where they are certain.

        Holds for a call that user code makes directly, without frames of torch in between. What it
        gets beyond the source's arguments (``dim``) has no name; when it gets less, it is another
        call of the same site.

        Args:
            tensors: for each positional argument that torch got, the receiver included: is it a
                tensor?

        Returns:
            One name or None per argument.

        Example:
            >>> times = Named("train.py", 1, "n * a", None, False, ("n", "a"), {}, swaps=True)
            >>> times.inputs([True, True])
            ('n', 'a')
            >>> times.inputs([True, False])  # n or a may be the tensor
            (None, None)
        """
        if len(tensors) < len(self.arguments) or (self.swaps and not all(tensors)):
            return (None,) * len(tensors)
        padded = self.arguments + (None,) * len(tensors)
        pairs = zip(padded, tensors)  # noqa: B905  more names than tensors
        return tuple(name if tensor else None for name, tensor in pairs)


def _names_of_elements(names: tuple[str | None, ...], count: int) -> tuple[str | None, ...]:
    """Name the elements of an unpacked result: a starred name stands for all that it takes."""
    starred = [i for i, name in enumerate(names) if name and name.startswith("*")]
    taken = count - len(names) + 1
    if starred and taken >= 0:
        position = starred[0]
        list_name = str(names[position])[1:]
        elements = [f"{list_name}[{k}]" for k in range(taken)]
        names = (*names[:position], *elements, *names[position + 1 :])
    return names if len(names) == count else (None,) * count


def resolve(
    sites: Iterable[Site], located: dict[tuple[int, int], Place] | None = None
) -> list[Named | None]:
    """Return names, lines and source text for the calls of one recording.

    Give all sites of a recording at once: that ``y[0] = a * 2`` is followed by a recorded
    ``__setitem__`` proves that ``a * 2`` was copied into ``y`` and is not itself ``y[0]``.

    Args:
        sites: for each call, (code object, ``f_lasti``) of the innermost user frame, then of its
            callers.
        located: (id of the code object, ``f_lasti``) -> its place, where that is known already; it
            is added to.

    Returns:
        One entry per site, in the same order; None for an empty site.

    Example:
        >>> resolve([(((lambda: None).__code__, 0),), ()])[1] is None
        True
    """
    sites = list(sites)
    # By id: equal code objects may stand in different cells.
    places = {} if located is None else located
    label = functools.cache(display_name)
    for site in sites:
        for code, lasti in site:
            if (id(code), lasti) not in places:
                places[id(code), lasti] = locate(code, lasti)
    chains = [tuple((id(code), lasti) for code, lasti in site) for site in sites]
    firsts = [places[chain[0]] for chain in dict.fromkeys(chains) if chain]
    written = {p.node for p in firsts if p.is_store}
    named: dict[tuple[tuple[int, int], ...], Named | None] = {(): None}
    for chain in chains:
        if chain not in named:
            named[chain] = _describe([places[key] for key in chain], written, label)
    return [named[chain] for chain in chains]


class _Binding(NamedTuple):
    """What a call's result is bound to; the fields are those of ``Named``."""

    targets: tuple[str | None, ...] = ()
    unpacked: bool = False
    each: bool = False
    shown: Any = None  # the node whose text is shown, where it is not the call's own
    depth: int = 0


def _describe(places: list[Place], written: set[Any], label: Callable[[str], str]) -> Named:
    """Return what the source says about a call, given the places of its frames.

    Args:
        places: of the call and of its callers, the innermost first.
        written: the nodes that a recorded call writes into.
        label: makes a file's name what is shown.
    """
    first = places[0]
    node = first.node
    file = label(first.code.co_filename)
    if node is None:
        return Named(file, first.line, None, None, False, (), {})
    bound = _binding(places, written)
    arguments, swaps = _arguments(first)
    plain = itertools.takewhile(lambda a: not isinstance(a, ast.Starred), arguments)
    pairs = [(k.arg, dotted(k.value)) for k in node.keywords] if isinstance(node, ast.Call) else []
    return Named(
        file,
        first.start,
        first.text(bound.shown or _own_expression(node)),
        bound.targets if any(bound.targets) else None,
        bound.unpacked,
        tuple(map(dotted, plain)),
        {key: name for key, name in pairs if key and name},
        swaps,
        bound.each,
        _object_called(first),
        bound.depth,
    )


def _own_expression(node: Any) -> Any:
    """Return what is shown of a node: of a ``with`` or ``for`` its expression, else all of it."""
    if isinstance(node, ast.With):
        return node.items[0].context_expr
    return node.iter if isinstance(node, ast.For) else node


class _Way(NamedTuple):
    """How a result gets from its call to the statement that binds it."""

    value: Any  # the expression that the statement binds; None where none does
    path: _Path
    walrus_targets: list[Any]
    shown: Any  # the outermost ``:=`` around the call
    depth: int = 0
    is_store: bool = False  # ``value`` is itself written into


def _binding(places: list[Place], written: set[Any]) -> _Binding:
    """Find what the call's result is bound to: out of the expression, and through ``return`` on to
    the callers."""
    way = _way_to_binder(places)
    value, path, shown, depth = way.value, way.path, way.shown, way.depth
    if value is None:
        return _bind(way.walrus_targets, [], (), written)._replace(shown=shown)
    if way.is_store:
        # y[0] = 5, x.data = y write into y, x
        return _Binding((dotted(value.value),), shown=statement_of(value), depth=depth)
    binder = _binder_of(value)
    targets = _targets(binder, value)
    each = isinstance(binder, ast.For) and not path
    if isinstance(binder, ast.For):
        targets, path = _loop_targets(targets, path)
    elif not depth and not path and _is_plain_assignment(binder, targets, written):
        shown = binder
    bound = _bind(way.walrus_targets, targets, path, written)
    return bound._replace(shown=shown, each=each and bool(targets), depth=depth)


def _way_to_binder(places: list[Place]) -> _Way:
    """Follow a result out of its expression, and from every function that returns it to the
    caller."""
    path: _Path = ()
    walrus_targets: list[Any] = []
    shown: Any = None
    called: CodeType | None = None  # what the place calls, by a hook's way or not
    for depth, place in enumerate(places):
        if place.code is REPLACED:
            continue
        hands_out = _returns_result_of(place, called) if called else _is_direct(place)
        if not hands_out:
            break
        called = place.code
        if place.is_store:
            return _Way(place.node, path, walrus_targets, shown, depth, is_store=True)
        value, path, passed = _climb(place.node, path)
        walrus_targets += [walrus.target for walrus in passed]
        if passed and not depth:
            shown = passed[-1]
        if not _is_returned(value):
            return _Way(value, path, walrus_targets, shown, depth)
    return _Way(None, path, walrus_targets, shown)


def _binder_of(value: Any) -> Any:
    """Return what stands around a value; a statement is its own binder (``x += y``)."""
    return value if isinstance(value, ast.stmt) else value.parent


def _is_returned(value: Any) -> bool:
    """Tell whether a value is what its function returns."""
    binder = _binder_of(value)
    if isinstance(binder, ast.Lambda):
        return value is binder.body
    return isinstance(binder, ast.Return)


def _loop_targets(targets: list[Any], path: _Path) -> tuple[list[Any], _Path]:
    """Keep the targets of a ``for`` that name one element of the iterated value, and the path that
    is left inside of that element."""
    if not path:
        return [t for t in targets if not isinstance(t, (ast.Tuple, ast.List))], ()
    # for h in (a * 2, a * 3): h is one whole element after the other
    length = path[0][1]
    return (targets, path[1:]) if length >= 0 else ([], ())


def _is_plain_assignment(binder: Any, targets: list[Any], written: set[Any]) -> bool:
    """Tell whether a statement binds its targets to the value and copies it into none of them."""
    if not targets or written.intersection(targets):
        return False
    return isinstance(binder, (ast.Assign, ast.AnnAssign, ast.AugAssign))


def _bind(walrus: list[Any], targets: list[Any], path: _Path, written: set[Any]) -> _Binding:
    """Return what the targets, those of ``:=`` first, bind a result to."""
    named = [_names_of(t, (), written) for t in walrus] + [
        _names_of(t, path, written) for t in targets
    ]
    unpacked = [names for names, is_unpacked in named if is_unpacked]
    if unpacked:
        return _Binding(unpacked[0], unpacked=True)
    return _Binding(tuple(name for names, _ in named for name in names if name))


def _climb(node: Any, path: _Path) -> tuple[Any, _Path, list[ast.NamedExpr]]:
    """Follow a value out of whatever only hands it on: tuple, list and dict literals, ``if``
    expressions, ``:=``, ``await``."""
    walrus: list[ast.NamedExpr] = []
    while True:
        up = node.parent
        if isinstance(up, (ast.Tuple, ast.List)) and not any(
            isinstance(e, ast.Starred) for e in up.elts
        ):
            path = ((up.elts.index(node), len(up.elts)), *path)
        elif isinstance(up, ast.Dict) and (key := _key_of(up, node)):
            path = ((key.value, -1), *path)
        elif isinstance(up, ast.NamedExpr):
            if not path:
                walrus.append(up)
        elif not (
            (isinstance(up, ast.IfExp) and node is not up.test)
            or (isinstance(up, ast.BoolOp) and node is up.values[-1])
            or isinstance(up, ast.Await)
        ):
            return node, path, walrus
        node = up


def _key_of(literal: ast.Dict, value: Any) -> ast.Constant | None:
    """Return the key of a value in a dict literal, where it is a constant."""
    key = literal.keys[literal.values.index(value)] if value in literal.values else None
    return key if isinstance(key, ast.Constant) else None


def _targets(binder: Any, value: Any) -> list[Any]:
    """Return the targets that ``binder`` assigns ``value`` to; a statement is its own value where
    it calls itself (``x += y``)."""
    if isinstance(getattr(value, "ctx", None), ast.Store):  # q, k = t iterates over t
        return [value]
    if isinstance(binder, (ast.Assign, ast.AnnAssign)) and value is binder.value:
        return binder.targets if isinstance(binder, ast.Assign) else [binder.target]
    if isinstance(binder, ast.AugAssign) and value is binder:
        return [binder.target]
    if isinstance(binder, ast.For) and value in (binder, binder.iter):
        return [binder.target]
    if isinstance(binder, ast.With) and value is binder and len(binder.items) == 1:
        return [t for t in [binder.items[0].optional_vars] if t]
    return []


def _names_of(target: Any, path: _Path, written: set[Any]) -> tuple[tuple[str | None, ...], bool]:
    """Return the names that ``target`` gives to what stands at ``path`` of the assigned value, and
    whether it unpacks it."""
    while path and isinstance(target, (ast.Tuple, ast.List)):
        index, length = path[0]
        elements: list[Any] = target.elts
        star = next((i for i, e in enumerate(elements) if isinstance(e, ast.Starred)), None)
        if length < 0 or (star is None and len(elements) != length):
            return (None,), False
        if star is None or index < star:
            target, path = elements[index], path[1:]
        elif index >= length - (len(elements) - star - 1):
            target, path = elements[index - length], path[1:]
        else:
            target, path = elements[star].value, ((index - star, 0), *path[1:])
    if isinstance(target, (ast.Tuple, ast.List)):
        return tuple(_element(e, written) for e in target.elts), True
    name = _bindable(target, written)
    return (name and name + "".join(f"[{key!r}]" for key, _ in path),), False


def _bindable(target: ast.expr, written: set[Any]) -> str | None:
    """Return the target's name; None where a recorded call shows that the assignment copied the
    value into a tensor."""
    return None if target in written else dotted(target)


def _element(target: ast.expr, written: set[Any]) -> str | None:
    """Return the name of one of the targets of an unpacking: ``"*rest"`` of a starred one."""
    name = _bindable(target.value if isinstance(target, ast.Starred) else target, written)
    return f"*{name}" if name and isinstance(target, ast.Starred) else name


def _by_builtin(call: ast.Call) -> bool:
    """Tell whether something written in C makes the recorded call on behalf of ``call``: sum, map,
    sorted, reduce."""
    return (isinstance(call.func, ast.Name) and call.func.id in BUILTINS) or callee_of(
        call.func
    ) in _HIGHER_ORDER


def _is_direct(place: Place) -> bool:
    """Tell whether the node's value is the recorded call's own result."""
    node = place.node
    if isinstance(node, ast.Call):
        return not _by_builtin(node) or callee_of(node.func) in _PASS_ON
    if isinstance(node, ast.Compare):
        return (
            len(node.ops) == 1
            and not isinstance(node.ops[0], (ast.In, ast.NotIn))
            and not place.is_test
        )
    return node is not None and not place.is_test and not isinstance(node, ast.With)


def _returns_result_of(place: Place, code: CodeType) -> bool:
    """Tell whether the value of a caller's node is what ``code`` returns. Called functions are
    known by name only."""
    node, name = place.node, code.co_name
    if isinstance(node, ast.Await):
        return not code.co_flags & _GENERATOR
    if node is None or code.co_flags & (_GENERATOR | inspect.CO_COROUTINE):
        return False
    if isinstance(node, ast.Call):
        return _returns_result_of_function(node, name)
    if isinstance(node, ast.Attribute):
        return name in (node.attr, "__getattr__", "__getattribute__", "__get__")
    if isinstance(node, ast.With):
        return name == "__enter__"
    is_operator = isinstance(
        node, (ast.BinOp, ast.UnaryOp, ast.AugAssign, ast.Compare, ast.Subscript)
    )
    return is_operator and name.startswith("__") and name not in _NO_RESULT and _is_direct(place)


def _returns_result_of_function(call: ast.Call, name: str) -> bool:
    """Tell whether a call's value is what the function of that name returns."""
    callee = call.func.value if isinstance(call.func, ast.Subscript) else call.func
    if isinstance(callee, ast.Lambda) or callee_of(callee) == name:
        return True
    # A wrapper, a module or a lambda by another name; but not what only takes the function:
    # vmap(f, x), grad(f)(x)
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    takes_it = any(isinstance(a, ast.Lambda) or callee_of(a) == name for a in arguments)
    return callee_of(callee) is not None and not _by_builtin(call) and not takes_it


def is_written_call(place: Place) -> bool:
    """Tell whether what runs at a place is the call that is written there: no builtin makes it."""
    return isinstance(place.node, ast.Call) and not _by_builtin(place.node)


def _object_called(place: Place) -> str | None:
    """Return the object that a call calls, as written; None where it calls what a module holds."""
    node = place.node
    if not isinstance(node, ast.Call) or _by_builtin(node) or is_module(node.func, place.source):
        return None
    receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
    maker = callee_of(receiver.func) if isinstance(receiver, ast.Call) else None
    if maker:
        return f"{maker}(…).{callee_of(node.func)}"
    return dotted(node.func) or _sliced(node.func)


def _sliced(node: ast.AST) -> str | None:
    """Return a slice of what has a name, as it is written.

    >>> [_sliced(ast.parse(text, mode="eval").body) for text in ("net[:6]", "net[a:]", "net[6]")]
    ['net[:6]', None, None]
    """
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Slice):
        return None
    ends = (node.slice.lower, node.slice.upper, node.slice.step)
    value = dotted(node.value)
    if value is None or not all(end is None or is_literal(end) for end in ends):
        return None
    return f"{value}[{ast.unparse(node.slice)}]"


def _arguments(place: Place) -> tuple[list[Any], bool]:
    """Return receiver and positional arguments, and whether torch may get the two the other way
    round (``n * a``)."""
    node = place.node
    if place.is_test:
        return [node.operand if isinstance(node, ast.UnaryOp) else node], False
    if not _is_direct(place):
        return [], False
    if isinstance(node, ast.Call):
        return _arguments_of_call(node, place), False
    if isinstance(node, ast.BinOp):
        return _operands(node.left, node.right)
    if isinstance(node, ast.Compare):
        return _operands(node.left, node.comparators[0])
    if isinstance(node, ast.AugAssign):
        return [node.target, node.value], False
    if isinstance(node, ast.UnaryOp):
        return [node.operand], False
    if isinstance(node, ast.For):
        return [node.iter], False
    return _arguments_of_access(node), False


def _arguments_of_call(call: ast.Call, place: Place) -> list[Any]:
    """Return the positional arguments, behind the receiver where it is an object."""
    receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
    if receiver is None or is_module(receiver, place.source):
        return [*call.args]
    return [receiver, *call.args]


def _operands(left: Any, right: Any) -> tuple[list[Any], bool]:
    """Return both sides of an operator, a literal last, and whether torch may swap them."""
    if is_literal(left):
        return [right, left], False
    return [left, right], not is_literal(right)


def _arguments_of_access(node: Any) -> list[Any]:
    """Return what ``t[i]`` or ``t.name`` is read from or, on the left of ``=``, written with."""
    parent: Any = getattr(node, "parent", None)
    is_target = isinstance(parent, ast.Assign) and node in parent.targets
    stored = [parent.value] if is_target else []
    if isinstance(node, ast.Subscript):
        return [node.value, node.slice, *stored]
    if isinstance(node, ast.Attribute):
        return [node.value, *stored]
    return stored
