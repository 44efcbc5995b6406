"""Opening modules of an outline by hand: by a click, or by their names from the start.

NOTE [like before]: what a reader opened is laid out like the picture in which it was closed. What
had a card of its own keeps it, what was folded stays folded unless it is what she asked for, and
the page may become longer. So nothing is searched for, and what she did not ask about stays.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from itertools import groupby

from gradviz.graph.module_tree import ModuleTree
from gradviz.graph.records import GradvizError
from gradviz.picture.outline.asked import Before, parameters_of, with_parameters
from gradviz.picture.outline.fit import SEVERAL, WIDTH, Fitted, Fitting, Plan, without_inputs
from gradviz.picture.outline.fold import MAY_FOLD, around_both, folded
from gradviz.picture.outline.gather import Gathering
from gradviz.picture.outline.unit import Kind, Unit
from gradviz.picture.outline.units import Expansion
from gradviz.words import given

NAMED = 5  # modules that an error gives as examples


class Modules:
    """The modules of a recording by their whole names, "model.transformer.h.5".

    Args:
        tree: of the recording.
        open_anyway: ids of the calls that are open without anybody asking.
    """

    def __init__(self, tree: ModuleTree, open_anyway: Iterable[int]) -> None:
        self.tree = tree
        self.calls: dict[str, list[int]] = {}
        for call_id in tree.below:
            self.calls.setdefault(tree.name(tree.call[call_id]), []).append(call_id)
        self.open_anyway = {tree.name(tree.call[i]) for i in open_anyway}

    def can_open(self, name: str) -> bool:
        """Say whether the modules inside a module can be drawn in its place."""
        return name in self.calls and self.tree.can_open(self.calls[name][0])

    def shows_more(self, name: str) -> bool:
        """Say whether a module that is opened by its name is drawn otherwise: as the modules inside
        it, or, where there are none and it was called once, as its operations. One of a single
        operation keeps its card, apart from others."""
        calls = self.calls.get(name, ())
        return self.can_open(name) or (len(calls) == 1 and len(self.tree.below[calls[0]]) > 1)

    def around(self, name: str) -> list[str]:
        """List the modules around one that were called, from the outside."""
        parts = name.split(".")
        names = (".".join(parts[:n]) for n in range(1, len(parts)))
        return [one for one in names if one in self.calls]

    def asked(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Return the whole names of what was asked for, each behind those around it that it opens
        too; what stands inside something that cannot be opened does not count.

        Raises:
            GradvizError: there is no such module.
        """
        found: dict[str, None] = {}
        parameters = parameters_of(self.tree.graph)
        for path in paths:
            if path in parameters:
                found |= dict.fromkeys(self._around_parameter(parameters[path]))
                continue
            name = self._known(path)
            for one in (*self.around(name), name):
                if one in self.calls and one not in self.open_anyway:
                    found[one] = None
                if not self.can_open(one):
                    break
        return tuple(found)

    def _around_parameter(self, name: str) -> list[str]:
        """List a parameter behind the modules that have to be open before it gets a card."""
        around, _ = with_parameters(self.tree.graph, [name])
        return [*self.asked([*around]), name]

    def _known(self, path: str) -> str:
        """Return the whole name of a module."""
        for root in self.tree.graph.modules:
            for name in (root.name, *(f"{root.name}.{child}" for child, _ in root.children)):
                if path in (name, name.removeprefix(f"{root.name}.")):
                    return name
        others = (n for n in self.calls if self.can_open(n) and n not in self.open_anyway)
        some = ", ".join([*others][:NAMED])
        raise GradvizError(
            f"opened was given {given.shown(path)}; expected paths of modules of this picture"
            f" ({some or 'it has none'})"
        )


