"""What a loss sends to the leaves that another is to train. Knows no torch."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Set
from enum import Enum, auto
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from gradviz.graph.facts import Facts, code_of, site_of
from gradviz.graph.flow import Flow
from gradviz.graph.records import Backward, Call, Graph, Tensor
from gradviz.why.evidence.handed_on import named_before
from gradviz.why.evidence.paths import taken_away
from gradviz.why.rules.many import pattern
from gradviz.words.words import Words

# nodes that multiply, by how their names begin
PRODUCTS = ("MulBackward", "DivBackward", "DotBackward", "MvBackward")
SAMPLING = {"multinomial", "bernoulli", "normal", "poisson", "binomial", "_standard_gamma"}
# what gives the probability of a sample
CHOOSING = {"gather", "__getitem__", "index_select", "take_along_dim", "nll_loss", "cross_entropy"}
CHOOSING |= {"binary_cross_entropy", "binary_cross_entropy_with_logits"}


class Fate(Enum):
    """What became of a gradient."""

    KEPT = auto()
    CLEARED = auto()
    USED = auto()  # by a step


class Extra(NamedTuple):
    """A gradient that a loss sends besides the one that another loss is to train with.

    Attributes:
        form: "factor", "weight" or "added": which of these it is.
        loss: the state of the loss that sends it.
        leaves: the leaves to which it goes.
        calls: where it happens.
        others: names of what that loss trains besides.
        other: name of the other loss, "" where none is known.
        factor: name of the factor through which it goes.
        code: the product in the code.
        behind: names of what a third loss trains, too, of what this one trains besides.
        third: name of that loss, "" where there is none.
    """

    form: str
    loss: int
    leaves: list[Tensor]
    calls: list[Call]
    others: str
    other: str = ""
    factor: str = ""
    code: str = ""
    behind: str = ""
    third: str = ""


class Product(NamedTuple):
    """A product in a loss of which both factors are tracked, and each leads to leaves of its own:
    the states of the factors, and the leaves that only each of them leads to, by object id."""

    call: Call
    factor: Tensor
    other: Tensor
    own: dict[int, Tensor]
    others: dict[int, Tensor]


class Extras:
    """What losses send to the leaves of others.

    NOTE [what is meant] That two losses train one parameter is usual: a shared trunk, or a network
    through which a gradient has to go (a generator's through the discriminator). Told is only a
    factor that multiplies what leads to other parameters, where something says that it was to be
    a number: it weighs the log-probability of what was sampled, or another loss trains what it was
    made from, and another optimizer the rest. And a gradient that was added to another loss's
    before a step had used that one, by a loss that only went through these parameters.

    Args:
        graph: of a recording.
        losses: the states that may be losses.
        held: of each known optimizer the objects that it holds.
    """

    def __init__(self, graph: Graph, losses: list[int], held: list[set[int]]) -> None:
        self.graph, self.facts, self.words = graph, Facts.of(graph), Words(graph)
        self.losses, self.held = losses, held

    def found(self) -> Iterator[Extra]:
        """Yield what may not be meant, the surest first."""
        for loss in self.losses:
            for product in self.products(loss):
                extra = self.of_sample(loss, product) or self.of_another(loss, product)
                if extra is not None and not self.is_cleared(loss, extra.leaves):
                    yield extra
        yield from (extra for extra in self.added() if self.held)

    def leaves(self, tensor_id: int) -> dict[int, Tensor]:
        """Return the leaves that a gradient from a state reaches, by object id."""
        return {t.object_id: t for t in self.facts.leaves_reached(tensor_id)}

    # --- a factor that has a gradient of its own --------------------------------------------------

    def products(self, loss: int) -> Iterator[Product]:
        """Yield the products in a loss, either factor first."""
        for node_id in sorted(Flow(self.graph, [loss]).nodes):
            call = self.graph.call.get(self.graph.node[node_id].call_id)
            if call is None or not self.graph.node[node_id].name.startswith(PRODUCTS):
                continue
            tracked = [self.graph.tensor[i] for i in dict.fromkeys(call.inputs)]
            tracked = [t for t in tracked if t.requires_grad]
            if len(tracked) != 2:
                continue
            first, second = (self.leaves(t.id) for t in tracked)
            own = {i: t for i, t in first.items() if i not in second}
            others = {i: t for i, t in second.items() if i not in first}
            if own and others:
                yield Product(call, tracked[0], tracked[1], own, others)
                yield Product(call, tracked[1], tracked[0], others, own)

    def of_sample(self, loss: int, product: Product) -> Extra | None:
        """Tell of a factor that weighs the log-probability of what was sampled."""
        of_others = self.leaves(product.other.id).keys()
        for weights, probabilities in self.sampled:
            drawn = product.other.id in probabilities and not weights.isdisjoint(of_others)
            if drawn and weights.isdisjoint(product.own):
                return self.through("weight", loss, product)
        return None

    @cached_property
    def sampled(self) -> list[tuple[set[int], set[int]]]:
        """Of each line that samples: the leaves of the distribution, by object id, and the states
        that were computed from what it gave and from tracked probabilities."""
        by_site: dict[object, list[Call]] = {}
        for call in self.facts.ordinary_calls:
            if call.function in SAMPLING:
                by_site.setdefault(site_of(call) or call.id, []).append(call)
        found = []
        for calls in by_site.values():
            behind = self.facts.ancestors(i for i in calls[0].inputs)
            tensors = [self.graph.tensor[i] for i in behind]
            weights = {t.object_id for t in tensors if t.is_leaf and t.requires_grad}
            if weights:
                found.append((weights, self.probabilities({i for c in calls for i in c.outputs})))
        return found

    def probabilities(self, samples: set[int]) -> set[int]:
        """Return the states of the probabilities of samples, and what was computed from these
        without a parameter."""
        tensor, found = self.graph.tensor, set[int]()
        for call in self.facts.ordinary_calls:
            inputs = [tensor[i] for i in call.inputs]
            if any(t.is_leaf and t.requires_grad for t in inputs):
                continue
            if not found.isdisjoint(call.inputs):
                found |= {i for i in call.outputs if tensor[i].requires_grad}
            elif not samples.isdisjoint(call.inputs):
                tracked = {i for i in call.outputs if tensor[i].requires_grad}
                samples = samples | ({*call.outputs} - tracked)
                if call.function in CHOOSING or "log_prob" in code_of(call):
                    found |= tracked
        return found

    def of_another(self, loss: int, product: Product) -> Extra | None:
        """Tell of a factor made from what another loss trains, where another optimizer has the
        rest."""
        own, others = product.own.keys(), product.others.keys()
        apart = any(held & others and held.isdisjoint(own) for held in self.held)
        for other in self.trained_by if apart else ():
            reached = self.leaves(other).keys()
            is_sent = reached & own and reached.isdisjoint(others)
            if is_sent and not self.is_same_loss(loss, other):
                return self.through("factor", loss, product, self.words.name(other))
        return None

    def is_same_loss(self, loss: int, other: int) -> bool:
        """Say whether two states are one loss of several iterations: one line made both, and gave
        them one name."""
        if self.graph.tensor[loss].code_name != self.graph.tensor[other].code_name:
            return False
        made = [self.facts.maker.get(i) for i in (loss, other)]
        return loss == other or len({call and site_of(call) for call in made}) == 1

    @cached_property
    def trained_by(self) -> list[int]:
        """The states that may be losses, without numbers that are only looked at: without a name,
        and no backward went through them."""
        ran, tensor = {*self.facts.in_losses, *self.facts.losses}, self.graph.tensor
        return [i for i in self.losses if i in ran or tensor[i].code_name]

    def through(self, form: str, loss: int, product: Product, other: str = "") -> Extra:
        """Return what is told of a product."""
        factor = self.graph.tensor[named_before(self.facts, product.factor.id)]
        calls = [self.facts.maker.get(factor.id), product.call]
        return Extra(
            form,
            loss,
            list(product.own.values()),
            [c for c in calls if c],
            self.names(product.others.values()),
            other,
            self.words.name(factor.id),
            self.words.code(product.call),
        )

    def names(self, leaves: Iterable[Tensor]) -> str:
        """Return one name for some leaves, or as few as they have."""
        return pattern(list(dict.fromkeys(self.words.name(t.id) for t in leaves)))

    # --- what became of it ------------------------------------------------------------------------

    def runs_of(self, loss: int) -> list[Backward]:
        """Return the backwards that a loss was given to."""
        edge = self.graph.tensor[loss].gradient_edge
        return [b for b in self.graph.backwards if edge and edge.node_id in b.roots]

    def is_cleared(self, loss: int, leaves: list[Tensor]) -> bool:
        """Say whether no backward of this loss brought a gradient that is there or was used."""
        runs = [b for b in self.runs_of(loss) if b.kind == "backward"]
        fates = {self.fate(run.call_id, leaf) for run in runs for leaf in leaves}
        return not fates or Fate.CLEARED in fates

    def fate(self, call_id: int, leaf: Tensor, end: float = math.inf) -> Fate:
        """Say what happened first to the gradient of a leaf between two calls."""
        for write in self.facts.writes_by_object.get(leaf.object_id, ()):
            if not call_id < write.call_id < end:
                continue
            before, after = self.graph.tensor[write.before_id], self.graph.tensor[write.after_id]
            if before.grad is not None and taken_away(before.grad, after.grad):
                return Fate.CLEARED
            stepped = self.graph.call[write.call_id].bookkeeping or before.grad == after.grad
            if stepped and (before.version != after.version or before.values != after.values):
                return Fate.USED
        return Fate.KEPT

    # --- a gradient that was added to another loss's ----------------------------------------------

    def added(self) -> Iterator[Extra]:
        """Tell of gradients that a loss only sent through, and that were added to another's."""
        runs = [b for b in self.graph.backwards if b.kind == "backward"]
        runs = [b for b in runs if self.graph.call[b.call_id].inputs]
        for first, second in pairwise(runs):
            calls = [self.graph.call[first.call_id], self.graph.call[second.call_id]]
            mine, passing = calls[0].inputs[0], calls[1].inputs[0]
            own, met = self.leaves(mine), self.leaves(passing)
            if not self.is_part(own.keys(), met.keys()):
                continue
            behind = set(filter(self.is_to_learn, met.keys() - own.keys()))
            kept = [t for t in own.values() if behind and self.is_added(first, second, t)]
            if not kept or not self.leads_through(passing, set(own), behind):
                continue
            read = self.calls_reading(own, second)
            taught = [met[i] for i in sorted(behind)]
            third, shared = self.added_to(second, taught)
            yield Extra(
                "added",
                passing,
                kept,
                [*read, *calls],
                others=self.names(taught),
                other=self.words.name(mine),
                factor=self.graph.tensor[read[0].inputs[0]].code_name if read else "",
                behind=self.names(shared),
                third=self.words.name(third) if third is not None else "",
            )

    def added_to(self, run: Backward, leaves: list[Tensor]) -> tuple[int | None, list[Tensor]]:
        """Return the loss of a later backward that added to what one had brought to some leaves,
        and those leaves; None where no other did so."""
        for later in (b for b in self.graph.backwards if b.call_id > run.call_id):
            start = self.graph.call[later.call_id].inputs[:1]
            reached = self.leaves(start[0]) if start else {}
            shared = [t for t in leaves if t.object_id in reached and self.is_added(run, later, t)]
            if shared and later.kind == "backward":
                return start[0], shared
        return None, []

    def is_to_learn(self, leaf: int) -> bool:
        """Say whether an optimizer holds a leaf; where none is known, any may be to learn."""
        return not self.held or any(leaf in held for held in self.held)

    def is_part(self, own: Set[int], met: Set[int]) -> bool:
        """Say whether one loss trains a part of what another does, and an optimizer of its own
        has that part, as far as any is known."""
        if not own or not own < met:
            return False
        apart = [held for held in self.held if held & own and held.isdisjoint(met - own)]
        together = [held for held in self.held if held & own and not held.isdisjoint(met - own)]
        return not together and (bool(apart) or not self.held)

    def is_added(self, first: Backward, second: Backward, leaf: Tensor) -> bool:
        """Say whether a leaf had the gradient of one backward when another brought one, and both
        were there until a step."""
        if second.watched and leaf.object_id not in self.sent_to(second):
            return False  # it was given other inputs=
        between = self.fate(first.call_id, leaf, second.call_id)
        return between is Fate.KEPT and self.fate(second.call_id, leaf) is not Fate.CLEARED

    def sent_to(self, run: Backward) -> set[int]:
        """Return the leaves in whose .grad a backward put something, by object id."""
        leaves = (self.graph.node[n].leaf_id for n in run.ran)
        return {self.graph.tensor[i].object_id for i in leaves if i is not None}

    def leads_through(self, loss: int, own: set[int], behind: Set[int]) -> bool:
        """Say whether a gradient comes to some leaves only through calls that use others."""
        accumulates = {self.facts.accumulate_node[i] for i in own}
        goal = {self.facts.accumulate_node[i] for i in behind}
        edge = self.graph.tensor[loss].gradient_edge
        seen, todo = set[int](), [edge.node_id] if edge else []
        while todo:
            node = todo.pop()
            nexts = {e.next_node_id for e in self.graph.edges_from.get(node, ())} - {None}
            if node in seen or any(self.is_one_of(n, accumulates) for n in nexts):
                continue
            seen.add(node)
            todo += [n for n in nexts if n is not None]
        return goal.isdisjoint(seen)

    def is_one_of(self, node_id: int | None, accumulates: set[int]) -> bool:
        """Say whether a node is the AccumulateGrad of a leaf, or a view of it."""
        if node_id in accumulates:
            return True
        edges = self.graph.edges_from.get(node_id, ())
        return len(edges) == 1 and edges[0].next_node_id in accumulates

    def calls_reading(self, own: dict[int, Tensor], run: Backward) -> list[Call]:
        """Return the first call of a backward's graph that uses a leaf."""
        nodes = self.facts.reachable(run.roots)
        made = {self.graph.node[n].call_id for n in nodes if n in self.graph.node}
        readers = (c for i in own for c in self.facts.readers.get(i, ()))
        return [c for c in readers if c.id in made][:1]
