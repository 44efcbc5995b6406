"""Numbers that left torch in a recording, and the calls whose code uses them. Knows no torch."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property

from gradviz.graph.facts import Facts, grouped
from gradviz.graph.records import Call, Cut, CutReason
from gradviz.names.frames import frames, names_bound, names_read

# what takes the numbers of a tensor in a statement, as for a function that computes with them
GIVES_NUMBER = re.compile(r"\.(detach\(\)|data)(\.cpu\(\))?\.(item|tolist|numpy)\(\)")


class NumbersOut:
    """The numbers that left torch in a recording: ``b.item()``.

    Args:
        facts: of the recording.
    """

    def __init__(self, facts: Facts) -> None:
        self.facts, self.graph = facts, facts.graph
        self._users: dict[tuple[int, str], list[Call]] = {}

    @classmethod
    def of(cls, facts: Facts) -> NumbersOut:
        """Return those of a recording, the same ones to every reader of it."""
        kept = facts.__dict__.get("_numbers_out")
        if not isinstance(kept, cls):
            kept = facts.__dict__["_numbers_out"] = cls(facts)
        return kept

    @cached_property
    def given(self) -> list[tuple[Cut, Call]]:
        """The cuts by which a number left torch, each with the call that gave it: ``b.item()``; of
        ``a = b.detach().item()``, where no call is recorded for ``item()``, the whole statement."""
        found = []
        for cut in self.facts.real_cuts:
            call = self.graph.call[cut.call_id]
            if cut.output_id is None:
                found += [(cut, call)] if cut.reason is CutReason.COPIED_OUT else []
            elif cut.output_id not in self.facts.read_ids:
                whole = _statement_around(call)
                found += [(cut, whole)] if whole is not None else []
        return found

    @cached_property
    def used_by(self) -> dict[int, list[tuple[Cut, Call]]]:
        """The same pairs, by the id of each call that uses the number."""
        return grouped((user.id, pair) for pair in self.given for user in self.users(pair[1]))

    def users(self, gone: Call) -> list[Call]:
        """Return the calls whose code uses the number that a call gave, by its name or with its
        code inside, until that means something else."""
        key = gone.id, _code(gone)
        if key not in self._users:
            self._users[key] = [*self._users_after(gone)]
        return self._users[key]

    def _users_after(self, gone: Call) -> Iterator[Call]:
        name, calls = _bound(gone), self.graph.calls
        for at in range(bisect_right(calls, gone.id, key=lambda call: call.id), len(calls)):
            call = calls[at]
            if not _code(call):
                continue
            if _uses(call, gone, name):
                yield call
            if (name and _bound(call) == name) or _code(call) == _code(gone):
                return  # from here on it means something else


def _statement_around(call: Call) -> Call | None:
    """Return a call as the statement that takes its number out of torch and gives that one name;
    None where that is not what stands there."""
    code = frames(call)[0].code if frames(call) else ""
    if call.source is None or not GIVES_NUMBER.search(code):
        return None
    whole = call._replace(source=call.source._replace(code=code))
    return whole if len(names_bound(whole)) == 1 else None


def _code(call: Call) -> str:
    """Return a call's code as it stands in the file, "" where it is not known."""
    return (call.source.code or "") if call.source else ""


def _bound(call: Call) -> str | None:
    """Return the plain name that a call's code gives to its result."""
    bound = names_bound(call)
    return bound[0] if len(bound) == 1 and bound[0].isidentifier() else None


def _uses(call: Call, gone: Call, name: str | None) -> bool:
    """Say whether a call's code uses the result of an earlier one: by its name, or with the
    earlier call's code inside."""
    if name is not None and name in names_read(call):
        return True
    if call.source is None or gone.source is None or call.source[:2] != gone.source[:2]:
        return False
    code = _code(call)
    right = code.partition("=")[2] if _bound(call) else code
    return bool(_code(gone)) and _code(gone) in right and _code(gone) != code
