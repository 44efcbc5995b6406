"""Modules and parameters that no forward uses, though the module that has them ran."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gradviz.graph.findings import Cause
from gradviz.graph.records import Source
from gradviz.names.position import callee_of, dotted
from gradviz.names.statements import source_of, where_made, where_used
from gradviz.watch.identity import named_parameters, parameters
from gradviz.why.rules.many import pattern
from gradviz.why.shown.explanation import Explanation

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case


_TAKING_OUT = {"item", "tolist", "numpy"}
_SHOWING = {"print", "append", "info", "log", "format", "str", "add_scalar"}


class Uncalled(NamedTuple):
    """A module that was not called, or a parameter that no call read, though the module that has it
    was called.

    Attributes:
        path: its name, that of the model included.
        owner: the module that has it.
        owner_path: what that is called.
        name: its name there.
    """

    path: str
    owner: Any
    owner_path: str
    name: str

    @property
    def made(self) -> Source | None:
        """Where the constructor makes it, as far as that can be read."""
        return where_made(type(self.owner), self.name)

    @property
    def used(self) -> Source | None:
        """Where the forward of the owner uses it, in a branch that was not taken."""
        return where_used(type(self.owner), self.name)


def unread(case: Case, found: Explanation) -> bool:
    """Say whether the answer so far is that no call read a parameter."""
    return found.cause is Cause.BRANCH_NOT_TAKEN and bool(case.recording)


def not_called(case: Case, found: Explanation) -> Explanation | None:
    """Return the same answer, with the modules that were not called, whose forward that is, and
    where they are made."""
    unread = _told_unread(case)
    modules = [u for u in _uncalled(case) if unread & {id(p) for p in _parameters(u)}]
    missing = modules or list(_unread(case))
    if not missing:
        return None
    form, places = _where(case, missing, are_modules=bool(modules))
    told = case.answer(
        Cause.BRANCH_NOT_TAKEN,
        form,
        statements=list(dict.fromkeys(places)),
        tensor_ids=found.tensor_ids,
        owner=pattern(list(dict.fromkeys(u.owner_path for u in missing))),
        names=pattern([u.path for u in missing]),
        n=len(missing),
        taken=[place.code for place in places],
        made=case.words.places([], list(dict.fromkeys(_present(u.made for u in missing))))
        or f"{type(missing[0].owner).__name__}.__init__",
    )
    finding = told.finding._replace(subject=found.finding.subject)
    return told._replace(
        verdict=found.verdict,
        more=found.more,
        odd=found.odd,
        ruled_out=found.ruled_out,
        finding=finding,
    )


def _where(case: Case, missing: Sequence[Uncalled], are_modules: bool) -> tuple[str, list[Source]]:
    """Return the form in which it is told that something was not used, and the lines that tell why:
    a branch, what goes on in its place, or else those that make it."""
    used = _present(u.used for u in missing)
    if len(used) == len(missing):
        return "in_a_branch", used
    taken = [] if are_modules else _taken_out(case, missing)
    if taken:
        return "taken_out", taken
    made = _present(u.made for u in missing)
    if are_modules:
        return "not_called", made
    return "not_read", made


def _taken_out(case: Case, missing: Iterable[Uncalled]) -> list[Source]:
    """Return the statements that go on with the number of each of some parameters, by ``item()`` or
    ``float()``; none where one of them has no such statement."""
    found = [_goes_on_as_number(case, one) for one in missing]
    return [place for places in found for place in places[:1]] if all(found) else []


def _goes_on_as_number(case: Case, one: Uncalled) -> list[Source]:
    """Return the statements of a parameter's class that take its number out and give it a name or
    hand it on, and do not only show it."""
    kinds = {kind.__name__ for kind in type(one.owner).__mro__}
    return [
        source_of(file, node)
        for file, kind in case.statements.nodes(ast.ClassDef)
        if kind.name in kinds
        for node in ast.walk(kind)
        if isinstance(node, ast.Call) and _takes_number(node, f"self.{one.name}") and _is_kept(node)
    ]


def _takes_number(call: ast.Call, name: str) -> bool:
    """Say whether a call gives the plain number, or the plain numbers, of what has a name."""
    function = call.func
    if isinstance(function, ast.Attribute) and function.attr in _TAKING_OUT:
        return _let_go(function.value) == name
    is_number = isinstance(function, ast.Name) and function.id in ("float", "int")
    return is_number and [_let_go(a) for a in call.args] == [name]


def _let_go(node: ast.expr) -> str | None:
    """Return the name of what is taken without its history, as ``p.detach()`` or ``p.data``."""
    if isinstance(node, ast.Call) and callee_of(node.func) in ("detach", "cpu"):
        return _let_go(node.func.value) if isinstance(node.func, ast.Attribute) else None
    is_data = isinstance(node, ast.Attribute) and node.attr == "data"
    return _let_go(node.value) if is_data else dotted(node)  # type: ignore[attr-defined]


def _is_kept(node: Any) -> bool:
    """Say whether what an expression gives goes on: it is assigned, returned, or handed to a call
    that does not only show it."""
    node = node.parent
    while not isinstance(node, ast.stmt):
        shows = isinstance(node, ast.Call) and callee_of(node.func) in _SHOWING
        if shows or isinstance(node, (ast.JoinedStr, ast.Dict)):
            return False
        node = node.parent
    return isinstance(node, (ast.Assign, ast.AnnAssign, ast.Return))


def _present(places: Iterable[Source | None]) -> list[Source]:
    """Return the places that are known."""
    return [place for place in places if place is not None]


def _parameters(uncalled: Uncalled) -> list[Any]:
    return parameters(getattr(uncalled.owner, uncalled.name))


def _uncalled(case: Case) -> Iterator[Uncalled]:
    """Yield the modules that were not called, the outermost of each, whose owner was."""
    called = _called(case)
    for title, path, owner in _that_ran(case):
        for name, part in owner.named_children():
            inner = f"{path}.{name}" if path else name
            ran = any(t == title and f"{p}.".startswith(f"{inner}.") for t, p in called)
            if not ran and parameters(part):
                owner_path = f"{title}.{path}" if path else title
                yield Uncalled(f"{title}.{inner}", owner, owner_path, name)


def _told_unread(case: Case) -> set[int]:
    """Return the identities of the parameters of which it is told that no call read them: not those
    of a module whose weights its owner hands to a function."""
    of_it = ((asked, told) for asked, told in case.told if told.cause is Cause.BRANCH_NOT_TAKEN)
    unread = {id(asked) for asked, told in of_it if told.form == "never_read"}
    pairs = zip(case.targets().values(), case.targets_asked, strict=True)
    return {id(t) for t, asked in pairs if id(asked) in unread}


def _unread(case: Case) -> Iterator[Uncalled]:
    """Yield the parameters of which it is told that no call read them, of modules that were
    called."""
    missing = _told_unread(case)
    for title, path, owner in _that_ran(case):
        owner_path = f"{title}.{path}" if path else title
        for name, parameter in named_parameters(owner, recurse=False):
            if id(parameter) in missing:
                yield Uncalled(f"{owner_path}.{name}", owner, owner_path, name)


def _called(case: Case) -> set[tuple[str | None, str]]:
    """Return the modules that were called: the name of the outermost one, and the path in it."""
    root_of = {root.id: root.name for root in case.graph.modules}
    return {(root_of.get(c.module_id), c.path) for c in case.graph.module_calls}


def _that_ran(case: Case) -> Iterator[tuple[str, str, Any]]:
    """Yield the modules that were called: the name of the outermost one, the path in it, itself."""
    called = _called(case)
    modules = {id(m): m for m in (*case.known_modules, *case.modules)}
    for module in modules.values():
        title = case.called.get(id(module), "")
        for path, owner in module.named_modules():
            if (title, path) in called:
                yield title, path, owner
