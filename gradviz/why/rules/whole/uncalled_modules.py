"""Modules and parameters that no forward uses, though the module that has them ran."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from gradviz.graph.findings import Cause
from gradviz.graph.records import Source
from gradviz.names.statements import where_made, where_used
from gradviz.why.question.subjects import parameters_of
from gradviz.why.rules.many import pattern
from gradviz.why.shown.explanation import Explanation

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case


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
    places = _present(u.used for u in missing)
    form = "in_a_branch"
    if len(places) < len(missing):
        places = _present(u.made for u in missing)
        form = "not_called" if modules else "not_read"
    told = case.answer(
        Cause.BRANCH_NOT_TAKEN,
        form,
        statements=list(dict.fromkeys(places)),
        tensor_ids=found.tensor_ids,
        owner=pattern(list(dict.fromkeys(u.owner_path for u in missing))),
        names=pattern([u.path for u in missing]),
        n=len(missing),
    )
    finding = told.finding._replace(subject=found.finding.subject)
    return told._replace(
        verdict=found.verdict,
        more=found.more,
        odd=found.odd,
        ruled_out=found.ruled_out,
        finding=finding,
    )


def _present(places: Iterable[Source | None]) -> list[Source]:
    """Return the places that are known."""
    return [place for place in places if place is not None]


def _parameters(uncalled: Uncalled) -> list[Any]:
    return parameters_of(getattr(uncalled.owner, uncalled.name))


def _uncalled(case: Case) -> Iterator[Uncalled]:
    """Yield the modules that were not called, the outermost of each, whose owner was."""
    called = _called(case)
    for title, path, owner in _that_ran(case):
        for name, part in owner.named_children():
            inner = f"{path}.{name}" if path else name
            ran = any(t == title and f"{p}.".startswith(f"{inner}.") for t, p in called)
            if not ran and parameters_of(part):
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
        for name, parameter in owner.named_parameters(recurse=False):
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
