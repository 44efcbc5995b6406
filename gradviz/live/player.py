"""Time travel: a recording, one event at a time, forward and back."""

from __future__ import annotations

from typing import Any

from traitlets import observe

from gradviz.graph.records import GradvizError
from gradviz.live.book import book_of, first_step, steps_of, with_narrow
from gradviz.live.steps import Step, graph_at
from gradviz.live.widget import GraphWidget
from gradviz.picture.figure import Figure
from gradviz.picture.scene import Scene
from gradviz.picture.together import is_too_wide, widths_in
from gradviz.recording import Recording
from gradviz.words import given
from gradviz.words.plain import visible
from gradviz.words.speech import say


def play(recording: Recording, *, title: str | None = None, start: int = 0) -> Player:
    """Travel through a recording, one event at a time: next, back, play, slider, keyboard.

    Args:
        recording: a finished recording.
        title: a heading.
        start: after how many events to begin. At most 400 events are shown, and the heading says
            which.

    Returns:
        A widget that stands at its first step; ``player.step = 5`` goes to another.

    Raises:
        GradvizError: it is not a recording, or it has no step ``start``.

    Example:
        >>> import torch, gradviz
        >>> a = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> with gradviz.record() as rec:
        ...     b = a.clone()
        >>> first = play(rec).text_at(1)
        >>> print(first.partition(": ")[2].partition(".")[0])  # without the number of its line
        b = a
    """
    return Player(recording, title=title, start=start)


class Player(GraphWidget):
    """A recording that is shown step by step: what ``play`` returns. Holds plain data only.

    Attributes:
        step: which of ``states`` is shown; may be set.
        states: one plain dict a step.
    """

    def __init__(self, recording: Recording, *, title: str | None = None, start: int = 0) -> None:
        given.text("title=", title, "a text, or None for no heading", none=True)
        steps = steps_of(recording, start)
        self._recording, self._steps = recording, steps
        self._narrow = 0  # CSS pixels of the pictures for a narrower place, where there are some
        self._numbers = [step.number for step in steps]
        self._scenes = [_renamed(step) for step in steps]
        begin = first_step(steps)
        super().__init__(book=book_of(recording, steps, title), step=begin)
        self.figure = self._figure(begin)

    @property
    def states(self) -> list[dict[str, Any]]:
        """What is shown at each step."""
        return list(self.book["states"])

    def text_at(self, step: int) -> str:
        """Return everything that one of ``states`` shows, in words.

        Args:
            step: which of ``states``, counted from 0.

        Raises:
            GradvizError: there is no such step.
        """
        if not given.is_index(step, len(self._scenes)):
            raise GradvizError(
                f"there is no step {given.shown(step)}: this player has steps 0 to"
                f" {len(self._scenes) - 1}"
            )
        return str(self.states[step]["text"])

    @observe("rooms")
    def _fit(self, change: Any) -> None:
        """Draw the steps once more where a place in the page is too narrow for their pictures."""
        widest, narrowest = widths_in(change.new)
        width = narrowest or widest
        if width != self._narrow and is_too_wide(self.states[-1]["svg"], width):
            self._narrow = width
            self.book = with_narrow(self.book, self._steps, width)

    @observe("step")
    def _go(self, change: Any) -> None:
        """Take the figure of the step, or of the one nearest to it that there is."""
        self.figure = self._figure(min(max(self.step, 0), len(self._scenes) - 1))

    def _figure(self, step: int) -> Figure:
        """Return the figure of a step, with the ids that its picture has."""
        figure = Figure(graph_at(self._recording, self._numbers[step]), fold=False)
        if svg := self.states[step]["svg"]:
            figure.__dict__ |= {"scene": self._scenes[step], "svg": svg}
        return figure

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """Return the player, the last picture for pages without a kernel, and every step in a line
        of text."""
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is None:
            return None
        data, metadata = bundle
        lines = [
            say("panel.step_said", n=k, sentence=state["sentence"])
            for k, state in zip(self._numbers, self.states, strict=True)
        ]
        text = "\n".join([visible(self.book["title"]), *lines])
        return {
            **data,
            "text/plain": text,
            "text/html": self._figure(len(self._scenes) - 1).html,
        }, metadata


def _renamed(step: Step) -> Scene:
    """Return the scene of a step with the ids that its picture has."""
    scene = step.figure.scene
    ids = {
        int(scene_id[1:]): int(svg_id[1:])
        for scene_id, svg_id in step.ids.items()
        if scene_id[0] == "n"
    }
    return scene.numbered(ids) if ids else scene
