"""Statements of the user's code that no torch function ran for: what was assigned, called or passed
there. Reads the text of the code, and runs none of it. Knows no torch."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from types import CodeType
from typing import Any, NamedTuple

from executing import Source as File

from gradviz.graph.records import Source
from gradviz.graph.sites import is_installed, is_installed_file
from gradviz.names.bindings import argument_of, default_of
from gradviz.names.callers import is_method
from gradviz.names.compiled import file_of, first_line, is_edited
from gradviz.names.idle import idle_nodes
from gradviz.names.position import (
    callee_of,
    cells,
    display_name,
    is_cell,
    locate,
    statement_at,
    statement_or_head,
    text_of,
)
from gradviz.names.same_line import part_of_line

Assigned = dict[str, list[tuple[File, ast.Assign]]]
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
# methods of a module that make an attribute of the name that they are given
_REGISTER = ("register_buffer", "register_parameter", "register_module", "add_module")


class Statements:
    """The files and cells of some code, as they were written.

    Args:
        codes: of functions and cells that ran; nothing is told of a text that was edited since.
    """

    def __init__(self, codes: Iterable[CodeType]) -> None:
        self.codes = list({id(code): code for code in codes if code is not None}.values())

    @classmethod
    def of(cls, recording: Any) -> Statements:
        """Return the code that ran under a recording; none where there is no recording."""
        sites = {} if recording is None else recording.sites()
        return cls(code for site in sites.values() for code in site[::2])

    @cached_property
    def files(self) -> list[File]:
        """Each file of the program, as ``executing`` has read it; none of an installed library."""
        return [file for file in self._read if not is_installed_file(file.filename)]

    @cached_property
    def _read(self) -> list[File]:
        """Each file whose text is the one that ran."""
        found = dict[str, File]()
        for code in self.codes:
            file = file_of(code)
            if file.tree is not None and not is_edited(code, file):
                found.setdefault(code.co_filename, file)
        return list(found.values())

    def nodes(self, kind: Any) -> Iterator[tuple[File, Any]]:
        """Yield every syntax node of a kind, or of several, with its file; none of the code of
        functions that did not run, nor of installed libraries."""
        for file in self.files:
            yield from ((file, node) for node in _nodes(file, kind) if self._may_run(node))

    @cached_property
    def _idle(self) -> set[int]:
        """The ids of the nodes inside of functions that did not run, as far as the text tells."""
        in_notebook = any(is_cell(file.filename) for file in self.files)
        return idle_nodes([*self._read, *(cells() if in_notebook else ())], self.codes)

    def at(self, source: Source | None) -> tuple[Source, str] | None:
        """Return the innermost statement of a line, and the function that is called first there, ""
        where none is; None where the text cannot be read, or several statements share the line."""
        found = self.node_at(source)
        if source is None or found is None:
            return None
        file, node = found
        calls = [n for n in ast.walk(node) if isinstance(n, ast.Call)]
        on_line = [n for n in calls if n.lineno <= source.line <= (n.end_lineno or n.lineno)]
        function = callee_of(on_line[0].func) if on_line else None
        return source_of(file, node)._replace(line=source.line), function or ""

    def node_at(self, source: Source | None) -> tuple[File, Any] | None:
        """Return the innermost statement of a line as a syntax node, with its file; None where the
        text cannot be read, or several statements share the line."""
        if source is None:
            return None
        files = [f for f in self.files if display_name(f.filename) == source.file]
        found = [(f, node) for f in files if (node := statement_at(f, source.line)) is not None]
        return found[0] if len(found) == 1 else None

    def sets(self, attribute: str) -> list[tuple[Source, Any]]:
        """Return where an attribute of this name is assigned, each with the statement's node."""
        return [
            (source_of(file, node), node)
            for file, node in self._attributes_assigned.get(attribute, ())
        ]

    def writes_key(self, key: str) -> list[Source]:
        """Return where what stands under a key is written: ``group["lr"] = 0.1``."""
        nodes = self.nodes((ast.Assign, ast.AugAssign))
        return [source_of(file, node) for file, node in nodes if writes_key(node, key)]

    def binds(self, name: str) -> list[tuple[Source, Any]]:
        """Return where a variable of this name is assigned, each with the statement's node."""
        return [
            (source_of(file, node), node) for file, node in self._variables_assigned.get(name, ())
        ]

    @cached_property
    def _variables_assigned(self) -> Assigned:
        """The assignments of variables, by their names, in order."""
        found: Assigned = {}
        for file, node in self.nodes(ast.Assign):
            for name in {t.id for t in _bound_by(node) if isinstance(t, ast.Name)}:
                found.setdefault(name, []).append((file, node))
        return found

    @cached_property
    def _attributes_assigned(self) -> Assigned:
        """The assignments of attributes, by their names, in order."""
        found: Assigned = {}
        for file, node in self.nodes(ast.Assign):
            for name in {t.attr for t in node.targets if isinstance(t, ast.Attribute)}:
                found.setdefault(name, []).append((file, node))
        return found

    def mentions(self, name: str) -> list[tuple[Source, ast.stmt]]:
        """Return the statements in which a variable of this name stands, each with its node."""
        every = ((file, statement_or_head(n)) for file, n in self.nodes(ast.Name) if n.id == name)
        found = {id(node): (file, node) for file, node in every if isinstance(node, ast.stmt)}
        in_order = sorted(found.values(), key=lambda pair: pair[1].lineno)
        return [(source_of(file, node), node) for file, node in in_order]

    def passes(self, name: str) -> list[Source]:
        """Return the statements in which a variable of this name is passed to a call."""
        found = [
            source_of(file, statement_or_head(node))
            for file, node in self.nodes(ast.Call)
            if any(isinstance(a, ast.Name) and a.id == name for a in node.args)
            or any(isinstance(k.value, ast.Name) and k.value.id == name for k in node.keywords)
        ]
        return list(dict.fromkeys(found))

    def switches(self, method: str) -> list[Source]:
        """Return the one statement that calls a method of a module by this name, without an
        argument; none where there are several, or where the program has a function of that name,
        as a trainer's own ``train``."""
        if any(node.name == method for _, node in self.nodes(ast.FunctionDef)):
            return []
        found = [place for place, node in self.calls(method) if not node.args]
        return found if len(found) == 1 else []

    @cached_property
    def loop_variables(self) -> set[str]:
        """The variables that loops and comprehensions give one thing after the other."""
        targets = (node.target for _, node in self.nodes((ast.For, ast.comprehension)))
        inside = (n for target in targets for n in ast.walk(target))
        return {n.id for n in inside if isinstance(n, ast.Name)}

    def functions_called(self, name: str) -> set[tuple[str, int]]:
        """Return file and first line of the functions of this name that ran."""
        found = (code for code in self.codes if code.co_name == name)
        return {(display_name(code.co_filename), code.co_firstlineno) for code in found}

    def methods_beside(self, name: str) -> set[tuple[str, int]]:
        """Return file and first line of the functions of this name that ran, and of all methods of
        the classes that have one of this name, or come from an ``Optimizer``."""
        classes = ((file, node) for file, node in self.nodes(ast.ClassDef))
        methods = [
            (display_name(file.filename), first_line(method))
            for file, node in classes
            if any(isinstance(m, ast.FunctionDef) and m.name == name for m in node.body)
            or any(ast.unparse(base).endswith("Optimizer") for base in node.bases)
            for method in node.body
            if isinstance(method, ast.FunctionDef)
        ]
        return {*self.functions_called(name), *methods}

    def calls(self, method: str) -> list[tuple[Source, ast.Call]]:
        """Return where a method of this name is called, with the call's node."""
        return [(place, node) for place, node in self.calls_anywhere(method) if self._may_run(node)]

    def calls_anywhere(self, method: str) -> list[tuple[Source, ast.Call]]:
        """Return the same, in functions that did not run, too."""
        return [
            (source_of(file, node), node)
            for file in self.files
            for node in _nodes(file, ast.Call)
            if isinstance(node.func, ast.Attribute) and node.func.attr == method
        ]

    def _may_run(self, node: ast.AST) -> bool:
        return id(node) not in self._idle


