"""What one loss is the sum of, and which parts of it are only numbers. Knows no torch."""

from __future__ import annotations

import math
from collections.abc import Iterator, Set
from typing import NamedTuple

from gradviz.graph.flow import Flow
from gradviz.graph.records import Call, Cut, Tensor
from gradviz.names.frames import names_bound
from gradviz.why.evidence.handed_on import LINEAR, TOGETHER, named_before
from gradviz.why.evidence.numbers_out import NumbersOut
from gradviz.why.evidence.paths import REMADE, Paths
from gradviz.words.words import Words

# a sum of what goes in; of these each summand may be a number instead of a tensor
SUMS = {"add", "add_", "sub", "sub_", "rsub", "__radd__", "__rsub__", "__iadd__", "__isub__"}


class Constant(NamedTuple):
    """A part of a loss that is a number to autograd.

    Attributes:
        name: what it is called.
        call: the call that added it, or made it.
        cuts: the cuts by which it lost its history.
        taken: the whole statement that took its number out of torch, where no call shows that.
    """

    name: str
    call: Call
    cuts: list[Cut]
    taken: Call | None = None


class Summands:
    """The parts that are added up to one loss, as far as calls show it."""

    def __init__(self, flow: Flow) -> None:
        self.flow, self.facts, self.graph = flow, flow.facts, flow.graph
        self.words = Words(flow.graph)
        self.paths = Paths(flow.graph, flow.losses)
        self.tracked: list[int] = []  # parts from which a gradient comes
        self.numbers: list[tuple[int, Call]] = []  # parts that ask for none, with what added them
        self.adding: list[Call] = []  # calls that add
        todo = list(flow.losses)
        while todo:
            todo += self.behind(todo.pop())

    def behind(self, tensor_id: int) -> list[int]:
        """Sort in the parts of a sum; return those that may be sums themselves."""
        maker = self.facts.maker.get(tensor_id)
        if maker is None or not self.is_sum(maker):
            self.tracked.append(tensor_id)
            return []
        inputs = [self.graph.tensor[i] for i in dict.fromkeys(maker.inputs)]
        tracked = [t for t in inputs if t.requires_grad]
        if maker.function not in SUMS | TOGETHER and len(tracked) != 1:
            self.tracked.append(tensor_id)  # a product of parts
            return []
        if maker.function in SUMS | TOGETHER:
            self.adding.append(maker)
            self.numbers += [(t.id, maker) for t in inputs if not t.requires_grad]
        return [t.id for t in tracked]

    def is_sum(self, call: Call) -> bool:
        """Say whether a call adds single numbers, scales one, or puts several together."""
        if call.function not in SUMS | LINEAR or not call.inputs:
            return False
        inputs = [self.graph.tensor[i] for i in call.inputs]
        return all(single(t) or self.is_put_together(t) for t in inputs)

    def is_put_together(self, tensor: Tensor) -> bool:
        """Say whether a tensor is several single numbers side by side."""
        maker = self.facts.maker.get(tensor.id)
        return maker is not None and maker.function in TOGETHER and self.is_sum(maker)

    def constants(self) -> Iterator[Constant]:
        """Yield the parts that were computed from what asks for gradients, and ask for none."""
        for tensor_id, call in self.numbers:
            cuts = self.nearest_cuts(tensor_id)
            if cuts and not self.replaces_a_value(tensor_id):
                named = named_before(self.facts, tensor_id)
                yield Constant(self.words.name(named), self.facts.maker.get(named, call), cuts)
        for call in self.adding:
            for cut, out in self.numbers_added(call):
                whole = out.source != self.graph.call[cut.call_id].source
                name = names_bound(out)[0] if whole else self.words.name(cut.input_id)
                yield Constant(name, call, [cut], out if whole else None)

    def new_leaves(self) -> Iterator[Constant]:
        """Yield the parts whose gradient ends in a tensor that was made of numbers after values
        which the rest of the loss trains had been let go of: ``torch.tensor(numbers,
        requires_grad=True)``."""
        for part in self.tracked if len(self.tracked) > 1 else ():
            leaves = self.facts.leaves_reached(part)
            makers = [self.facts.first_maker.get(leaf.object_id) for leaf in leaves]
            made = [call for call in makers if call is not None and call.function in REMADE]
            if leaves and len(made) == len(leaves):
                cuts = self.let_go_before(made[0], {leaf.object_id for leaf in leaves})
                named = named_before(self.facts, part)
                if cuts:
                    yield Constant(self.words.name(named), made[0], cuts)

    def let_go_before(self, made: Call, own: Set[int]) -> list[Cut]:
        """Return the cuts between the backward before and a call, of values of this loss that lead
        to other leaves, and whose results no call read."""
        begun = max((i for i in self.facts.backward_calls if i < made.id), default=-1)
        return [
            cut
            for cut in self.facts.real_cuts
            if begun < cut.call_id < made.id
            and begun < self.made_at(cut.input_id)
            and cut.output_id not in self.facts.read_ids
            and any(t.object_id not in own for t in self.facts.leaves_reached(cut.input_id))
            and (cut.output_id is None or cut.output_id not in self.flow.behind)
        ]

    def made_at(self, tensor_id: int) -> int:
        """Return the call that made a state; -1 where none did."""
        maker = self.facts.maker.get(tensor_id)
        return -1 if maker is None else maker.id

    def nearest_cuts(self, tensor_id: int) -> list[Cut]:
        """Return the cuts behind a part, behind which no other stands first."""
        cuts = self.flow.cuts_behind([tensor_id])
        ends = {c.output_id for c in cuts}
        near = self.facts.ancestors([tensor_id], stop=ends)
        return [c for c in cuts if c.output_id in near]

    def replaces_a_value(self, tensor_id: int) -> bool:
        """Say whether a part was made of another one: ``a + (b - a).detach()`` has the value of b
        and the gradient of a."""
        behind = self.facts.ancestors([tensor_id])
        return not behind.isdisjoint(self.tracked)

    def numbers_added(self, call: Call) -> list[tuple[Cut, Call]]:
        """Return the cuts by which a number left torch that a call adds, each with the call that
        gave it: ``a + b.item()``."""
        if call.function not in SUMS or len(call.inputs) != 1:
            return []
        # the first that uses it: a * b.item() + 1 scales by it
        return [
            (cut, out)
            for cut, out in NumbersOut.of(self.facts).used_by.get(call.id, ())
            if self.paths.reader_of(out) == call
        ]


def single(tensor: Tensor) -> bool:
    """Say whether a tensor is a single number."""
    return tensor.shape is not None and math.prod(tensor.shape) == 1
