"""What the tensors, calls and lines of one graph are called: one answer for every reader of it.
Knows no torch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gradviz.graph.facts import Facts, How, Label, code_of
from gradviz.graph.records import Call, Changed, Cut, Frame, Graph, Node, NoteKind, Source
from gradviz.words.plain import visible
from gradviz.words.speech import AtLeast, Code, say, tell, values_of

NAME = 60  # characters of a name, or of code, in a sentence
PLACES = 2  # places that are all told


class Words:
    """What the tensors, calls and lines of one graph are called.

    Args:
        graph: what was recorded or captured.
        chars: how many characters of a name, or of code, are told.
    """

    def __init__(self, graph: Graph, chars: int = NAME) -> None:
        self.graph, self.facts, self.chars = graph, Facts.of(graph), chars
        self.places_told: dict[int, str] = {}  # by call

    def name(self, tensor_id: int | None) -> str:
        """Return a tensor's name, or the code that made it; a phrase where there is neither."""
        label = self.facts.label(tensor_id)
        return self._in_code(label) or self._phrase(label)

    def as_written(self, tensor_id: int) -> str:
        """Return what the code calls a tensor, without the line that tells it from others of that
        name; its name where the code calls it nothing."""
        return self.facts.graph.tensor[tensor_id].code_name or self.name(tensor_id)

    def grad(self, tensor_id: int | None) -> str:
        """Return what the ``.grad`` of a tensor is called."""
        label = self.facts.label(tensor_id)
        if code := self._in_code(label):
            return Code(say("label.grad", name=code))
        return tell("label.grad_of", name=self._phrase(label))

    def _in_code(self, label: Label) -> str:
        """Return what stands for a tensor in the code, or ""."""
        if label.how is How.NAMED:
            return Code(visible(label.name, self.chars))
        if label.maker and label.maker.bookkeeping:  # a step wrote it, which is no code of its own
            made = None if self._parameter_of(label) else label.first_maker
            return "" if made is None or made.bookkeeping else self.code(made)
        if label.maker:
            return self.code(label.maker)
        # written since, or only handed on; a parameter is told by its module
        is_parameter = bool(self._parameter_of(label))
        return "" if is_parameter else self.code(label.first_maker or label.given_by)

    def _parameter_of(self, label: Label) -> str:
        """Return the path of the module whose parameter a tensor without a name is, or ""."""
        tensor, known = label.tensor, self.facts.of_modules
        is_leaf = tensor is not None and tensor.is_leaf and tensor.requires_grad
        if tensor is None or not is_leaf or (known and tensor.object_id not in known):
            return ""
        return (label.reader.module or "") if label.reader else ""

    def _phrase(self, label: Label) -> str:
        """Return what is known of a tensor that nothing in the code stands for."""
        if label.tensor is None:
            return say("label.plain_value")
        if module := self._parameter_of(label):
            return say("label.parameter_of", module=visible(module, self.chars))
        # a backward says nothing of what it was called on
        if label.reader is None or label.reader.id in self.facts.backward_calls:
            return say("label.unnamed")
        code, alike = self.code(label.reader), self._alike(label)
        if len(alike) < 2:
            return tell("label.input_of", code=code)
        return tell("label.nth_input_of", n=alike[label.tensor.object_id], code=code)

    def _alike(self, label: Label) -> dict[int, int]:
        """Return the inputs of a tensor's reader that would all be called an input of it: where
        each stands among the inputs, from 1, by object id."""
        inputs = label.reader.inputs if label.reader else ()
        objects = dict.fromkeys(self.graph.tensor[i].object_id for i in inputs)
        places = {object_id: nr for nr, object_id in enumerate(objects, 1)}
        alike: dict[int, int] = {}
        for tensor_id in inputs:
            other = self.facts.label(tensor_id)
            unnamed = other.how is How.READ and not self._in_code(other)
            if unnamed and other.reader is label.reader and not self._parameter_of(other):
                object_id = self.graph.tensor[tensor_id].object_id
                alike[object_id] = places[object_id]
        return alike

    def code(self, call: Call | None) -> str:
        """Return the user's code of a call, on one line."""
        return Code(visible(code_of(call), self.chars)) if call else ""

    def line(self, call: Call | None) -> str:
        """Return a call with its line, to begin a sentence: ``Line 3: b = a.detach()``."""
        if call is None:
            return say("label.earlier_call")
        if call.source is None:
            return self.code(call)
        return tell("label.at_line", line=call.source.line, code=self.code(call))

    def node_by_id(self, node_id: int | None) -> str:
        """Return what the node with this id is called."""
        return self.node(self.graph.node[node_id])

    def node(self, node: Node) -> str:
        """Return a node's name, with its leaf or the code that made it where that is known."""
        name = Code(node.name)
        if node.leaf_id is not None:
            return tell("label.node_of", node=name, code=self.name(node.leaf_id))
        code = self.code(self.graph.call.get(node.call_id))
        return tell("label.node_of", node=name, code=code) if code else name

    def behind(self, node_id: int | None) -> str:
        """Return the code behind a node, or the node's name."""
        node = self.graph.node[node_id]
        return self.code(self.graph.call.get(node.call_id)) or Code(node.name)

    def sent_label(self, edge: tuple[int, int]) -> str | None:
        """Return what the last run that used an edge, ``(node_id, next_index)``, sent along it,
        with what became of it before it arrived; None where nothing was."""
        change = self.facts.changed_along.get(edge)
        if change is not None:
            return way_of(change)
        gradient = self.facts.sent.get(edge)
        return None if gradient is None else values_of(gradient)

    def where(self, call: Call | None) -> str:
        """Return where a call stands: ``cell [4] line 3``; "" where that is not known."""
        if call is None or call.source is None:
            return ""
        return self.line_of(call.source)

    def line_of(self, source: Source) -> str:
        """Return where a statement stands: ``cell [4] line 3``."""
        return at_line(source.file, source.line)

    def at(self, call: Call | None, name: str = "") -> str:
        """Return a call's code, or another name for it, and where it stands: ``opt.step() (line
        4)``; "" where there is none."""
        code, place = name or self.code(call), self.where(call)
        return say("label.code_at", code=code, place=place) if place else code

    def source(self, source: Source) -> str:
        """Return a statement's text and where it stands."""
        code = visible(source.code or "", self.chars)
        return say("label.code_at", code=code, place=self.line_of(source))

    def statement(self, call: Call) -> str:
        """Return the user's statement that a call stands in, and where: torch's own calls in a
        function of torch have no code of their own."""
        frames = call.source.frames if call.source else ()
        return self.frame(frames[0]) if frames else self.at(call)

    def frame(self, frame: Frame) -> str:
        """Return a statement under which a call ran, and where it stands."""
        place = at_line(frame.file, frame.line)
        code = visible(frame.code, self.chars)
        return say("label.code_at", code=code, place=place) if code else place

    def where_off(self, call: Call) -> str:
        """Return where gradients were switched off around a call: ``cell [4] line 2``; "" where
        that is not known."""
        if call.source is None or call.source.off is None:
            return ""
        return at_line(call.source.file, call.source.off)

    def place(self, call: Call | None) -> str:
        """Return where a call stands, and what it is: ``cell [4] line 3, b = a.detach()``."""
        if call is None:
            return ""
        line = f"{self.where(call)}, " if call.source else ""
        module = say("label.in_module", module=visible(call.module, NAME)) if call.module else ""
        return line + self.code(call) + module

    @property
    def keeps_all(self) -> bool:
        """Whether the recording has all events, and dropped none of the oldest."""
        return all(note.kind is not NoteKind.DROPPED for note in self.graph.notes)

    def times(self, n: int) -> int:
        """Return how often something was seen, as it is to be told: of a recording that dropped its
        oldest events it may have been more often."""
        return n if self.keeps_all else AtLeast(n)

    def places(self, calls: Iterable[Call], statements: Iterable[Source] = ()) -> str:
        """Return where several calls stand; those of one line are counted, each of them once. Then
        statements that no call stands for."""
        found: dict[str, int] = {}
        for call in {call.id: call for call in calls}.values():
            # thousands of parameters may have a place in common
            if (place := self.places_told.get(call.id)) is None:
                place = self.places_told[call.id] = self.place(call)
            found[place] = found.get(place, 0) + 1
        found |= {statement_at(source): 1 for source in statements}
        told = [
            say("list.times", place=place, n=self.times(times)) if times > 1 else place
            for place, times in list(found.items())[:PLACES]
        ]
        if len(found) > PLACES:
            told.append(say("list.more_places", n=len(found) - PLACES))
        return "; ".join(told)


