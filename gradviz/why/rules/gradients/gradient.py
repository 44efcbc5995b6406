"""Why is this ``.grad`` None, zero or unchanged: from a graph and the flags of the tensor. Knows no
torch.

What may be said of a way that is not there: NOTE [what is proven] in ``graph/flow.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import takewhile

from gradviz.graph.findings import Cause
from gradviz.graph.flow import Flow
from gradviz.graph.preview import unread
from gradviz.graph.records import Call, Cut, Graph, Node, NodeKind, SavedState, Tensor
from gradviz.graph.training import Did, Training
from gradviz.names.statements import Statements
from gradviz.why.evidence.doubts import unspent
from gradviz.why.evidence.paths import Asked
from gradviz.why.evidence.summands import Summands
from gradviz.why.rules.gradients.zeros import Zeros
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import say


class Gradients(Zeros):
    """What is proven of the gradients of one graph; each rule is asked about one tensor.

    Args:
        graph, losses, zeros, still: see ``Paths``.
        training: what the recorded steps did with gradients; left out, what the graph alone shows.
        statements: the code that ran; left out, none of it is read.
    """

    def __init__(
        self,
        graph: Graph,
        losses: Sequence[int] = (),
        zeros: Iterable[int] = (),
        still: Iterable[int] = (),
        training: Training | None = None,
        statements: Statements | None = None,
    ) -> None:
        super().__init__(graph, losses, zeros, still)
        self.training = training or Training(self.facts, {})
        self.statements = statements

    def filling(self, asked: Asked) -> Gradients:
        """Ask of those backwards alone that could fill its .grad."""
        return self.since_cleared(asked) or self.of_backwards(asked) or self

    def since_cleared(self, asked: Asked) -> Gradients | None:
        """Ask of the backwards after the call that cleared its .grad, where no loss was given:
        only these could fill it since."""
        if self.given or not (cleared := self.cleared(asked)):
            return None
        later = [
            self.graph.call[b.call_id] for b in self.graph.backwards if b.call_id > cleared[0].id
        ]
        losses = [i for call in later for i in call.inputs[:1]]
        return self._of_losses(losses) if later else None

    def of_backwards(self, asked: Asked) -> Gradients | None:
        """Ask of the losses of backward() alone, where no loss was given and one of them is made of
        what autograd.grad derived: autograd.grad fills no .grad."""
        call = self.graph.call
        kinds = {
            kind: [call[b.call_id] for b in self.graph.backwards if b.kind == kind]
            for kind in ("grad", "backward")
        }
        losses = [i for made in kinds["backward"] for i in made.inputs[:1]]
        if self.given or asked.grad != "none" or not losses or not kinds["grad"]:
            return None
        behind = self.facts.ancestors(losses)
        derived = {i for made in kinds["grad"] for i in made.outputs}
        if derived.isdisjoint(behind):
            return None
        return self._of_losses(losses)

    def _of_losses(self, losses: Sequence[int]) -> Gradients:
        """Ask the same of some losses alone."""
        return Gradients(self.graph, losses, self.zeros, self.still, self.training, self.statements)

    def custom_above(self, asked: Asked) -> list[Node]:
        """Return the custom Functions from whose backward its gradient comes."""
        nodes = (self.graph.node.get(i) for i in self.above(asked))
        return [n for n in nodes if n is not None and n.kind is NodeKind.CUSTOM_FUNCTION]

    # --- it asks for no gradient ------------------------------------------------------------------

    def calls_of_cuts(self, cuts: list[Cut]) -> list[Call]:
        """Return the calls that cut."""
        return [self.graph.call[c.call_id] for c in cuts]

    # --- no path leads to it ----------------------------------------------------------------------

    @cached_property
    def cuts_of_constants(self) -> list[Cut]:
        """The cuts that leave a summand of a loss without any gradient."""
        parts = (p for i in self.losses for p in Summands(Flow(self.graph, [i])).constants())
        return [cut for part in parts for cut in part.cuts]

    def unreached(self, asked: Asked) -> bool:
        """Say whether no path leads from the loss to it."""
        return bool(self.losses) and asked.requires_grad and not self.reaches(asked)

    def cut_off(self, asked: Asked) -> bool:
        """Say whether a recording proves that no path leads from the loss to it."""
        return self.recorded and self.unreached(asked)

    def is_whole_for(self, asked: Asked) -> bool:
        """Say whether the recording shows all that leads from a tensor to a loss: nothing of the
        loss is older than the recording, and no value of it went there."""
        behind = self.flow.behind
        return self.flow.is_whole and all(t.id not in behind for t in self.states(asked))

    def should_be_filled(self, asked: Asked) -> bool:
        """Say whether no path leads to it, though its .grad would be kept."""
        return (asked.is_leaf or asked.retains_grad) and self.cut_off(asked)

    def readers(self, asked: Asked) -> list[Call]:
        """Return the calls that read it before the loss was made, as far as they computed with
        it."""
        states = self.states(asked)
        calls = self.facts.readers.get(states[-1].object_id, []) if states else []
        before = [c for c in calls if c.id <= self.flow.made_by]
        if states and states[-1].object_id in self.facts.of_modules:
            return [c for c in before if not self.only_looks(c)]
        return before

    def only_looks(self, call: Call) -> bool:
        """Say whether a call that reads a parameter of a module that ran is a log, a snapshot or an
        average: it stands outside of modules, what it made is no part of the loss, and no module
        computes with that."""
        wrote = (e.after_id for e in self.facts.writes_by_call.get(call.id, ()))
        is_outside = call.module_call is None
        if not is_outside or not self.flow.behind.isdisjoint((*call.outputs, *wrote)):
            return False
        made = (i for output in call.outputs for i in self.flow.connected(output))
        readers = (c for i in made for c in self.facts.calls_reading.get(i, ()))
        return all(c.module_call is None for c in readers)

    @cached_property
    def fresh(self) -> list[Tensor]:
        """Trained leaves in the loss as they were met first, those apart that a call made or a
        module holds."""
        objects = {
            self.graph.tensor[i].object_id: i for i in sorted(self.flow.behind, reverse=True)
        }
        met_first = (self.facts.states[object_id][0] for object_id in objects)
        leaves = [t for t in met_first if t.is_leaf and t.requires_grad]
        return [t for t in leaves if t.id not in self.facts.maker and "." not in (t.name or "")]

    # --- it would get a gradient, and none has come -----------------------------------------------

    def reached(self, asked: Asked) -> bool:
        """Say whether a path leads from the loss to it."""
        return bool(self.losses) and self.reaches(asked)

    @cached_property
    def unspent(self) -> str:
        """Why it is not known whether a backward from the loss can run; "" where nothing speaks
        against it."""
        return "" if self.spent else unspent(self.graph, self.roots)

    @cached_property
    def spent(self) -> str:
        """Why another backward from the loss would raise; "" where nothing says so."""
        if self.used_up:
            return say("gradient.used_up", loss=self.loss)
        if self.holder_of_written is not None:
            return say("gradient.saved_written", node=self.holder_of_written.name)
        return ""

    @cached_property
    def used_up(self) -> bool:
        """Whether a backward freed what nodes of the loss had saved."""
        return self.first_holding(SavedState.FREED) is not None

    @cached_property
    def holder_of_written(self) -> Node | None:
        """A node of the loss that saved what was written in place since."""
        return self.first_holding(SavedState.STALE)

    def first_holding(self, state: SavedState) -> Node | None:
        """Return the first node of the loss, of which something saved is in this state."""
        nodes = (self.graph.node[i] for i in sorted(self.facts.reachable(self.roots)))
        return next((n for n in nodes if any(saved.state is state for saved in n.saved)), None)

    def cleared(self, asked: Asked) -> tuple[Call, str] | None:
        """Return the call that took away what the last backward had stored, and what that was; of
        a large one its values are not known, and the first of the calls that last wrote zeros tells
        it: those after it wrote zeros over zeros."""
        known = super().cleared(asked)
        states = self.states(asked)
        if known is not None or not states or states[-1].grad is None:
            return known
        before = states[-1].grad
        moments = self.training.moments.get(states[-1].object_id, ()) if unread(before) else ()
        clearing = list(takewhile(lambda m: m.did is Did.CLEARED, reversed(moments)))
        return (clearing[-1].call, before) if clearing else None

    def stepped(self, asked: Asked, cleared: Call) -> bool:
        """Say whether it was written, or given other values by its gradient, between the last
        backward, or the statement that set its .grad, and the call that cleared it."""
        moments = self.training.moments.get(self.states(asked)[-1].object_id, ())
        runs = [b.call_id for b in self.graph.backwards if b.kind == "backward"]
        given = [m.call.id for m in moments if m.anew]
        last = max((i for i in (*runs, *given) if i < cleared.id), default=-1)
        if any(m.did is Did.STEPPED and last < m.call.id < cleared.id for m in moments):
            return True
        pairs = [
            (self.graph.tensor[e.before_id], self.graph.tensor[e.after_id])
            for e in self.flow.writes_to(asked.tensor_id)
            if last < e.call_id < cleared.id
        ]
        return any(a.version != b.version or a.values != b.values for a, b in pairs)

    def filled_since(self, asked: Asked, cleared: Call) -> bool:
        """Say whether a backward may have brought it a gradient after this call cleared its
        .grad."""
        end = self.node_of(asked)
        if end is None:
            return False
        runs = [b for b in self.graph.backwards if b.kind == "backward"]
        return any(b.call_id >= cleared.id and end[0] in self.facts.may_have_run(b) for b in runs)

    def used_before(self, asked: Asked) -> Call | None:
        """Return the last backward of an earlier iteration of the same loss that brought it a
        gradient which a step used."""
        keys = {self.loss_key(i) for i in self.losses}
        states = self.states(asked)
        piles = self.training.sums_used.get(states[-1].object_id, ()) if states else ()
        calls = [m.call for pile in piles for m in pile.added]
        alike = [c for c in calls if c.inputs and self.loss_key(c.inputs[0]) in keys]
        return alike[-1] if alike else None

    def is_moved(self, asked: Asked) -> bool:
        """Say whether a step moved it with the gradient that a backward brought it."""
        states = self.states(asked)
        return bool(states) and bool(self.training.sums_used.get(states[-1].object_id))

    def set_to_none(self, asked: Asked) -> Call | None:
        """Return the line of the program's own that set a .grad of zeros to None, where no backward
        filled it since."""
        states = self.states(asked)
        moments = self.training.moments.get(states[-1].object_id, []) if states else []
        if [m.did for m in moments[-2:]] != [Did.CLEARED, Did.CLEARED]:
            return None
        call = moments[-1].call
        return call if call.function == "grad" and not call.bookkeeping else None

    @cached_property
    def withheld(self) -> set[tuple[int, int]]:
        """Slots for which the backward of a custom Function returned None."""
        kind, node = NodeKind.CUSTOM_FUNCTION, self.graph.node
        runs = (e for e in self.facts.nodes_ran if node[e.node_id].kind is kind)
        return {(e.node_id, i) for e in runs for i, sent in enumerate(e.sent) if sent is None}

    # --- nothing is proven ------------------------------------------------------------------------

    def no_cause(self, asked: Asked) -> Explanation:
        """Tell that no rule proves anything."""
        return self.answer(
            asked,
            Cause.NOT_KNOWN,
            "no_cause",
            checked=self.checked_of_unknown(asked),
            record=self.record,
        )

    def checked_of_unknown(self, asked: Asked) -> tuple[str, ...]:
        """Return the keys of what its flags rule out."""
        return ("requires_grad", "non_leaf") if asked.is_leaf else ("requires_grad",)
