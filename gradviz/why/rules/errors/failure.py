"""Why a backward, or another call, raised: plain data in and out, knows no torch.

What torch's message does not say (names, lines, who wrote, who freed) is said only where the
recording proves it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gradviz.graph.facts import Facts, Site, code_of, site_of
from gradviz.graph.findings import Cause, Finding, Sure, Symptom
from gradviz.graph.records import (
    Backward,
    Call,
    Cut,
    Graph,
    Node,
    NodeKind,
    Raised,
    SavedState,
    Source,
    Tensor,
)
from gradviz.names.frames import frames, names_in, place_at, variables_of
from gradviz.names.written import tensor_written
from gradviz.why.evidence.messages import (
    cause_of,
    number,
    plain,
)
from gradviz.why.evidence.paths import Paths
from gradviz.why.shown.explanation import Explanation, worded
from gradviz.words.plain import visible
from gradviz.words.speech import say

if TYPE_CHECKING:
    from gradviz.names.statements import Statements
    from gradviz.why.question.failed_line import FailedLine
    from gradviz.why.question.failing import Starved

NAME = 40  # characters of a tensor's name in a sentence
LINE = 90  # characters of a line that is to be moved, or written anew
_ADDING = frozenset({"add", "__add__", "__radd__", "__iadd__", "add_"})


def recorded_error(graph: Graph, message: str) -> Raised | None:
    """Return the last recorded error whose text stands in this one's."""
    text = plain(message)
    for event in reversed(Facts.of(graph).errors):
        recorded_text = plain(event.message)[:1000]
        if recorded_text and recorded_text in text:
            return event
    return None


def call_at(source: Source) -> Call:
    """Return a call that was not recorded, to point at a line of the program."""
    return Call(-source.line, "", (), (), True, False, None, source, False)