def loop_around(node: Any) -> ast.stmt | None:
    """Return the innermost loop of the same function around a node; None where there is none."""
    while node is not None and not isinstance(node, (*_FUNCTIONS, ast.Module)):
        if isinstance(node, (ast.For, ast.While)):
            return node
        node = getattr(node, "parent", None)
    return None


def function_around(node: Any) -> Any:
    """Return the innermost function in which a node is written, or that it is; None where it is in
    none."""
    while node is not None and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        node = getattr(node, "parent", None)
    return node


def names_handed(statements: Statements, value: str) -> set[str]:
    """Return what functions of the program call a variable that they are handed, or that a class
    keeps as an attribute: each parameter, and what it is assigned to.

    Args:
        statements: the program's.
        value: the variable, as it is written.
    """
    functions = {node.name: node for _, node in statements.nodes(ast.FunctionDef)}
    for _, node in statements.nodes(ast.ClassDef):
        made = (n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__")
        functions.update((node.name, method) for method in made)
    found = set[str]()
    for _, call in statements.nodes(ast.Call):
        function = functions.get(callee_of(call.func) or "")
        if function is None:
            continue
        names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
        for name in names:
            given = argument_of(call, function, name, int(names[0] == "self"))
            if given is not None and ast.unparse(given) == value:
                found |= {name, *_assigned_from(function, name)}
    return found


def _assigned_from(function: ast.FunctionDef, name: str) -> set[str]:
    """Return what a function assigns one of its parameters to."""
    assigned = (n for n in ast.walk(function) if isinstance(n, ast.Assign))
    plain = (n for n in assigned if isinstance(n.value, ast.Name) and n.value.id == name)
    return {ast.unparse(target) for n in plain for target in n.targets}


def stands_in(node: Any, block: Any) -> bool:
    """Say whether a syntax node is another one, or stands in it."""
    while node is not None and node is not block:
        node = getattr(node, "parent", None)
    return node is not None


def makes_parameter(node: ast.expr) -> bool:
    """Say whether an expression is a call of ``nn.Parameter``.

    >>> [makes_parameter(ast.parse(t, mode="eval").body) for t in ("nn.Parameter(w)", "f(w)")]
    [True, False]
    """
    return isinstance(node, ast.Call) and callee_of(node.func) == "Parameter"


def freezes(node: ast.AST) -> bool:
    """Say whether an assignment or a call switches requires_grad off.

    >>> texts = ("p.requires_grad = False", "p.requires_grad = on", "net.requires_grad_(False)")
    >>> [any(map(freezes, ast.walk(ast.parse(text)))) for text in texts]
    [True, False, True]
    """
    if isinstance(node, ast.Call):
        is_flag, given = callee_of(node.func) == "requires_grad_", node.args[:1]
    elif isinstance(node, ast.Assign):
        is_flag = any(getattr(t, "attr", "") == "requires_grad" for t in node.targets)
        given = [node.value]
    else:
        return False
    return is_flag and [ast.unparse(value) for value in given] == ["False"]


def _bound_by(node: ast.Assign) -> Iterator[ast.expr]:
    """Yield what an assignment binds, of several at once each: ``a, b = …``."""
    for target in node.targets:
        yield from target.elts if isinstance(target, (ast.Tuple, ast.List)) else (target,)


@lru_cache(maxsize=512)  # several are asked for each thing that is told, and a file may be long
def _nodes(file: File, kind: Any) -> tuple[Any, ...]:
    """Return the syntax nodes of a kind, or of several, in a file; none where it has no tree."""
    nodes = () if file.tree is None else ast.walk(file.tree)
    return tuple(node for node in nodes if isinstance(node, kind))


def caller(site: Sequence[Any]) -> list[Source]:
    """Return the statement that called the function in which a call stands, in a list; none where
    that is a file's own code, or was called by an installed package.

    Args:
        site: code objects and positions, the call's own first.
    """
    if len(site) < 4 or site[0].co_name == "<module>":
        return []
    return _statement(site[2], site[3])


def innermost(site: Sequence[Any]) -> list[Source]:
    """Return the innermost statement of the program's own under which something ran, in a list;
    none where that cannot be read.

    Args:
        site: code objects and positions, the innermost first.
    """
    frames = zip(site[::2], site[1::2], strict=True)
    own = [(code, at) for code, at in frames if not is_installed(code)]
    return _statement(*own[0]) if own else []


def _statement(code: CodeType, at: int) -> list[Source]:
    """Return the statement at a position, in a list; none of an installed package."""
    place = locate(code, at)
    shown = None if place.node is None else statement_or_head(place.node)
    if shown is None or is_installed(place.code):
        return []
    return [Source(display_name(place.code.co_filename), place.start, place.text(shown))]


class Default(NamedTuple):
    """A parameter that was left at its default.

    Attributes:
        name: of the parameter.
        value: the default.
        function: name of the function.
    """

    name: str
    value: Any
    function: str


def default_used(site: Sequence[Any]) -> Default | None:
    """Return the parameter, left at its default by the caller, on which the value that a statement
    assigns depends; None where that cannot be read.

    Args:
        site: code objects and positions of the call that assigned, its own first.
    """
    if len(site) < 4:
        return None
    found, caller = function_node(site[0]), locate(site[2], site[3]).node
    assigning = locate(site[0], site[1]).node
    statement = None if assigning is None else statement_or_head(assigning)
    if found is None or not isinstance(caller, ast.Call) or not isinstance(statement, ast.Assign):
        return None
    before = int(is_method(site[0]) and isinstance(caller.func, ast.Attribute))
    for node in ast.walk(statement.value):
        name = node.id if isinstance(node, ast.Name) else ""
        default = default_of(found[1], name)
        is_left = default is argument_of(caller, found[1], name, before)
        if is_left and isinstance(default, ast.Constant):
            return Default(name, default.value, site[0].co_name)
    return None


def code_of_function(function: Any) -> CodeType | None:
    """Return the code of a function of Python's; None of anything else that can be called."""
    code = getattr(function, "__code__", None)
    return code if isinstance(code, CodeType) else None


def function_node(code: CodeType) -> tuple[File, Any] | None:
    """Return the syntax node of a function, with its file; None where its text cannot be read, or
    where several may be meant: before Python 3.11 lambdas of one line that do the same."""
    file = file_of(code)
    if is_edited(code, file):
        return None
    nodes = [node for node in _nodes(file, _FUNCTIONS) if _is_begun(node, code)]
    if len(nodes) > 1:
        meant = part_of_line(code, file)
        nodes = [node for node in nodes if node is meant or _is_around(node, code)]
        nodes.sort(key=lambda node: (node.lineno, node.col_offset))  # the innermost last
    return (file, nodes[-1]) if nodes else None


def _is_begun(node: Any, code: CodeType) -> bool:
    """Tell whether a function has the name and the first line of a code object."""
    name = getattr(node, "name", "<lambda>")
    return name == code.co_name and first_line(node) == code.co_firstlineno


def _is_around(node: Any, code: Any) -> bool:
    """Tell whether all that a code object does is written in the body of a lambda; before Python
    3.11 that is not known of any."""
    if not hasattr(code, "co_positions") or not isinstance(node, ast.Lambda):
        return False
    body = node.body
    begin, end = (body.lineno, body.col_offset), (body.end_lineno or 0, body.end_col_offset or 0)
    # the first instructions of a code stand nowhere
    known = [place for place in code.co_positions() if None not in place and place[3] > 0]
    inside_body = (begin <= (p[0], p[2]) and (p[1], p[3]) <= end for p in known)
    return bool(known) and all(inside_body)


def statement_making(kind: type, name: str) -> tuple[File, Any] | None:
    """Return the statement of a class's constructor that makes an attribute, with its file: the
    first ``self.name = …``, ``register_buffer("name", …)`` or the like; None where none is seen."""
    for owner in kind.__mro__:
        code = code_of_function(vars(owner).get("__init__"))
        for file, node in () if code is None or is_installed(code) else inside(code):
            if _makes(node, name):
                return file, statement_or_head(node)
    return None


def where_made(kind: type, name: str) -> Source | None:
    """Return the line of a class's constructor that makes an attribute, as far as that can be
    read."""
    found = statement_making(kind, name)
    return None if found is None else source_of(*found)


def where_used(kind: type, name: str) -> Source | None:
    """Return the first line of a class's ``forward`` that reads an attribute of its own, as far as
    that can be read."""
    owner = next((one for one in kind.__mro__ if "forward" in vars(one)), kind)
    code = code_of_function(vars(owner).get("forward"))
    for file, node in () if code is None or is_installed(code) else inside(code):
        if isinstance(node, ast.Attribute) and node.attr == name and _is_own_read(node):
            return source_of(file, statement_or_head(node) or node)
    return None


def _is_own_read(node: ast.Attribute) -> bool:
    """Tell whether an attribute of ``self`` is read."""
    is_own = isinstance(node.value, ast.Name) and node.value.id == "self"
    return is_own and isinstance(node.ctx, ast.Load)


def _makes(node: Any, name: str) -> bool:
    """Tell whether a target of an assignment, or a call, makes the attribute ``self.name``."""
    if isinstance(node, ast.Attribute):
        is_own = isinstance(node.value, ast.Name) and node.value.id == "self"
        return is_own and node.attr == name and isinstance(node.ctx, ast.Store)
    if not isinstance(node, ast.Call) or callee_of(node.func) not in _REGISTER:
        return False
    given = [*node.args[:1], *(k.value for k in node.keywords if k.arg == "name")]
    return any(isinstance(value, ast.Constant) and value.value == name for value in given)


def inside(code: CodeType) -> Iterator[tuple[File, Any]]:
    """Yield the syntax nodes of a function, with the file; none where its text cannot be read."""
    found = function_node(code)
    if found is not None:
        yield from ((found[0], inner) for inner in ast.walk(found[1]))


def where_attribute_read(code: CodeType, name: str) -> Source | None:
    """Return where a function reads an attribute of this name first: ``w.grad``, and not the method
    in ``autograd.grad(…)``."""
    for file, node in inside(code):
        is_read = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
        if is_read and node.attr == name and getattr(node.parent, "func", None) is not node:
            return source_of(file, statement_or_head(node) or node)
    return None


def writes_key(node: Any, key: str) -> bool:
    """Tell whether an assignment writes what stands under a key."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    keys = [t.slice for t in targets if isinstance(t, ast.Subscript)]
    return any(isinstance(k, ast.Constant) and k.value == key for k in keys)


def source_of(file: File, node: Any) -> Source:
    """Return where a node stands, and its text on one line."""
    return Source(display_name(file.filename), node.lineno, text_of(node, file))
