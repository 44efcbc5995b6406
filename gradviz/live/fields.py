"""What one run of a scenario left, as fields for code to compare. The sentences are for people, and
may be worded anew."""

from __future__ import annotations

import ast
from typing import Protocol

from gradviz.graph.facts import Facts
from gradviz.graph.records import Call, Graph, Node, Raised, SavedState, Tensor
from gradviz.picture import table
from gradviz.picture.explaining import Listing, sentences
from gradviz.picture.figure import Figure
from gradviz.words.plain import visible
from gradviz.words.speech import values_of


class Left(Protocol):
    """What is read of a run."""

    error: str
    lines: tuple[int, ...]
    listing: Listing | None
    written: Listing | None

    @property
    def graph(self) -> Graph: ...

    @property
    def figure(self) -> Figure: ...


class Fields:
    """The fields that a ``Run`` and an ``Exploration`` (of its last run) have in common.

    Example:
        >>> import torch
        >>> from gradviz.live.explore import explore
        >>> @explore(keep=True)
        ... def scenario(keep):
        ...     a = torch.tensor(3.0, requires_grad=True)
        ...     b = a * a
        ...     b.backward(retain_graph=keep)
        ...     b.backward()
        >>> run = scenario.run(keep=True)
        >>> run.grads
        {'a': '12', 'b': 'None'}
        >>> print(run.raised_line, run.raised_call, run.raised_node, run.raised_saved)
        None None None None
        >>> run = scenario.run(keep=False)
        >>> run.raised_call.function, run.raised_node.name, run.raised_saved.value
        ('backward', 'MulBackward0', 'freed')
    """

    @property
    def _left(self) -> Left:
        """The run that the fields are of."""
        raise NotImplementedError

    @property
    def sentences(self) -> tuple[str, ...]:
        """What happened to the gradient, as in ``sentence``, sentence by sentence: the most
        important comes first."""
        left = self._left
        return sentences(left.graph, left.error, left.listing)

    @property
    def records(self) -> dict[str, Tensor]:
        """The last recorded state of each tensor in the table, by the same names. Two that share
        memory have the same ``storage_id``."""
        graph = self._left.graph
        rows = table.rows(graph, self._left.figure.whole.cards)
        return {
            row.key: graph.tensor[row.tensor_id] for row in rows if row.tensor_id in graph.tensor
        }

    @property
    def grads(self) -> dict[str, str]:
        """Name -> what ``.grad`` is at the end: its numbers, "None", or "unknown" where that was
        not read."""
        grads_now = Facts.of(self._left.graph).grads_now
        return {
            name: _grad(tensor, grads_now[tensor.object_id])
            for name, tensor in self.records.items()
        }

    @property
    def raised_line(self) -> int | None:
        """The number of the scenario's line that raised; None when none did."""
        return self._left.lines[0] if self._left.lines else None

    @property
    def raised_code(self) -> str:
        """The scenario's statement that raised, on one line; "" when none did, or when its source
        is not known."""
        if self.raised_line is None or self._left.written is None:
            return ""
        return statement(self._left.written, self.raised_line)

    @property
    def raised_call(self) -> Call | None:
        """The recorded call that raised what ended the run; None when the run came to its end, or
        when the error did not come from a recorded call."""
        event = self._raised
        return None if event is None else self._left.graph.call[event.call_id]

    @property
    def raised_node(self) -> Node | None:
        """The node that was running when a backward ended the run with an error; None otherwise."""
        event = self._raised
        return None if event is None else self._left.graph.node.get(event.node_id)

    @property
    def raised_saved(self) -> SavedState | None:
        """What had become of that node's saved tensors: ``FREED`` by an earlier backward, or
        ``STALE``, written since; None when neither is why it raised, as far as is known."""
        if self.raised_node is None:
            return None
        states = {saved.state for saved in self.raised_node.saved}
        # torch looks first whether a saved tensor is there, and then at its version
        return next((s for s in (SavedState.FREED, SavedState.STALE) if s in states), None)

    @property
    def _raised(self) -> Raised | None:
        """The event of the error that ended the run: not of one that the scenario caught."""
        left = self._left
        for event in reversed(left.graph.events):
            if isinstance(event, Raised):
                return event if _same(event, left.error) else None
        return None


def _same(event: Raised, error: str) -> bool:
    """Tell whether a run's error is what this call raised. Either text may be cut short."""
    kind, _, message = error.partition(": ")
    raised = visible(event.message, 2000)
    shortest = min(len(message), len(raised), 40)
    return kind == event.error and message[:shortest] == raised[:shortest]


def _grad(tensor: Tensor, grad_now: str | None) -> str:
    """Return the numbers of a tensor's ``.grad``, or the word for none and for not known."""
    if grad_now is not None:
        return values_of(grad_now)
    return table.word(None) if tensor.requires_grad is None else "None"


def statement(listing: Listing, line: int) -> str:
    """Return the innermost statement that stands on this line, on one line; of a compound one its
    head. "" where there is none.

    Args:
        listing: the code.
        line: counted as ``listing.first`` is.

    Example:
        >>> code = Listing("cell", 5, "for x in y:\\n    a = f(\\n        x)\\n    b = a")
        >>> statement(code, 5), statement(code, 7), statement(code, 9)
        ('for x in y:', 'a = f( x)', '')
    """
    wanted = line - listing.first + 1
    covering = [
        node
        for node in ast.walk(ast.parse(listing.text))
        if isinstance(node, ast.stmt) and node.lineno <= wanted <= (node.end_lineno or node.lineno)
    ]
    if not covering:
        return ""
    innermost = max(covering, key=lambda node: (node.lineno, node.col_offset))
    if hasattr(innermost, "body"):
        return listing.text.splitlines()[wanted - 1].strip()
    return " ".join((ast.get_source_segment(listing.text, innermost) or "").split())