class Failure:
    """One error, and the graph in which it happened.

    Args:
        kind: name of the error's class, e.g. "RuntimeError".
        text: its message, on one line.
        graph: what was recorded, or captured from the loss.
        raised: the event of this error in ``graph``; found by its text where it is left out.
        root_id: the tensor in ``graph`` that backward was called on, where the error itself was not
            recorded; of a captured graph the first root, where it is left out.
        flags: of each parameter, whether it requires grad.
        starved: what is known of the module whose parameters an optimizer was handed.
        optimizers: the objects that each known optimizer has.
        failed: the user's line that raised, if it is known.
        detaching: tells, of a name in the code that raised, how its value is written without its
            graph; "" where that is not known.
        statements: the user's code that ran, if it is known.
        find: tells, of a living tensor, its last state in ``graph``; None where that is not known.
    """

    def __init__(
        self,
        kind: str,
        text: str,
        graph: Graph,
        *,
        raised: Raised | None = None,
        root_id: int | None = None,
        flags: Mapping[str, bool] | None = None,
        starved: Starved | None = None,
        failed: FailedLine | None = None,
        optimizers: Sequence[set[int]] = (),
        detaching: Callable[[str], str] = lambda name: "",
        statements: Statements | None = None,
        find: Callable[[Any], Tensor | None] = lambda tensor: None,
    ) -> None:
        self.kind = kind
        self.statements = statements
        self.find = find
        self.detaching = detaching
        self.starved = starved
        self.failed = failed
        self.optimizers = optimizers
        self.text = text
        self.cause = cause_of(text)
        self.graph = graph
        self.flags = flags or {}  # of each parameter: does it require grad?
        self.paths = Paths(graph)
        self.facts = self.paths.facts
        self.words = self.paths.words
        self.event = raised or recorded_error(graph, text)
        self.call = graph.call.get(self.event.call_id) if self.event else None
        self.inputs = [graph.tensor[i] for i in self.call.inputs] if self.call else []
        self.run = self.facts.run_of_call.get(self.call.id) if self.call else None
        self.given_root = None if self.event else self.root_of(root_id)

    def root_of(self, root_id: int | None) -> Tensor | None:
        """Return the tensor that a backward was called on which is not recorded."""
        if root_id is not None:
            return self.graph.tensor[root_id]
        roots = [] if self.graph.calls else self.graph.roots
        return self.graph.tensor[roots[0]] if roots else None

    # --- words ------------------------------------------------------------------------------------

    def answer(
        self,
        cause: Cause,
        form: str,
        *,
        calls: Iterable[Call | None] = (),
        also_at: Iterable[Call | None] = (),
        cuts: Sequence[Cut] = (),
        nodes: Sequence[Node] = (),
        tensors: Iterable[Tensor | None] = (),
        checked: tuple[str, ...] = (),
        sure: Sure = Sure.PROVEN,
        more: tuple[str, ...] | None = None,
        **fields: Any,
    ) -> Explanation:
        """Tell why the call raised.

        Args:
            cause: what is wrong.
            form: which sentences tell it: ``(cause, form)`` is their key in ``words/en.py``.
            calls: where it happened; where none is known, the call that raised.
            also_at: further calls at whose lines it points; the call that raised is always one.
            cuts: the cuts that did it.
            nodes: the nodes that it points at.
            tensors: the tensors that it points at.
            checked: keys of what was ruled out.
            sure: how sure it is.
            more: further lines; left out, that the error was not recorded, where it was not.
            fields: what the sentences name.
        """
        known = tuple(call for call in calls if call) or self.at_the_line
        finding = Finding(
            cause,
            form,
            Symptom.RAISED,
            fields=fields,
            calls=known,
            cuts=tuple(cuts),
            node_ids=tuple(node.id for node in nodes),
            tensor_ids=tuple(tensor.id for tensor in tensors if tensor),
            checked=checked,
            sure=sure,
            also_at=tuple(call for call in (self.call, *also_at) if call),
            more=self.unrecorded(say("unrecorded.line")) if more is None else more,
        )
        return worded(finding, self.words)

    @property
    def statement(self) -> Any:
        """The syntax node of the user's statement that raised; None where it is not known."""
        return None if self.failed is None else self.failed.statement

    @cached_property
    def at_the_line(self) -> tuple[Call, ...]:
        """The call that raised; where it was not recorded, the user's line that did."""
        if self.call is not None:
            return (self.call,)
        place = None if self.failed is None else self.failed.place
        return () if place is None else (call_at(place),)

    def unrecorded(self, recording_adds: str) -> tuple[str, ...]:
        """Return the line that says that the error was not recorded, and what a recording adds."""
        if self.call is not None:
            return ()
        # with a recording it was a constructor that raised, or another thread
        return (say("unrecorded.call") if self.graph.calls else recording_adds,)

    def name(self, tensor: Tensor | None) -> str:
        """Return what a tensor is called."""
        if tensor is None:
            return say("raised.tensor")
        full = self.words.name(tensor.id)
        return full if len(full) <= NAME else type(full)(visible(full, NAME))

    def in_code(self, tensor: Tensor | None) -> str:
        """Return what stands for a tensor in code that is to be written: its variable."""
        return (tensor.code_name if tensor is not None else "") or self.name(tensor)

    def word_in(self, place: Call, tensor: Tensor) -> str:
        """Return what a statement calls a tensor that it reads: in a helper that is another name
        than where the tensor was made."""
        names = {tensor.name, tensor.code_name} & names_in(code_of(place))[1]
        if names:
            return tensor.code_name if tensor.code_name in names else names.pop() or ""
        given = [self.graph.tensor[i].object_id for i in place.inputs]
        nr = given.index(tensor.object_id) if tensor.object_id in given else None
        word = "" if nr is None else tensor_written(code_of(place), nr, len(given))
        return word or self.in_code(tensor)

    def detached_in(self, place: Call, tensors: Iterable[Tensor]) -> list[str]:
        """Return tensors without their history, as code for a statement that reads them."""
        words = dict.fromkeys(self.word_in(place, tensor) for tensor in tensors)
        return [f"{word}.detach()" for word in words]

    def all_in_code(self, tensors: Iterable[Tensor]) -> list[str]:
        """Return what stands for tensors in code, each once."""
        return list(dict.fromkeys(map(self.in_code, tensors)))

    def names(self, tensors: Iterable[Tensor]) -> list[str]:
        """Return what tensors are called, each name once."""
        return list(dict.fromkeys(map(self.name, tensors)))

    def code(self, call: Call | None, most: int = NAME) -> str:
        """Return the code of a call, not too long for a sentence."""
        return visible(self.words.code(call), most) if call else ""

    def written(self, call: Call | None) -> str:
        """Return the code of a call and its line: ``c = a * 2 (line 3)``."""
        if call is None or call.source is None:
            return self.code(call)
        return say("raised.written", code=self.code(call), line=self.words.where(call))

    def maker(self, node: Node | None) -> Call | None:
        """Return the call that made a node."""
        return self.graph.call.get(node.call_id) if node else None

    def binding(self, tensor: Tensor) -> Call | None:
        """Return the innermost statement that binds the name of a result, at the call that made it;
        that call where none does."""
        maker = self.facts.maker.get(tensor.id)
        names = {tensor.name, tensor.code_name} - {None, ""}
        for depth, frame in enumerate(frames(maker) if maker else ()):
            if maker is not None and names.intersection(names_in(frame.code)[0]):
                return place_at(maker, depth)
        return maker

    def made_at(self, tensor: Tensor) -> str:
        """Return what a tensor is called, and the line that made it, if it is known."""
        maker = self.facts.first_maker.get(tensor.object_id)
        if maker is None or maker.source is None:
            return self.in_code(tensor)
        return say("raised.written", code=self.in_code(tensor), line=self.words.where(maker))

    def made_by(self, node: Node | None) -> str:
        """Return a node's name and what made it: ``MulBackward0 of c = a * 2 (line 3)``."""
        name = node.name if node else say("raised.node")
        maker = self.maker(node)
        return say("label.node_of", node=name, code=self.written(maker)) if maker else name

    # --- nothing to start from --------------------------------------------------------------------

    @cached_property
    def root(self) -> Tensor | None:
        """The tensor that backward was to start from and that does not require grad."""
        index = number(self.text, "element") or 0
        recorded = self.run is not None and index < len(self.inputs)
        root = self.inputs[index] if recorded else self.given_root
        return root if root and not root.requires_grad else None

    @cached_property
    def start(self) -> str:
        """The sentence that nothing can train."""
        root = self.name(self.root) if self.root else say("raised.root")
        if self.flags and not any(self.flags.values()):
            return say("raised.no_start_frozen", root=root, n=len(self.flags))
        return say("raised.no_start", root=root)

    @cached_property
    def nearest_cuts(self) -> list[Cut]:
        """The cuts behind the root, without those behind another cut."""
        return self.nearest_cuts_behind(self.root)

    def nearest_cuts_behind(self, tensor: Tensor | None) -> list[Cut]:
        """Return the cuts behind a tensor, without those behind another cut."""
        if tensor is None:
            return []
        cuts = [*self.graph.cuts, *self.facts.cuts_of_parts]
        near = self.facts.ancestors([tensor.id], {c.output_id for c in cuts})
        return [c for c in cuts if c.output_id in near]

    @cached_property
    def behind_root(self) -> set[int]:
        """Every tensor state that the root was computed from."""
        return self.facts.ancestors([self.root.id]) if self.root else set()

    # --- modified by an in-place operation --------------------------------------------------------

    @cached_property
    def nodes_behind_given_root(self) -> list[Node]:
        """The nodes that a gradient of the root meets, where the error itself was not recorded."""
        edge = self.given_root.gradient_edge if self.given_root else None
        met = self.facts.reachable([edge.node_id] if edge else [])
        return [node for node in self.graph.nodes if node.id in met]

    # --- second backward --------------------------------------------------------------------------

    @cached_property
    def freed(self) -> tuple[Node, Backward] | None:
        """The node that found its saved tensors gone, and the backward that freed them."""
        node = self.graph.node.get(self.event.node_id if self.event else None)
        if node is None or self.run is None:
            return None
        runs = self.facts.runs_that_freed.get(node.id, [])
        earlier = next((b for b in self.graph.backwards if b.run in runs[-1:]), None)
        return (node, earlier) if earlier else None

    def shared(self, ran: Iterable[int]) -> list[Tensor]:
        """Return the tensors at which this backward enters what the earlier one ran through and
        freed."""
        old = {
            n
            for n in ran
            if self.graph.node[n].kind is not NodeKind.ACCUMULATE_GRAD
            and n in self.facts.leading_to_freed
        }
        new = self.facts.reachable(self.run.roots if self.run else ()) - old
        entered = {
            (e.next_node_id, e.input_nr)
            for n in new
            for e in self.graph.edges_from.get(n, ())
            if e.next_node_id in old
        }
        return [t for edge, t in self.facts.last_at.items() if edge in entered]

    def family(self, tensor: Tensor) -> int:
        """Return the object that a tensor is a view of, or is itself: the versions of all views of
        one object are counted together."""
        base = self.graph.tensor.get(tensor.base_id)
        return tensor.object_id if base is None else base.object_id

    def is_saved(self, tensor: Tensor) -> bool:
        """Say whether a node keeps a tensor for a gradient that is still to come: what is written
        into it would make that backward raise."""
        states = {t.id for t in self.facts.states.get(tensor.object_id, ())}
        kept = (saved for node in self.graph.nodes for saved in node.saved)
        return any(s.tensor_id in states and s.state is not SavedState.FREED for s in kept)

    def made_again(self, maker: Call, first: Call, reader: Call) -> bool:
        """Say whether the line of the maker ran again before the value was read: the name is
        another iteration's by then."""
        way = self.way_to(maker)
        return any(self.way_to(c) == way for c in self.calls_between(first, reader))

    def way_to(self, call: Call) -> tuple[Site | None, int | None]:
        """Return where a call stands, and the line of the backward's own scope under which it ran:
        the same again for each iteration of a loop, and another for a helper that is called
        elsewhere."""
        return site_in_loop(call), self._outer_line(call)

    def _outer_line(self, call: Call) -> int | None:
        """Return the line in the scope of the call that raised under which a call ran; None where
        it ran in none of its lines."""
        scopes = [variables_of(frame) for frame in frames(self.call)[:1]] if self.call else []
        lines = (frame.line for frame in frames(call) if variables_of(frame) in scopes)
        return next(lines, None)

    def calls_before(self, last: Call) -> list[Call]:
        """Return the calls that began before another."""
        return [c for c in self.graph.calls if c.id < last.id]

    def calls_between(self, first: Call, last: Call) -> list[Call]:
        """Return the calls that began after one call and before another."""
        return [c for c in self.graph.calls if first.id < c.id < last.id]

    def in_a_loop(self, first: Call, last: Call) -> bool:
        """Say whether two backwards are two iterations of one loop."""
        before = self.weights(self.calls_before(first))
        after = self.weights(self.calls_between(first, last))
        for site, read in after.items():
            # other layers at the same lines: a stack of blocks, and no iteration
            if read and before.get(site) and read.isdisjoint(before[site]):
                return False
        earlier = (self.graph.call[b.call_id] for b in self.graph.backwards)
        return any(site_of(c) == site_of(last) for c in earlier if c.id < last.id)

    def weights(self, calls: Iterable[Call]) -> dict[Site | None, set[int]]:
        """Return the leaves that require grad, by the place in the code that read them."""
        leaves: dict[Site | None, set[int]] = {}
        for call in calls:
            read = [self.graph.tensor[i] for i in call.inputs]
            objects = {t.object_id for t in read if t.is_leaf and t.requires_grad}
            leaves.setdefault(site_of(call), set()).update(objects)
        return leaves


def site_in_loop(call: Call) -> Site | None:
    """Return where a call stands, the same for each iteration of a loop: ``total += loss`` is
    another function where ``total`` is still the number 0."""
    site = site_of(call)
    return (site[0], "__add__", site[2]) if site and site[1] in _ADDING else site


def runs_in(call: Call | None, statement: Any) -> bool:
    """Say whether a call ran in a statement, by its line."""
    source = None if call is None else call.source
    return source is not None and statement.lineno <= source.line <= statement.end_lineno
