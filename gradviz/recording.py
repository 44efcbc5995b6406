"""``record()`` and the Recording that it leaves behind."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import Any, Literal

import torch

from gradviz.graph.records import GradvizError
from gradviz.names.assign import Names
from gradviz.picture.figure import Figure
from gradviz.watch.recorded import Recorded
from gradviz.words import given


class Recording(Recorded):
    """What one ``record()`` saw. Displays as the picture; holds plain data only.

    Attributes:
        graph: everything recorded, as a Graph.
        events: what happened, in order; ``at(k)`` is the Graph after k of them.
        cuts: where values went on and gradients do not, each with its reason.
        notes: what the recording lacks, in sentences; empty as a rule.
    """

    def __init__(self, max_events: int, values: bool, summaries: bool) -> None:
        super().__init__(max_events, values, summaries, Names)
        # of a scenario's run: a ``gradviz.live.reading.Reading``, which this module may not import
        self.reading: Any = None

    def explain(self, *subjects: Any, error: BaseException | None = None) -> Any:
        """Explain why a gradient is None, zero or wrong, or why this raised: ``gv.explain`` with
        this recording.

        Args:
            subjects: tensors, losses, modules, optimizers, and collections of them. Left out, every
                tracked leaf that this recording met and that is still alive.
            error: what was raised, if that is the question; the error that ended the recording
                needs not be given.

        Returns:
            A ``gradviz.why.shown.explanation.Explanation``.

        Raises:
            GradvizError: there is nothing to explain, or a subject is none of the above.

        Example:
            >>> import torch
            >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
            >>> with record() as rec:
            ...     loss = w.detach().sum()
            >>> rec.explain(w, loss).cause
            'no_grad_fn'
        """
        from gradviz.why.answering.entry import explain_at

        return explain_at(sys._getframe(1), subjects, error=error, recording=self)

    def figure(
        self,
        view: Literal["cards", "nodes"] = "cards",
        *,
        title: str | None = None,
        focus: str | Iterable[str] = (),
        depth: int | None = None,
        around: torch.Tensor | str | None = None,
        fold: bool = True,
    ) -> Figure:
        """Return the picture of what was recorded.

        Args:
            view: "cards", or the raw "nodes".
            title: as in ``Figure``.
            focus: the modules to open, as in ``Figure``.
            depth: how many levels of modules to open, as in ``Figure``.
            around: a tensor that the recording saw, or its name, or the path of a parameter: only
                the cards around it are opened.
            fold: False draws every operation.

        Returns:
            A Figure.

        Raises:
            GradvizError: the graph has no such module or tensor, or an argument is of the wrong
                kind.

        Example:
            >>> import torch
            >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
            >>> with record() as rec:
            ...     h = w * 2
            ...     h.sum().backward()
            >>> "makes h" in rec.figure(around=h).text
            True
        """
        seen: Any = around
        if isinstance(around, torch.Tensor):
            seen = self.find(around)
            if seen is None:
                raise GradvizError(
                    "around= was given a tensor that this recording did not see; give one that the"
                    " recorded code read or made, or a name"
                )
        return Figure(
            self.graph, view=view, title=title, focus=focus, depth=depth, around=seen, fold=fold
        )

    def save(
        self, path: str | os.PathLike[str], *, theme: Literal["light", "dark"] = "light"
    ) -> None:
        """Write the picture of what was recorded to a file: ``figure().save(path)``.

        Args:
            path: its suffix says the format, as for ``Figure.save``. ``gv.export(rec, path)``
                writes a page with all steps.
            theme: "dark" for a dark page.

        Raises:
            GradvizError: another theme or suffix, or the picture cannot be drawn.

        Example:
            >>> import tempfile, torch
            >>> with record() as rec:
            ...     b = torch.ones(2, requires_grad=True).clone()
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     rec.save(f"{folder}/clone.svg")
        """
        self.figure().save(path, theme=theme)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return self.figure()._repr_mimebundle_(include, exclude)


def record(
    *misplaced: Any, max_events: int = 100_000, values: bool = False, summaries: bool = False
) -> Recording:
    """Record what autograd does in a block, and what it leaves no trace of.

    Args:
        max_events: how many events are kept; the oldest are dropped and the notes say how many.
        values: copy small values (at most 8 elements) from other devices than the CPU too; that
            waits for them.
        summaries: tell of larger tensors too how their numbers are spread (mean, deviation, range,
            histogram, zeros, NaN), up to ten million elements each. That reads every tensor when it
            is recorded, so recording gets much slower; other devices than the CPU are read only
            with ``values=True``.

    Returns:
        A context manager that becomes the Recording.

    Raises:
        GradvizError: something was given that it does not take, or not of the kind that is
            expected.

    Example:
        >>> import torch
        >>> a = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> with record() as rec:
        ...     b = a.detach()
        >>> [(cut.reason.value, rec.graph.tensor[cut.input_id].name) for cut in rec.cuts]
        [('detach', 'a')]
    """
    if misplaced:
        expected = (
            "nothing: `with gv.record() as rec:` records the block below it; gv.show(loss) draws a"
            " tensor's graph"
        )
        raise given.refused("record()", misplaced[0], expected)
    given.count("max_events=", max_events, "100_000")
    given.flag("values=", values)
    given.flag("summaries=", summaries)
    return Recording(max_events, values, summaries)