class Opening:
    """Draws the picture of before with some modules opened: see NOTE [like before].

    Args:
        before: what drew the picture of before, after it did.
        like: what is kept of that picture.
        modules: of the same recording.
        opened: whole names of modules.
    """

    def __init__(
        self, before: Fitting, like: Before, modules: Modules, opened: Sequence[str]
    ) -> None:
        self.before = before
        self.opened = {*opened}
        inside = frozenset(name for name in opened if modules.shows_more(name))
        self.fitting = copy.copy(before)
        self.fitting.last = self.fitting.drawn = None
        _, leaves = with_parameters(before.operations.graph, opened)
        asked = before.expansion.asked._replace(opened=inside, before=like, leaves=leaves)
        self.fitting.expansion = Expansion(before.operations, asked)
        self.fitting.gathering = Gathering(self.fitting.expansion)
        for made in ("_finest", "_units"):
            self.fitting.__dict__.pop(made, None)

    def fitted(self) -> Fitted:
        """Return the first layout that is no wider than a page and that crosses nothing, or the
        best one."""
        best: tuple[Plan, Fitted] | None = None
        for plan in self._narrow_ones_first():
            self.fitting.last = fitted = self.fitting.laid_out(plan)
            if best is None or _flaws(fitted) < _flaws(best[1]):
                best = plan, fitted
            if fitted.width <= WIDTH and not fitted.crossings:
                break
        if best is None:
            raise ValueError("an outline of nothing")
        self.fitting.plan, fitted = best
        return fitted

    def _narrow_ones_first(self) -> Iterator[Plan]:
        """Go through the plans, and through those whose cards alone are wider than a page only
        where no layout before was narrow enough: a layout is what costs the time."""
        too_wide: list[Plan] = []
        is_any_narrow = False
        for plan in self._plans():
            if self.fitting.is_wider_than_a_page(plan):
                too_wide.append(plan)
                continue
            yield plan
            last = self.fitting.last
            is_any_narrow = is_any_narrow or (last is not None and last.width <= WIDTH)
        if not is_any_narrow:
            yield from too_wide

    def _plans(self) -> Iterator[Plan]:
        """Go through the plan of before, narrower ones, and one column."""
        like = self.before.plan
        units = self._units()
        with_rows = [like.units[k].ops for k in like.children]
        children = [k for k, unit in enumerate(units) if unit.ops in with_rows]
        plan = replace(like, units=units, children=frozenset(children), undrawn=frozenset())
        if len(units) > SEVERAL:  # each layout takes long
            yield replace(plan, in_column=True, width=0)
            return
        yield plan
        yield from (p for p in self.fitting.narrower(plan) if p.width > plan.width)
        if not plan.in_column:
            yield replace(plan, in_column=True, width=0)

    def _units(self) -> list[Unit]:
        """List the cards: what was folded before is folded again."""
        like = self.before.plan.units
        units = self.fitting.gathering.units
        if all(unit.kind is not Kind.INPUT or unit.ops for unit in like):
            units = without_inputs(units)
        gathered = {id(unit) for unit in self.before.gathering.units}
        folds = [u for u in like if id(u) not in gathered and not self._is_asked_for(u)]
        owner = {at: k for k, fold in enumerate(folds) for at in fold.ops}

        def place(unit: Unit) -> int | None:
            return owner.get(unit.ops[0]) if unit.ops and unit.kind in MAY_FOLD else None

        found: list[Unit] = []
        for fold, run in groupby(units, key=place):
            same = list(run)
            found += same if fold is None else [reduce(self._folded, same)]
        return found

    def _folded(self, upper: Unit, lower: Unit) -> Unit:
        return folded(upper, lower, around_both(self.fitting.expansion.tree, upper, lower))

    def _is_asked_for(self, unit: Unit) -> bool:
        """Say whether the reader asked for something in a card."""
        tree = self.fitting.expansion.tree
        names = (tree.name(tree.call[i]) for i in unit.calls)
        return any(o == n or o.startswith(f"{n}.") for n in names for o in self.opened)


def _flaws(fitted: Fitted) -> tuple[float, int, float]:
    """Return what is wrong with a layout: how much too wide it is, its crossings, its height."""
    return max(fitted.width / WIDTH, 1.0), fitted.crossings, fitted.height
