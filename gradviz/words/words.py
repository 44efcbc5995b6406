"""What the tensors, calls and lines of one graph are called: one answer for every reader of it.
Knows no torch."""

from __future__ import annotations

from collections.abc import Iterable

from gradviz.graph.facts import Facts, How, code_of
from gradviz.graph.records import Call, Graph, Node
from gradviz.words.plain import visible
from gradviz.words.speech import say

NAME = 60  # characters of a name, or of code, in a sentence
PLACES = 2  # places that are all told


class Words:
    """What the tensors, calls and lines of one graph are called."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.facts = graph, Facts.of(graph)
        self.places_told: dict[int, str] = {}  # by call

    def name(self, tensor_id: int | None) -> str:
        """Return a tensor's name, or the code that made it."""
        label = self.facts.label(tensor_id)
        if label.tensor is None:
            return say("label.plain_value")
        if label.how is How.NAMED:
            return visible(label.name, NAME)
        if label.how is How.MADE:
            return self.code(label.maker)
        if label.reader is None:
            return say("label.unnamed")
        if label.tensor.is_leaf and label.tensor.requires_grad and label.reader.module:
            return say("label.parameter_of", module=visible(label.reader.module, NAME))
        return say("label.input_of", code=self.code(label.reader))

    def code(self, call: Call | None) -> str:
        """Return the user's code of a call, on one line."""
        return visible(code_of(call), NAME) if call else ""

    def where(self, call: Call | None) -> str:
        """Return where a call stands: ``cell [4] line 3``; "" where that is not known."""
        if call is None or call.source is None:
            return ""
        return f"{file_of(call.source.file)}{say('label.line', line=call.source.line)}"

    def node(self, node: Node) -> str:
        """Return what a node is called, with the code that made it where that is known."""
        code = self.code(self.graph.call.get(node.call_id))
        return say("label.node_of", node=node.name, code=code) if code else node.name

    def place(self, call: Call | None) -> str:
        """Return where a call stands, and what it is: ``cell [4] line 3, b = a.detach()``."""
        if call is None:
            return ""
        line = f"{self.where(call)}, " if call.source else ""
        module = say("label.in_module", module=visible(call.module, NAME)) if call.module else ""
        return line + self.code(call) + module

    def places(self, calls: Iterable[Call]) -> str:
        """Return where several calls stand; those of one line are counted."""
        found: dict[str, int] = {}
        for call in calls:
            # thousands of parameters may have a place in common
            if (place := self.places_told.get(call.id)) is None:
                place = self.places_told[call.id] = self.place(call)
            found[place] = found.get(place, 0) + 1
        told = [
            say("list.times", place=place, n=times) if times > 1 else place
            for place, times in list(found.items())[:PLACES]
        ]
        if len(found) > PLACES:
            told.append(say("list.more_places", n=len(found) - PLACES))
        return "; ".join(told)


def file_of(name: str) -> str:
    """Return the last part of a path, as it stands before a line's number.

    A notebook's cell numbers stand in the name already; what is no file has none.

    >>> file_of("/home/me/train.py"), file_of("<stdin>")
    ('train.py ', '')
    """
    if not name or name.startswith("<"):
        return ""
    return visible(name.replace("\\", "/").rpartition("/")[2], 40) + " "
