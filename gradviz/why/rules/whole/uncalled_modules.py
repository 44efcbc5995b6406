"""Modules that no forward calls, though the module that has them ran."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from gradviz.graph.findings import Cause
from gradviz.graph.records import Source
from gradviz.names.statements import where_made
from gradviz.why.explanation import Explanation
from gradviz.why.many import pattern
from gradviz.why.subjects import parameters_of

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case


class Uncalled(NamedTuple):
    """A module that was not called, though the one that has it was.

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


def unread(case: Case, found: Explanation) -> bool:
    """Say whether the answer so far is that no call read a parameter."""
    return found.cause is Cause.BRANCH_NOT_TAKEN and bool(case.recording)


def not_called(case: Case, found: Explanation) -> Explanation | None:
    """Return the same answer, with the modules that were not called, whose forward that is, and
    where they are made."""
    asked = {id(t) for t in case.targets().values()}
    missing = [u for u in _uncalled(case) if asked & {id(p) for p in _parameters(u)}]
    if not missing:
        return None
    places = [made for u in missing if (made := u.made) is not None]
    told = case.answer(
        Cause.BRANCH_NOT_TAKEN,
        "not_called",
        statements=list(dict.fromkeys(places)),
        tensor_ids=found.tensor_ids,
        owner=missing[0].owner_path,
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


def _parameters(uncalled: Uncalled) -> list[Any]:
    return parameters_of(getattr(uncalled.owner, uncalled.name))


def _uncalled(case: Case) -> Iterator[Uncalled]:
    """Yield the modules that were not called, the outermost of each, whose owner was."""
    graph = case.graph
    root_of = {root.id: root.name for root in graph.modules}
    called = {(root_of.get(c.module_id), c.path) for c in graph.module_calls}
    modules = {id(m): m for m in (*case.known_modules, *case.modules)}
    for module in modules.values():
        title = case.called.get(id(module), "")
        for path, owner in module.named_modules():
            if (title, path) not in called:
                continue
            for name, part in owner.named_children():
                inner = f"{path}.{name}" if path else name
                ran = any(t == title and f"{p}.".startswith(f"{inner}.") for t, p in called)
                if not ran and parameters_of(part):
                    owner_path = f"{title}.{path}" if path else title
                    yield Uncalled(f"{title}.{inner}", owner, owner_path, name)