def way(before: str | None, after: str | None, hooks: Sequence[int]) -> str:
    """Tell what became of a gradient on its way.

    >>> way("1", "10", [3]), way("1", "10", [3, 5]), way(None, "10", [])
    ('1 → hook → 10', '1 → 2 hooks → 10', 'nothing → unknown change → 10')
    """
    return say("change.way", before=before or say("change.nothing"), after=after, hooks=hooks)


def way_of(change: Changed) -> str:
    """Tell what became of a gradient that did not arrive as it was sent."""
    return way(change.before, change.after, change.hooks)


def reason_of(cut: Cut) -> str:
    """Return the word for why a gradient path ends.

    >>> from gradviz.graph.records import CutReason
    >>> reason_of(Cut(0, 0, 1, CutReason.DETACH_IN_PLACE))
    'detach_'
    """
    return tell(f"cut.{cut.reason.name.lower()}")


def with_version(saved: str, version: int | None) -> str:
    """Return what was saved, and at which version, where that is known.

    >>> with_version("a", 3), with_version("a", None)
    ('a at version 3', 'a')
    """
    return saved if version is None else tell("label.at_version", saved=saved, version=version)


def statement_at(source: Source) -> str:
    """Return where a statement stands, and its text.

    >>> statement_at(Source("train.py", 3, "net.eval()"))
    'train.py line 3, net.eval()'
    """
    place, code = at_line(source.file, source.line), visible(source.code or "", NAME)
    return f"{place}, {code}" if code else place


def at_line(file: str, line: int) -> str:
    """Return a line's number, after its file or cell.

    >>> at_line("/home/me/train.py", 3), at_line("<stdin>", 3)
    ('train.py line 3', 'line 3')
    """
    return file_of(file) + say("label.line", line=line)


def file_of(name: str) -> str:
    """Return the last part of a path, as it stands before a line's number.

    A notebook's cell numbers stand in the name already; what is no file has none.

    >>> file_of("/home/me/train.py"), file_of("<stdin>")
    ('train.py ', '')
    """
    if not name or name.startswith("<"):
        return ""
    return visible(name.replace("\\", "/").rpartition("/")[2], 40) + " "
