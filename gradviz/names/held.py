"""What each variable of the user's code holds when a recording ends, as far as calls prove it."""

from __future__ import annotations

import ast
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gradviz.graph.records import Former
from gradviz.names.bindings import (
    COMPREHENSIONS,
    bindings,
    is_bound_since,
    is_conditional,
    scope_of,
)
from gradviz.names.located import Located
from gradviz.names.position import statement_of
from gradviz.words.speech import say

if TYPE_CHECKING:
    from gradviz.watch.entries import Object, Site
    from gradviz.watch.recorder import Recorder


class Variables:
    """The variables in which calls met tensors.

    Args:
        recorder: of the calls.
        located: the places of their sites.
    """

    def __init__(self, recorder: Recorder, located: Located) -> None:
        self._located = located
        is_module = recorder.home_at is None or (
            recorder.home and recorder.home.co_name == "<module>"
        )
        self._globals = recorder.globals if is_module else None
        self._block = self._block_of(recorder)
        # The last proof of what a variable of a scope is: the object, the statement, did it bind
        # the name, outermost?
        self._proofs: dict[tuple[Any, str], tuple[Object, Any, bool, bool]] = {}
        # names that the user's outermost code has for an object
        self._proven: set[tuple[Object, str]] = set()
        self._recorded: set[tuple[Any, str]] = set()
        self._lines: dict[tuple[Object, str], int] = {}

    def _block_of(self, recorder: Recorder) -> ast.With | ast.AsyncWith | None:
        """Return the ``with`` statement of a recording. One entered by hand (``rec.__enter__()``)
        has none: what the scope does counts everywhere."""
        if not recorder.home_at:
            return None
        entered = self._located.node((recorder.home, recorder.home_at))
        return entered if isinstance(entered, (ast.With, ast.AsyncWith)) else None

    def prove(
        self,
        site: Site,
        name: str | None,
        tensor: Object,
        *,
        binds: bool = False,
        always: bool = False,
    ) -> None:
        """Note that the variable ``name`` is ``tensor`` here.

        Args:
            site: where that was seen.
            name: as written there.
            tensor: what it holds.
            binds: the statement binds the name; else it reads it.
            always: whenever this statement binds it, a recorded call does.
        """
        node = self._located.node(site) if name else None
        if not name or node is None:
            return
        statement = statement_of(node)
        scope = scope_of(statement if binds else node)
        outer = self._located.is_outer(site) and not isinstance(scope, COMPREHENSIONS)
        self._proofs.pop((scope, name), None)  # the newest stands last
        self._proofs[scope, name] = tensor, statement, binds, outer
        if outer:
            self._proven.add((tensor, name))
        if always and not is_conditional(statement):
            self._recorded.add((statement, name))
        self._lines.setdefault(
            (tensor, name), statement.lineno if binds else _line_of(name, statement, scope)
        )

    @cached_property
    def _held(self) -> dict[str, Object | None]:
        """The object that every variable is at the end; None where that is not certain."""
        held: dict[str, Object | None] = {}
        block_scope = None if self._block is None else scope_of(self._block)
        # the outermost code has the last word
        proofs = sorted(self._proofs.items(), key=lambda p: p[1][3])
        for (scope, name), (tensor, statement, binds, _) in proofs:
            block = self._block if scope is block_scope else None
            lost = is_bound_since(scope, name, statement, binds, self._recorded, block)
            held[name] = None if lost else tensor
            if self._globals is not None and isinstance(scope, ast.Module) and name.isidentifier():
                held[name] = self._globals.get(name)
        users = self._globals or {}
        # what a helper calls so is another object than the user's own variable
        held.update({name: own for name, own in users.items() if own is not None and name in held})
        return held

    def at_the_end(
        self, name: str | None, tensor: Object, *, whole: bool
    ) -> tuple[str | None, Former | None]:
        """Return ``name`` where that is still this object, else another variable that is, or its
        place in a list, else with the line where it was; and that line."""
        if name is None and whole:
            return tensor.place, None
        if name is None or self._held.get(name, tensor) is tensor:
            return name, None
        others = [
            n
            for n, held in self._held.items()
            if held is tensor and whole and (tensor, n) in self._proven
        ]
        if others:
            return others[-1], None
        if tensor.place is not None and whole:
            return tensor.place, None
        line = self._lines.get((tensor, name))
        if line is None:
            return say("label.another", name=name), Former(name, None)
        return say("label.former", name=name, line=line), Former(name, line)


def _line_of(name: str, statement: Any, scope: Any) -> int:
    """Return the line by which a variable that a statement reads is known: its own, or where the
    variable was bound before, if the statement gives it to another object (``t = t + 1``)."""
    binders = [other for other_name, other in bindings(scope) if other_name == name]
    before = [other.lineno for other in binders if other.lineno < statement.lineno]
    return int(max(before) if before and statement in binders else statement.lineno)
