"""How the code of a scenario's recording reads: with the choices of its controls filled in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gradviz.graph.records import Call, Graph
from gradviz.live.filled import Filled
from gradviz.picture.explaining import Listing
from gradviz.recording import Recording


class Reading(NamedTuple):
    """The code of one run, for whoever tells of its recording.

    Attributes:
        file: in which the scenario stands, as recorded calls name it.
        filled: its lines, with the choices filled in.
        bodies: control -> file and lines of the function that it chose.
    """

    file: str
    filled: Filled
    bodies: Mapping[str, tuple[str, frozenset[int]]]

    @property
    def listing(self) -> Listing:
        """The code for a reader: the body of the scenario, without decorators and ``def``."""
        return Listing(self.file, self.filled.lines[0].number, self.filled.to_read)

    def graph_of(self, graph: Graph) -> Graph:
        """Return a graph of the recording with the choices filled into the code of its calls."""
        return graph.replace(calls=[self._call_of(call) for call in graph.calls])

    def _call_of(self, call: Call) -> Call:
        """Return a call with its code filled in, where it stands in the scenario or is made by what
        a control chose."""
        source, filled = call.source, self.filled
        if source is None or not source.code:
            return call
        if source.file == self.file and source.line in filled.numbers:
            code = filled.code_of(source.line, source.code, call.function)
            return call._replace(source=source._replace(code=code))
        for frame in source.frames:
            if frame.file != self.file or frame.line not in filled.numbers:
                continue
            for control, (file, lines) in self.bodies.items():
                code = ""
                if source.file == file and source.line in lines:
                    code = filled.code_within(frame.line, control, call.function)
                if code:
                    return call._replace(source=source._replace(line=frame.line, code=code))
        return call


def as_read(recording: Recording, graph: Graph) -> Graph:
    """Return a graph of a recording as its code reads: of a scenario with the choices filled in,
    else as it is."""
    reading: Reading | None = recording.reading
    return graph if reading is None else reading.graph_of(graph)
