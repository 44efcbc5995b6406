"""The outline of a graph that was not recorded: which parameters can be reached, and where the
graph ends. Why it ends there is not known, and is not said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from itertools import groupby

from gradviz.graph.finished import Finished
from gradviz.graph.operations import Fate, Weight
from gradviz.graph.parameter_groups import side_by_side
from gradviz.graph.records import Graph
from gradviz.picture.outline.asked import AS_IT_IS, Asked
from gradviz.picture.outline.groups import LISTS, MANY, Group, Groups
from gradviz.picture.outline.scene import (
    Arrow,
    Card,
    Frame,
    Headline,
    Outline,
    Part,
    Rail,
    Row,
    Span,
    Tone,
)
from gradviz.words.plain import visible
from gradviz.words.speech import say

NAME = 40  # characters of a name
FUNCTIONS = 3  # nodes that are named of those taken into a card
LISTED = 5  # sorts of nodes that hovering names
BESIDE = 2  # cards that stand side by side in the frame; more are rows of one
LOST_ROWS = 12
FEWER = (MANY, 9, 7, 5)  # cards, one after the other, until the picture fits
CONSTANTS = 2  # sums with one operand that are told of in one card
ROOM = 30  # rows of all cards together, up to which closed modules get a row for each of theirs

Pair = tuple[int, int]


class Unrecorded:
    """Puts the groups of a captured graph into cards.

    Args:
        graph: of ``capture``.
        most: cards that its groups may become.
        asked: what the reader asked for.
        before: the groups of the picture in which she did, where that stays as it is.
    """

    def __init__(
        self,
        graph: Graph,
        most: int = MANY,
        asked: Asked = AS_IT_IS,
        before: Groups | None = None,
    ) -> None:
        self.graph = graph
        self.finished = Finished(graph) if before is None else before.finished
        self.groups = Groups(self.finished, most, asked, before)
        self.lost = [w for w in self.finished.weights if w.fate is Fate.UNREACHED]

    def outline(self, *, in_column: bool = False) -> Outline:
        """Return headline, cards and arrows."""
        drawn = self._drawn(in_column)
        cards = [self._card(k, group, drawn) for k, group in enumerate(self.groups.all)]
        cards.append(self._result(len(cards), drawn))
        outside, frames = self._outside(len(cards))
        spine = {*self.spine}
        arrows = [Arrow(*pair, "can", spine=pair in spine) for pair in drawn]
        return Outline(
            self._headline(),
            (*outside, *cards),
            tuple(arrows),
            (*frames, *self._opened_frames()),
            is_recorded=False,
        )

    def _opened_frames(self) -> list[Frame]:
        """Frame the cards of each module that the reader opened, if no other is opened in it."""
        found = []
        for path, members in self.groups.cards_in_opened().items():
            inner = [p for p in self.groups.cards_in_opened() if p.startswith(f"{path}.")]
            if len(members) > 1 and not inner:
                label = say("outline.opened", name=path, kind=self.groups.kind(path))
                found.append(Frame("opened", (label,), members))
        return found

    # --- links ------------------------------------------------------------------------------------

    @cached_property
    def links(self) -> list[Pair]:
        """Which card uses what which other one made; the last card is the result."""
        owner = [len(self.groups.all)] * len(self.finished.ids)
        for k, group in enumerate(self.groups.all):
            for node in group.nodes:
                owner[node] = k
        found = {
            (owner[j], owner[k])
            for k, sources in enumerate(self.finished.sources)
            for j in sources
            if owner[j] != owner[k]
        }
        place = {i: k for k, i in enumerate(self.finished.ids)}
        result = len(self.groups.all)
        for root in self._root_nodes:
            if root in place and owner[place[root]] != result:
                found.add((owner[place[root]], result))
        return sorted(found)

    @cached_property
    def _root_nodes(self) -> list[int]:
        edges = [self.graph.tensor[i].gradient_edge for i in self.graph.roots]
        return [edge.node_id for edge in edges if edge]

    @property
    def n_cards(self) -> int:
        """How many cards there are besides those in the frame."""
        return len(self.groups.all) + 1

    def below(self, place: int) -> Iterable[int]:
        """Go through the cards that use what a card makes."""
        return (head for tail, head in self.links if tail == place)

    def above(self, place: int) -> list[int]:
        """List the cards whose results a card uses."""
        return [tail for tail, head in self.links if head == place]

    @cached_property
    def rank(self) -> list[int]:
        """How many links lie above each card, on the longest way."""
        ranks = [0] * self.n_cards
        for tail, head in self.links:  # by tail, and all tails stand above their heads
            ranks[head] = max(ranks[head], ranks[tail] + 1)
        return ranks

    @cached_property
    def spine(self) -> list[Pair]:
        """The way from the result up that meets most parameters."""
        best = [(0, -1)] * self.n_cards
        for k in range(self.n_cards):
            most = max(((best[tail][0], -tail) for tail in self.above(k)), default=(0, 1))
            best[k] = most[0] + self._size(k), -most[1]
        place = self.n_cards - 1
        found: list[Pair] = []
        while (tail := best[place][1]) >= 0:
            found.append((tail, place))
            place = tail
        return found

    def _size(self, place: int) -> int:
        groups = self.groups.all
        return len(self.groups.names_of(groups[place].keys)) if place < len(groups) else 0

    def _drawn(self, in_column: bool) -> list[Pair]:
        """List the links that are arrows: between neighbouring ranks, on the spine, and one from
        and to each card."""
        if in_column:
            return [(tail, head) for tail, head in self.links if head - tail == 1]
        span = {(tail, head): self.rank[head] - self.rank[tail] for tail, head in self.links}
        found = {pair for pair, n in span.items() if n == 1} | {*self.spine}
        for k in range(self.n_cards):
            for end in (0, 1):
                pairs = [pair for pair in self.links if pair[end] == k]
                if pairs and not any(pair in found for pair in pairs):
                    found.add(min(pairs, key=lambda pair: span[pair]))
        return sorted(found)

    # --- cards ------------------------------------------------------------------------------------

    def _card(self, place: int, group: Group, drawn: list[Pair]) -> Card:
        rows = [self._title(group), *self._end_rows(place, group)]
        if group.keys:
            children = self._children(place, group)
            rows += self._member_rows(children) if children else self._state_rows(group)
        rows += self._said(place, drawn)
        rows = [r._replace(rail=Rail.CAN) if r.rail is Rail.NO else r for r in rows]
        path = self._opener(group)
        detail = self._nodes_told(group.nodes)
        members = tuple(map(self._full, group.keys)) if path and group.is_range else ()
        ends = self._is_end(place, group)
        return Card(place, True, tuple(rows), ends, path, detail, members=members)

    def _opener(self, group: Group) -> str:
        """Return the name of the module that opens a card; "" where nothing does. Of several equal
        ones it is the first; neighbours that were folded get their own cards."""
        paths = [key for key in group.keys if not key.endswith(".")]
        inner = [path for path in paths if self.groups.can_open(path)]
        if group.is_fold:
            inner = [path for path in paths if path not in inner] or inner
        return self._full(inner[0]) if inner and self.graph.modules else ""

    def _full(self, path: str) -> str:
        root = self.graph.modules[0].name if self.graph.modules else ""
        return ".".join(part for part in (root, path.removesuffix(".")) if part)

    def _titled(self, name: str, grey: str, right: str = "") -> Row:
        spans = [Span(visible(name, NAME), "name")]
        if grey:
            spans.append(Span(grey, "grey"))
        return Row(Tone.TITLE, tuple(spans), right)

    def _title(self, group: Group) -> Row:
        if not group.keys:
            kinds = Counter(self.finished.names[k] for k in group.nodes).most_common(1)
            grey = say("outline.nodes", n=len(group.nodes))
            return self._titled(kinds[0][0], grey)
        if len(group.keys) == 1:
            return self._titled(self.short(group.keys[0]), self._folded_in(group))
        if group.is_side:
            grey = say("outline.side_by_side", n=len(group.keys))
            return self._titled(self._side_name(group.keys), grey)
        return self._titled(self._range_name(group.keys), self._many_told(group))

    def title_of(self, group: Group) -> str:
        """Return the name of a card, with its class."""
        row = self._title(group)
        kind = self.groups.kind(group.keys[0]) if len(group.keys) == 1 else ""
        if group.is_range:
            kind = self._many_told(group)
        name = row.left[0].text
        return say("card.module_box", name=name, kind=kind) if kind else name

    def _many_told(self, group: Group) -> str:
        kind = self.groups.kind(group.keys[0])
        if group.is_range:
            return say("outline.times_kind", n=len(group.keys), kind=kind)
        modules = sum(bool(self.groups.kind(key)) for key in group.keys)
        if modules == len(group.keys):
            return say("outline.modules", n=modules)
        return say("outline.nodes", n=len(group.nodes))

    def _side_name(self, keys: list[str]) -> str:
        """Return the name of what has all these modules, or theirs."""
        around = {key.rpartition(".")[0] for key in keys}
        only = around.pop() if len(around) == 1 else ""
        if only and self.groups.children(only) == keys:
            return self.short(only)
        return say("outline.joined_names", names=[_last(key) for key in keys])

    def _range_name(self, keys: list[str]) -> str:
        """Return the name of several modules: "h.{0..4}", or the first and the last."""
        names = [self.short(key) for key in keys]
        if names[0].rpartition(".")[2].isdigit() and (name := side_by_side(names)):
            return name
        return say("outline.from_to", first=names[0], last=names[-1])

    def short(self, path: str) -> str:
        """Return a path without the opened modules around it; lists stay."""
        if path in (".", ""):
            return self.graph.modules[0].name if self.graph.modules else ""
        path = path.removesuffix(".")
        around = [
            p
            for p in self.groups.open
            if p and path.startswith(f"{p}.") and self.groups.kind(p) not in LISTS
        ]
        prefix = max(around, key=len, default="")
        return path.removeprefix(f"{prefix}.") if prefix else path

    def _folded_in(self, group: Group) -> str:
        """Return the class of a module, with the nodes taken in. Of those below a module with
        others inside nobody knows whether they are its own."""
        key = group.keys[0]
        kind = self.groups.kind(key) or self._leaf_kind(key)
        uses = [g for g in self.groups.all if key in g.keys]
        if uses[1:]:
            kind = say("outline.use_of", kind=kind, k=uses.index(group) + 1, n=len(uses))
        after = self._few(group.after)
        then = [] if self.groups.children(key) else self._few(group.then)
        if self.groups.is_uneven(key) or self.groups.ends(group):
            return kind
        if after and then:
            return say("outline.after_and_then", kind=kind, after=after, then=then)
        if after:
            return say("outline.after", kind=kind, after=after)
        return say("outline.then", kind=kind, then=then) if then else kind

    def _leaf_kind(self, key: str) -> str:
        weights = self.groups.weights_of([key])
        if not key or key.endswith(".") or not weights:
            return self.graph.modules[0].kind if self.graph.modules else ""
        is_own = weights[0].module_id is not None
        return say("outline.parameter") if is_own else say("outline.leaf")

    def _few(self, nodes: list[int]) -> list[str]:
        names = list(dict.fromkeys(_function(self.finished.names[k]) for k in nodes))
        return names if len(names) <= FUNCTIONS else [*names[: FUNCTIONS - 1], "…"]

    def _nodes_told(self, nodes: list[int]) -> str:
        kinds = Counter(self.finished.names[k] for k in nodes)
        told = [say("card.times", what=kind, n=n) for kind, n in kinds.most_common(LISTED)]
        if len(kinds) > LISTED:
            told.append("…")
        return say("outline.nodes_told", n=len(nodes), kinds=told)

    # --- states -----------------------------------------------------------------------------------

    def _state_rows(self, group: Group) -> list[Row]:
        """Tell how many parameters of a group can be reached."""
        weights = self.groups.weights_of(group.keys)
        rows = self._counts(weights, self._tied(group.keys))
        if group.is_range and rows:
            n = len(group.keys)
            reached = sum(w.fate is Fate.REACHED for w in weights) // n
            each = sum(w.fate is not Fate.FROZEN for w in weights) // n
            right = say("outline.reached_each", n=reached, total=each)
            rows[0] = rows[0]._replace(right=right)
        return rows

    def _counts(self, weights: list[Weight], tied: list[str] | None = None) -> list[Row]:
        n = Counter(weight.fate for weight in weights)
        reached, frozen = n[Fate.REACHED], n[Fate.FROZEN]
        total = len(weights) - frozen
        rows = []
        if n[Fate.UNREACHED]:
            lost = [_last(w.name) for w in weights if w.fate is Fate.UNREACHED]
            if reached:
                text = say("outline.unreached", n=len(lost), total=total, names=lost)
                short = say("outline.unreached_short", n=len(lost), total=total)
                span = Span(text, shorter=(short,))
            else:
                span = Span(say("outline.reached_none", total=total))
            rows.append(Row(Tone.LOST, (span,), "", Rail.NONE))
        if reached:
            text = say("param_count.reached", n=reached, total=total)
            if tied and len(tied) == total:
                text = say("outline.reached_tied", n=reached, total=total, names=tied)
            elif frozen:
                text = say("outline.reached_and_frozen", n=reached, total=total, frozen=frozen)
            short = say("outline.reached_short", n=reached, total=total)
            rows.append(Row(Tone.CAN, (Span(text, shorter=(short,)),), "", Rail.CAN))
        elif frozen:
            rows.append(Row(Tone.FROZEN, (Span(say("outline.frozen", n=frozen)),)))
        return rows

    def _tied(self, keys: list[str]) -> list[str]:
        """List the first names of the parameters that stand below these paths by another name."""
        return [
            self.short(self.groups.by_name[name].name)
            for name in self.groups.names_of(keys)
            if self.groups.by_name[name].name != name
        ]

    def _children(self, place: int, group: Group) -> list[str]:
        """List the modules below a card's that get a row each: where something ends or some cannot
        be reached, and where there is room."""
        if group.is_side:
            return group.keys
        if len(group.keys) != 1 or group.members:
            return []
        children = self.groups.children(group.keys[0])
        if len(children) < 2 or not any(map(self.groups.kind, children)):
            return []
        happens = self._is_end(place, group) or self.groups.is_uneven(group.keys[0])
        return children if happens or place in self._roomy else []

    @cached_property
    def _roomy(self) -> set[int]:
        """The cards of closed modules that have room for rows, largest first."""
        room = ROOM - 3 * self.n_cards
        found = set()
        sizes = [(self._size(k), k) for k in range(self.n_cards - 1)]
        for _, k in sorted(sizes, reverse=True):
            group = self.groups.all[k]
            children = self.groups.children(group.keys[0]) if len(group.keys) == 1 else []
            n = len(children) if any(map(self.groups.kind, children)) else 0
            if 1 < n <= room:
                found.add(k)
                room -= n
        return found

    def _member_rows(self, children: list[str]) -> list[Row]:
        rows = []
        for run in self._alike(children):
            weights = self.groups.weights_of(run)
            frozen = sum(w.fate is Fate.FROZEN for w in weights)
            reached = sum(w.fate is Fate.REACHED for w in weights)
            total = len(weights) - frozen
            name = self._range_name([_last(path) for path in run]) if run[1:] else _last(run[0])
            kind = self.groups.kind(run[0])
            grey = say("outline.times_kind", n=len(run), kind=kind) if run[1:] else kind
            left = (Span(visible(name, NAME), "name"), Span(grey, "grey"))
            if not total:
                rows.append(Row(Tone.FROZEN, left, say("outline.all_frozen")))
                continue
            right = say("outline.count", n=reached, total=total)
            if reached:
                rows.append(Row(Tone.CAN, left, right, Rail.CAN))
            else:
                left = (left[0]._replace(text=f"✗ {left[0].text}"), left[1])
                rows.append(Row(Tone.LOST, left, right, Rail.NONE))
        return rows

    def _alike(self, paths: list[str]) -> list[list[str]]:
        """Join neighbours of one list, class and state."""

        def look(path: str) -> object:
            around, _, name = path.rpartition(".")
            alone = "" if name.isdigit() else name
            shapes = tuple(w.shape for w in self.groups.weights_of([path]))
            fates = tuple(w.fate for w in self.groups.weights_of([path]))
            return around, alone, self.groups.kind(path), shapes, fates

        return [list(run) for _, run in groupby(paths, key=look)]

    # --- where the graph ends ---------------------------------------------------------------------

    def _is_end(self, place: int, group: Group) -> bool:
        """Say whether a card is where the graph ends: its input leads nowhere, though parameters
        that come before its own cannot be reached."""
        if not self.groups.ends(group) or self.above(place):
            return False
        names = self.groups.names_of(group.keys)
        first = min(map(self._number, names), default=0)
        return any(self._number(w.name) < first for w in self.lost)

    def _number(self, name: str) -> int:
        return self._order.get(name, -1)

    @cached_property
    def _order(self) -> dict[str, int]:
        """The number of each parameter in module order, by each of its names."""
        order = {w.name: n for n, w in enumerate(self.finished.weights)}
        after = len(order)
        return {name: order.get(name, after) for name in self.groups.by_name}

    def _end_rows(self, place: int, group: Group) -> list[Row]:
        """Tell with which nodes the graph ends in a card, and which sums have one operand that
        leads nowhere: a number may have been added, or something that is not tracked."""
        rows = []
        is_end = self._is_end(place, group)
        if is_end:
            node = self.groups.ends(group)[0]
            name = self._module_of(node, group)
            text = say("outline.graph_ends", name=name)
            short = say("outline.graph_ends_short", name=name)
            rows.append(Row(Tone.LOST, (Span(text, shorter=(short,)),)))
            text = say("outline.no_next", node=self.finished.names[node])
            short = say("outline.no_next_short", node=self.finished.names[node])
            rows.append(Row(Tone.GRAD_FN, (Span(text, shorter=(short,)),)))
        if is_end or self._is_uneven(group) or self._differs(group):
            names = dict.fromkeys(self.finished.names[k] for k in self._half_sums(group))
            for name in list(names)[:CONSTANTS]:
                text = say("outline.half_sum", node=name)
                short = say("outline.half_sum_short", node=name)
                rows.append(Row(Tone.GRAD_FN, (Span(text, shorter=(short,)),)))
        return rows

    def _is_uneven(self, group: Group) -> bool:
        return any(self.groups.is_uneven(key) for key in group.keys)

    def _module_of(self, node: int, group: Group) -> str:
        """Return the name of the module that a node ran in, below the group's."""
        path = self.finished.anchors[node].rpartition(".")[0]
        for key in group.keys:
            if path.startswith(f"{key}."):
                return path.removeprefix(f"{key}.")
        return self.short(path) if path else self.short(self.finished.anchors[node])

    def _half_sums(self, group: Group) -> list[int]:
        """List the sums with one operand that no twin of the group has."""
        found = self.groups.half_sums(group)
        twins = [t for t in self._twins(group) if len(self.groups.half_sums(t)) < len(found)]
        return found if twins or not self._twins(group) else []

    def _differs(self, group: Group) -> bool:
        """Say whether a twin of the group has fewer sums with one operand."""
        return bool(self._twins(group)) and bool(self._half_sums(group))

    def _twins(self, group: Group) -> list[Group]:
        """List the groups of modules of the same class, in the same list."""
        if len(group.keys) != 1:
            return []
        around = group.keys[0].rpartition(".")[0]
        kind = self.groups.kind(group.keys[0])
        return [
            one
            for whole in self.groups.all
            for one in (whole.members or [whole])
            if one is not group
            and len(one.keys) == 1
            and kind
            and self.groups.kind(one.keys[0]) == kind
            and one.keys[0].rpartition(".")[0] == around
        ]

    def _said(self, place: int, drawn: list[Pair]) -> list[Row]:
        """Tell of the links that are not drawn, in both cards."""
        rows = []
        shown = {*drawn}
        for tail, head in self.links:
            if (tail, head) in shown or place not in (tail, head):
                continue
            if place == head:
                text = say("outline.skip", name=self._name_of(tail))
            else:
                text = say("outline.also_goes", name=self._name_of(head))
            rows.append(Row(Tone.SAID, (Span(text),)))
        return rows

    def _name_of(self, place: int) -> str:
        if place == len(self.groups.all):
            return self.result_name()
        return self._title(self.groups.all[place]).left[0].text

    # --- the result -------------------------------------------------------------------------------

    def result_name(self) -> str:
        """Return the names of what the graph was asked for."""
        names = [self.graph.tensor[i].name or "" for i in self.graph.roots]
        return ", ".join(name for name in names if name) or say("outline.result")

    def _result(self, place: int, drawn: list[Pair]) -> Card:
        roots = [self.graph.tensor[i] for i in self.graph.roots]
        last = roots[0] if len(roots) == 1 else None
        right = (last.values or _shape(last.shape)) if last else ""
        functions = self._few(self.groups.last[-FUNCTIONS:])
        rows = [self._titled(self.result_name(), ", ".join(functions), right)]
        rows += self._said(place, drawn)
        for root in roots[:LOST_ROWS]:
            edge = root.gradient_edge
            node = self.graph.node.get(edge.node_id) if edge else None
            if node is None:
                rows.append(Row(Tone.LOST, (Span(say("outline.no_grad_fn")),), "", Rail.NONE))
            else:
                rows.append(Row(Tone.GRAD_FN, (Span(say("outline.begins", node=node.name)),)))
        tracked = bool(self._root_nodes)
        rail = Rail.CAN if tracked else Rail.NO
        rows = [r._replace(rail=rail) if r.rail is Rail.NO else r for r in rows]
        return Card(place, tracked, tuple(rows), detail=self._nodes_told(self.groups.last))

    # --- what is not in the graph -----------------------------------------------------------------

    def _outside(self, first: int) -> tuple[list[Card], tuple[Frame, ...]]:
        """Return the cards of the modules that no parameter of can be reached, and their frame."""
        runs = self._absent()
        if not runs:
            return [], ()
        if len(runs) <= BESIDE:
            cards = [self._absent_card(first + n, run) for n, run in enumerate(runs)]
        else:
            cards = [self._absent_rows(first, runs)]
        question = say("outline.no_edge_up") if self.lost else ""
        label = (say("outline.not_in_graph") if self.lost else say("outline.frozen_only"),)
        members = tuple(card.id for card in cards)
        return cards, (Frame("outside", label, members, question),)

    @cached_property
    def absent_cards(self) -> dict[str, int]:
        """The card of each closed module that is not in the graph."""
        runs = self._absent()
        one_each = len(runs) <= BESIDE
        return {key: self.n_cards + n * one_each for n, run in enumerate(runs) for key in run}

    def _absent(self) -> list[list[str]]:
        """List the closed modules that have no card though some of their parameters cannot be
        reached, or all are frozen; equal neighbours together."""
        keys: dict[str, None] = {}
        for weight in self.finished.weights:
            if weight.fate is not Fate.REACHED and weight.name:
                keys[self.groups.key(weight.name, self.groups.open)] = None
        shown = {key for group in self.groups.all for key in group.keys}
        without_card = [key for key in keys if key not in shown]
        return self._alike([key for key in without_card if self._is_absent(key)])

    def _is_absent(self, key: str) -> bool:
        fates = self.groups.fates(key)
        return Fate.UNREACHED in fates or Fate.REACHED not in fates

    def _absent_card(self, place: int, run: list[str]) -> Card:
        name = self._range_name(run) if run[1:] else self.short(run[0])
        kind = self.groups.kind(run[0])
        grey = say("outline.times_kind", n=len(run), kind=kind) if run[1:] else kind
        rows = [self._titled(name, grey), *self._counts(self.groups.weights_of(run))]
        if run[1:]:
            total = len(self.groups.weights_of(run[:1]))
            whole = {w.fate for w in self.groups.weights_of(run)} == {Fate.UNREACHED}
            right = say("outline.none_each", total=total) if whole else ""
            rows[1] = rows[1]._replace(right=right)
        rows[0] = rows[0]._replace(rail=rows[1].rail)
        return Card(place, True, tuple(rows), narrow=True)

    def _absent_rows(self, place: int, runs: list[list[str]]) -> Card:
        modules = sum(len(run) for run in runs)
        lost = [w for run in runs for w in self.groups.weights_of(run)]
        title = self._titled(say("outline.modules", n=modules), "")
        rows = [title._replace(left=(Span(title.left[0].text, "grey"),))]
        rows += self._counts(lost)
        shown = runs if len(runs) <= LOST_ROWS else runs[: LOST_ROWS - 1]
        rows += map(self._absent_row, shown)
        if len(shown) < len(runs):
            more = say("outline.more_modules", n=modules - sum(len(run) for run in shown))
            rows.append(Row(Tone.NOTHING, (Span(more),)))
        rail = Rail.NONE if self.lost else Rail.NO
        rows[0] = rows[0]._replace(rail=rail)
        return Card(place, True, tuple(rows))

    def _absent_row(self, run: list[str]) -> Row:
        name = self._range_name(run) if run[1:] else self.short(run[0])
        kind = self.groups.kind(run[0])
        weights = self.groups.weights_of(run)
        total = sum(w.fate is not Fate.FROZEN for w in weights)
        grey = Span(say("outline.times_kind", n=len(run), kind=kind) if run[1:] else kind, "grey")
        if not total:
            left = Span(visible(name, NAME), "name")
            return Row(Tone.FROZEN, (left, grey), say("outline.all_frozen"))
        reached = sum(w.fate is Fate.REACHED for w in weights)
        right = say("outline.count", n=reached, total=total)
        left = Span(visible(f"✗ {name}", NAME), "name")
        return Row(Tone.LOST, (left, grey), right, Rail.NONE)

    # --- headline ---------------------------------------------------------------------------------

    def _headline(self) -> Headline:
        weights = [w for w in self.finished.weights if w.module_id is not None]
        name = self.result_name()
        n = Counter(w.fate for w in weights)
        total, others = len(weights), len(self.finished.weights) - len(weights)
        if not total and not others:
            return Headline(say("outline.no_leaves"))
        if not total:
            return Headline(say("outline.leaves_reached", n=others, name=name))
        if n[Fate.REACHED] == total:
            title = say("outline.all_reached", total=total, name=name)
        else:
            parts = [say("outline.part_reached", n=n[Fate.REACHED], name=name)]
            if self.lost and self.finished.is_whole:
                parts.append(say("outline.part_unreached", n=len(self.lost)))
            elif self.lost:
                parts.append(say("outline.part_not_found", n=len(self.lost)))
            if n[Fate.FROZEN]:
                parts.append(say("outline.part_frozen", n=n[Fate.FROZEN]))
            if others:
                parts.append(say("outline.part_leaves", n=others))
            title = say("outline.parameters", total=total, parts=parts)
        strip = self._strip() if len(n) > 1 else ()
        return Headline(title, tuple(self._why()), strip)

    def _why(self) -> Iterable[tuple[Span, ...]]:
        """Say that the reason is not known, and how to know."""
        if not self.lost:
            return
        if not self.finished.is_whole:
            yield (Span(say("outline.read_in_part", n=len(self.finished.ids))),)
        if self.finished.hides_parameters:
            yield (Span(say("outline.hidden_in_checkpoint"), "strong"),)
        yield (
            Span(say("outline.why_unknown"), "strong"),
            Span(say("outline.no_trace")),
            Span("%%gradviz", "name"),
            Span(say("outline.or")),
            Span("gv.record()", "name"),
            Span(say("outline.shows_line")),
        )

    def _strip(self) -> tuple[Part, ...]:
        """Return all parameters in module order, a mark after those that cannot be reached."""
        rails = {Fate.REACHED: Rail.CAN, Fate.FROZEN: Rail.PASSES, Fate.UNREACHED: Rail.NONE}
        found = []
        own = [w for w in self.finished.weights if w.module_id is not None]
        for rail, run in groupby(rails[w.fate] for w in own):
            found.append(Part(rail, len(list(run))))
            if rail is Rail.NONE:
                found.append(Part(None))
        return tuple(found)


def _last(path: str) -> str:
    """Return the last name of a path, with the list that it stands in.

    >>> _last("encoder.layers.3"), _last("encoder.norm")
    ('layers.3', 'norm')
    """
    around, _, name = path.rpartition(".")
    return f"{around.rpartition('.')[2]}.{name}" if name.isdigit() and around else name


def _function(node: str) -> str:
    """Return the function that a node is of.

    >>> _function("NllLossBackward0"), _function("MyFunctionBackward")
    ('NllLoss', 'MyFunction')
    """
    return node.rstrip("0123456789").removesuffix("Backward") or node


def _shape(shape: tuple[int, ...] | None) -> str:
    return "" if shape is None else "[" + ", ".join(map(str, shape)) + "]"
