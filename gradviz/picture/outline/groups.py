"""Groups of the nodes of a graph that was not recorded: what becomes one card each.

NOTE [groups are intervals]: the nodes stand in the order of the forward. A module's group begins at
the first node that uses one of its parameters and ends at the last before another module's. What
lies between two groups joins the upper one where all that it uses is made there, and waits for the
lower one otherwise. So no way leads from a group back to one above it, and no picture has a circle.
Groups are only ever merged with what lies between them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby

from gradviz.graph.finished import Finished
from gradviz.graph.module_tree import CALLS
from gradviz.graph.operations import Fate, Weight
from gradviz.picture.outline.asked import AS_IT_IS, Asked

LISTS = frozenset({"ModuleList", "ModuleDict", "ParameterList", "ParameterDict"})
RUNS = 3  # times that a module's group may come again; more are merged with what lies between
MANY = 12  # groups of one picture
LONG = 40  # nodes between two groups that are a card of their own
ROWS = 8  # modules below one that its card may have rows for
SUMS = frozenset({"AddBackward0", "SubBackward0"})
# Nodes of which an input that leads nowhere may be a plain number, or is left out as a rule.
MAY_BE_NUMBER = frozenset(
    f"{name}Backward{n}"
    for name in (
        *("Add", "Sub", "Rsub", "Mul", "Div", "Pow", "Where", "MaskedFill", "Clamp", "Maximum"),
        *("Minimum", "Lerp", "Addcmul", "Addcdiv", "Embedding", "EmbeddingBag"),
    )
    for n in range(3)
)


@dataclass(eq=False)
class Group:
    """What becomes one card.

    Attributes:
        keys: paths of its modules, or names of parameters that stand in no closed module; none: it
            has no parameters.
        nodes: its nodes, in order.
        inner: those from the first to the last that use its parameters.
        then: the nodes below these that were taken in.
        after: the nodes above these that were taken in.
        members: the groups that were merged into it.
        is_range: whether these are all equal.
        is_side: whether they use what the same groups make, and the same groups use them.
    """

    keys: list[str]
    nodes: list[int]
    inner: list[int] = field(default_factory=list)
    then: list[int] = field(default_factory=list)
    after: list[int] = field(default_factory=list)
    members: list[Group] = field(default_factory=list)
    is_range: bool = False
    is_side: bool = False

    @property
    def is_fold(self) -> bool:
        """Whether it is of neighbours that are neither equal nor side by side."""
        return bool(self.members) and not self.is_range and not self.is_side


class Groups:
    """The groups of a graph that was not recorded.

    Args:
        finished: the graph.
        most: how many there may be, apart from those that the reader asked for.
        asked: what the reader asked for.
        before: of the picture in which the reader opened what is asked for; it stays as it is.
    """

    def __init__(
        self,
        finished: Finished,
        most: int = MANY,
        asked: Asked = AS_IT_IS,
        before: Groups | None = None,
    ) -> None:
        self.finished = finished
        self.asked = asked
        self.before = before
        always: set[str] = {""} if before is None else before.open
        self.open: set[str] = self._with_lists(
            {*self._asked_for} if asked.is_strict else {*always, *self._asked_for}
        )
        if not asked.is_strict and before is None:
            self._open_modules()
        groups, self.last = self._scan(self.open)
        groups = self._without_returns(groups)
        groups = self._sides(self._ranges(groups))
        self.all = self._folded(groups, most) if before is None else self._as_in(before, groups)

    # --- parameters -------------------------------------------------------------------------------

    @cached_property
    def by_name(self) -> dict[str, Weight]:
        """The parameters by each of their names."""
        found = {w.name: w for w in self.finished.weights if w.name}
        for first, names in self.finished.aliases.items():
            for name in names:
                found.setdefault(name, found[first])
        return found

    @cached_property
    def _below(self) -> dict[str, list[str]]:
        """The names of all parameters below each module, by its path; of a parameter, its own."""
        found: dict[str, list[str]] = {}
        for name in self.by_name:
            parts = name.split(".")
            for n in range(len(parts) + 1):
                found.setdefault(".".join(parts[:n]), []).append(name)
        return found

    def names_of(self, keys: Iterable[str]) -> list[str]:
        """List the names of the parameters below some paths; of an opened module, written with a
        dot at its end, those that its own nodes use."""
        tables = ((key, self._used_in if key.endswith(".") else self._below) for key in keys)
        return [name for key, table in tables for name in table.get(key, ())]

    @cached_property
    def _used_in(self) -> dict[str, list[str]]:
        """The names of the parameters that nodes of opened modules use, by path and dot."""
        name = {w.object_id: w.name for w in self.finished.weights if w.name}
        found: dict[str, dict[str, None]] = {}
        for k, used in self.finished.uses.items():
            anchor = self.finished.anchors[k]
            if anchor.endswith("."):
                some = found.setdefault(anchor, {})
                some.update(dict.fromkeys(name[i] for i in used if i in name))
        return {anchor: list(names) for anchor, names in found.items()}

    def weights_of(self, keys: Iterable[str]) -> list[Weight]:
        """List the parameters below some paths, each once: those that have their first name there,
        or, where there are none, those that are tied."""
        names = self.names_of(keys)
        found = {id(w): w for w in map(self.by_name.__getitem__, names)}
        own = {id(w): w for name in names if (w := self.by_name[name]).name == name}
        return list((own or found).values())

    def children(self, path: str) -> list[str]:
        """List the paths directly below a module that have parameters, those in lists too."""
        start = f"{path}." if path else ""
        names = self._below.get(path, ())
        below = dict.fromkeys(start + name.removeprefix(start).split(".")[0] for name in names)
        found: list[str] = []
        for child in below:
            found += self.children(child) if self.kind(child) in LISTS else [child]
        return found

    def kind(self, path: str) -> str:
        """Return the class of a module, "" of a parameter and where it is not known."""
        return self.finished.kinds.get(path.removesuffix("."), "")

    def fates(self, path: str) -> set[Fate]:
        """Return the fates of the parameters below a path."""
        return {weight.fate for weight in self.weights_of([path])}

    def is_uneven(self, path: str) -> bool:
        """Say whether some parameters below a path can be reached, and others cannot."""
        return {Fate.REACHED, Fate.UNREACHED} <= self.fates(path)

    # --- what was asked for -----------------------------------------------------------------------

    @cached_property
    def _asked_for(self) -> set[str]:
        """The paths of the modules that the reader opened, and of those around them."""
        found = set[str]()
        for path in self._asked_paths:
            if self.before is not None and not self.can_open(path):
                continue  # a click on it only asks for a card of its own
            parts = path.split(".") if path else []
            found.update(".".join(parts[:n]) for n in range(len(parts) + 1))
        return found

    @cached_property
    def _asked_paths(self) -> set[str]:
        """The paths of the modules that the reader opened."""
        roots = [f"{module.name}." for module in self.finished.graph.modules]
        found = set()
        for path in self.asked.opened:
            root = next((root for root in roots if f"{path}.".startswith(root)), "")
            known = path in self.finished.kinds
            found.add(path if known else path.removeprefix(root) if path != root[:-1] else "")
        if self.asked.depth:
            paths = ("", *self.finished.kinds)
            found |= {p for p in paths if self._level(p) < self.asked.depth and self.is_parent(p)}
        return found | self._around_paths

    @property
    def _around_paths(self) -> set[str]:
        """The path of the module that calls the one in which the node ran that the picture is
        around."""
        if self.asked.around is None:
            return set()
        names = [w.name for w in self.finished.weights if w.object_id == self.asked.around]
        place = {i: k for k, i in enumerate(self.finished.ids)}
        for t in self.finished.graph.tensors:
            edge = t.gradient_edge if t.object_id == self.asked.around else None
            if edge and edge.node_id in place and t.id not in self.finished.graph.roots:
                names.append(self.finished.anchors[place[edge.node_id]])
        around = {name.rpartition(".")[0] for name in names if name}
        return {path.rpartition(".")[0] for path in around}

    def _level(self, path: str) -> int:
        """Return how many modules lie around one; lists are never called."""
        parts = path.split(".") if path else []
        around = (".".join(parts[:n]) for n in range(1, len(parts)))
        return bool(path) + sum(self.kind(p) not in LISTS for p in around)

    def is_parent(self, path: str) -> bool:
        """Say whether modules with parameters stand in a module."""
        return not path or any(map(self.kind, self.children(path)))

    def can_open(self, path: str) -> bool:
        """Say whether the modules inside one can be drawn in its place: there are some, and it was
        not called so often that they would be all that is seen."""
        return self.is_parent(path) and self._times(path) <= CALLS

    def _times(self, path: str) -> int:
        """Return how often the values come again to a module inside one, at most."""
        children = self.children(path)
        inside = {anchor: child for child in children for anchor in self._below.get(child, ())}
        own = (inside.get(anchor) for anchor in self.finished.anchors if anchor)
        runs = Counter(child for child, _ in groupby(own) if child)
        return max(runs.values(), default=0)

    def is_kept(self, group: Group) -> bool:
        """Say whether a card is what the reader asked for, and must not be folded."""
        return not self._asked_paths.isdisjoint(self._around(group))

    def _around(self, group: Group) -> set[str]:
        """Return the paths of the modules that the modules of a card stand in directly, lists
        apart."""
        around = {key.rpartition(".")[0] for key in group.keys}
        lists = {p.rpartition(".")[0] for p in around if self.kind(p) in LISTS}
        return around | lists

    def cards_in_opened(self) -> dict[str, tuple[int, ...]]:
        """List the places of the cards that stand in each module that the reader opened, the root
        apart."""
        found: dict[str, list[int]] = {}
        for k, group in enumerate(self.all):
            for path in self._around(group) & self._asked_paths - {""}:
                found.setdefault(path, []).append(k)
        return {path: tuple(places) for path, places in found.items()}

    # --- which modules are opened -----------------------------------------------------------------

    def _with_lists(self, open_paths: set[str]) -> set[str]:
        """Open the lists of modules that stand in opened modules: lists are never called."""
        found = {*open_paths}
        for path, kind in self.finished.kinds.items():
            if kind in LISTS and path.rpartition(".")[0] in found:
                found.add(path)
        return found

    def _open_modules(self) -> None:
        """Open the modules whose rows would not tell enough, largest first, while it stays few
        groups."""
        refused: set[str] = set()
        while True:
            wanted = [p for p in self._closed() if p not in refused and self._says_too_little(p)]
            if not wanted:
                return
            path = max(wanted, key=lambda p: len(self.names_of([p])))
            trial = self._with_lists({*self.open, path})
            groups, _ = self._scan(trial)
            runs = Counter(key for group in groups for key in group.keys)
            ranges = self._ranges(groups)
            if max(runs.values(), default=0) <= RUNS and len(ranges) <= MANY:
                self.open = trial
            else:
                refused.add(path)

    def _closed(self) -> list[str]:
        """List the modules that stand directly in opened ones."""
        found = []
        for path, kind in self.finished.kinds.items():
            around = path.rpartition(".")[0]
            if around in self.open and path not in self.open and kind not in LISTS:
                found.append(path)
        return found

    def _says_too_little(self, path: str) -> bool:
        children = self.children(path)
        if len(children) < 2:
            return False
        most = 2 * len(self.names_of([path])) > len(self.by_name)
        uneven = self.is_uneven(path)
        inside = any(self.is_uneven(child) for child in children)
        return most or (uneven and (inside or len(children) > ROWS))

    # --- from nodes to groups ---------------------------------------------------------------------

    def key(self, anchor: str, open_paths: set[str]) -> str:
        """Return the outermost closed module around a parameter, or its own name."""
        if "" not in open_paths:
            return ""
        prefix = ""
        for part in anchor.removesuffix(".").split("."):
            prefix = f"{prefix}.{part}" if prefix else part
            if prefix not in open_paths:
                return prefix
        return anchor

    def _scan(self, open_paths: set[str]) -> tuple[list[Group], list[int]]:
        """Divide the nodes into groups; return also the last ones, that belong to the loss."""
        groups: list[Group] = []
        owner: dict[int, int] = {}
        keys: dict[str, str] = {}
        waiting: list[int] = []
        for k, anchor in enumerate(self.finished.anchors):
            if not anchor:
                waiting.append(k)
                continue
            if anchor not in keys:
                keys[anchor] = self.key(anchor, open_paths)
            key = keys[anchor]
            if groups and groups[-1].keys == [key] and groups[-1].inner:
                last = groups[-1]
                last.inner += [*waiting, k]
            else:
                waiting = self._joined(groups, owner, waiting)
                last = Group([key], [], [k], after=waiting)
                groups.append(last)
            owner.update(dict.fromkeys((*waiting, k), len(groups) - 1))
            waiting = []
        rest = self._joined(groups, owner, waiting, at_end=True)
        for group in groups:
            if group.keys:
                group.nodes = sorted([*group.after, *group.inner, *group.then])
        return groups, rest

    def _joined(
        self, groups: list[Group], owner: dict[int, int], nodes: list[int], *, at_end: bool = False
    ) -> list[int]:
        """Give the nodes between two groups to the upper one where all they use is made there; very
        many are a group of their own. Return those that are left for the lower one."""
        if len(nodes) > LONG:
            kept = nodes[-1:] if at_end else []
            groups.append(Group([], nodes[:-1] if at_end else nodes))
            owner.update(dict.fromkeys(groups[-1].nodes, len(groups) - 1))
            return kept
        if at_end or not groups or not groups[-1].keys:
            return nodes
        left, upper = [], len(groups) - 1
        for k in nodes:
            sources = self.finished.sources[k]
            if sources and all(owner.get(j) == upper for j in sources):
                groups[-1].then.append(k)
                owner[k] = upper
            else:
                left.append(k)
        return left

    # --- fewer groups -----------------------------------------------------------------------------

    def _without_returns(self, groups: list[Group]) -> list[Group]:
        """Merge what lies between the first and the last group of a module that comes again more
        than a few times."""
        places: dict[str, list[int]] = {}
        for k, group in enumerate(groups):
            for key in group.keys:
                places.setdefault(key, []).append(k)
        kept = [*map(self.is_kept, groups)]
        last_of = {
            p[0]: p[-1]
            for p in places.values()
            if (len(p) > RUNS or len(groups) > LONG) and not any(kept[p[0] : p[-1] + 1])
        }
        found: list[Group] = []
        end = -1
        for k, group in enumerate(groups):
            if k <= end:
                found[-1] = merged([found[-1], group])
            else:
                found.append(group)
            if k <= end or k in last_of:
                end = max(end, last_of.get(k, k))
        return found

    def _ranges(self, groups: list[Group]) -> list[Group]:
        """Merge equal neighbours, whether one feeds the next or not."""
        found: list[Group] = []
        for group in groups:
            run = found[-1].members if found and found[-1].is_range else found[-1:]
            if run and self._looks(run[-1]) == self._looks(group):
                found[-1] = merged([*run, group], is_range=True)
            else:
                found.append(group)
        return found

    def _sides(self, groups: list[Group]) -> list[Group]:
        """Merge neighbours that stand side by side: with the same groups above, and below."""
        if sum(len(group.keys) == 1 for group in groups) < 2:
            return groups
        above, below = self._neighbours(groups)

        def place(k: int) -> Hashable:
            group = groups[k]
            if len(group.keys) != 1 or group.members or self.ends(group):
                return k
            fates = frozenset(w.fate for w in self.weights_of(group.keys))
            return frozenset(above[k]), frozenset(below[k]), fates

        found: list[Group] = []
        for _, run in groupby(range(len(groups)), key=place):
            same = [groups[k] for k in run]
            if 1 < len(same) <= ROWS:
                found.append(merged(same))
                found[-1].is_side = True
            else:
                found += same
        return found

    def _neighbours(self, groups: list[Group]) -> tuple[list[set[int]], list[set[int]]]:
        """Return the groups above and below each; the result is the last."""
        last = len(groups)
        owner = {node: k for k, group in enumerate(groups) for node in group.nodes}
        above: list[set[int]] = [set() for _ in range(last + 1)]
        below: list[set[int]] = [set() for _ in range(last + 1)]
        for node, sources in enumerate(self.finished.sources):
            head = owner.get(node, last)
            for tail in {owner.get(j, last) for j in sources} - {head}:
                below[tail].add(head)
                above[head].add(tail)
        return above, below

    def _looks(self, group: Group) -> Hashable:
        """Return what equal groups have in common: class, parameters, nodes, and which inputs are
        not tracked."""
        if len(group.keys) != 1 or group.members:
            return id(group)
        key = group.keys[0]
        finished = self.finished
        nodes = tuple((finished.names[k], finished.empty[k]) for k in group.inner)
        weights = tuple(
            (name.removeprefix(key), self.by_name[name].shape, self.by_name[name].fate)
            for name in self.names_of([key])
        )
        return key.rpartition(".")[0], self.kind(key), weights, nodes

    def _folded(self, groups: list[Group], most: int) -> list[Group]:
        """Fold neighbours with fewest parameters until few enough are left; first those where
        nothing ends."""
        while len(groups) > most:
            size = [len(self.names_of(group.keys)) for group in groups]
            matters = [bool(self.ends(g)) or self._is_uneven(g) for g in groups]
            kept = [*map(self.is_kept, groups)]
            pairs = [k for k in range(len(groups) - 1) if not (kept[k] or kept[k + 1])]
            if not pairs:
                break
            k = min(pairs, key=lambda k: (matters[k] or matters[k + 1], size[k] + size[k + 1], k))
            groups = [*groups[:k], merged(groups[k : k + 2]), *groups[k + 2 :]]
        return groups

    def _as_in(self, before: Groups, groups: list[Group]) -> list[Group]:
        """Fold what was folded before, unless the reader asked for something in it."""
        folds = [g for g in before.all if g.is_fold and not self._is_asked_for(g)]
        owner = {node: k for k, fold in enumerate(folds) for node in fold.nodes}
        runs = groupby(groups, key=lambda group: owner.get(group.nodes[0]))
        found: list[Group] = []
        for fold, run in runs:
            same = list(run)
            found += same if fold is None or len(same) == 1 else [merged(same)]
        return found

    def _is_asked_for(self, group: Group) -> bool:
        return any(
            path == key or path.startswith(f"{key}.")
            for key in group.keys
            for path in self._asked_paths
        )

    def _is_uneven(self, group: Group) -> bool:
        return {Fate.REACHED, Fate.UNREACHED} <= {w.fate for w in self.weights_of(group.keys)}

    # --- where the graph ends ---------------------------------------------------------------------

    def ends(self, group: Group) -> list[int]:
        """List the nodes of a group whose input leads nowhere: they use parameters alone, though
        something else came in."""
        finished = self.finished
        return [
            k
            for k in group.nodes
            if finished.empty[k]
            and not finished.sources[k]
            and k in finished.uses
            and finished.names[k] not in MAY_BE_NUMBER
        ]

    def half_sums(self, group: Group) -> list[int]:
        """List the sums in a group of which one operand leads nowhere."""
        finished = self.finished
        return [
            k
            for k in group.nodes
            if finished.empty[k] and finished.sources[k] and finished.names[k] in SUMS
        ]


def merged(groups: list[Group], *, is_range: bool = False) -> Group:
    """Return one group of several neighbours."""
    keys = list(dict.fromkeys(key for group in groups for key in group.keys))
    nodes = sorted(k for group in groups for k in group.nodes)
    members = [m for group in groups for m in (group.members or [group])]
    return Group(keys, nodes, members=members, is_range=is_range)
