"""See what PyTorch's autograd does, and what it forgets.

    import gradviz as gv

    with gv.record() as rec:        # lines that are to be watched
        ...
        loss.backward()
    rec                             # at the end of a cell: the picture
    print(rec.figure().text)        # the same in words
    rec.figure().save("step.svg")   # or .png, .pdf, .html

    gv.show(loss)                   # the graph behind a tensor that nobody recorded
    gv.explain(weight, loss)        # why a .grad is None, or a weight does not move
    gv.reach(loss, model)           # which parameters a loss reaches
    gv.will_it_move(optimizer)      # what the next step will do, without stepping
    gv.compare(before, after)       # two recordings of one model, side by side

In a notebook, with ipywidgets and anywidget:

    %load_ext gradviz               # then %%gradviz above a cell records it; %gradviz why
    gv.GraphWidget(rec)             # a picture to click in
    gv.play(rec)                    # event by event
    @gv.explore(copy=[torch.clone, torch.detach])   # buttons over a function
    gv.export(rec, "page.html")     # one file: no kernel, no network

help(gv.record), and so on, says more.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from gradviz import _installed

if TYPE_CHECKING:
    from gradviz.graph.records import GradvizError, Graph
    from gradviz.live import controls
    from gradviz.live.explore import explore
    from gradviz.live.export import export
    from gradviz.live.player import play
    from gradviz.live.widget import GraphWidget
    from gradviz.notebook import lesson
    from gradviz.picture.figure import Figure
    from gradviz.recording import Recording, record
    from gradviz.showing import compare, show
    from gradviz.why.answering.entry import explain
    from gradviz.why.survey.moving import will_it_move
    from gradviz.why.survey.reaching import reach

# Each name is loaded on first use, so that `import gradviz` costs next to nothing beside `import
# torch`.
_HOME = {
    "Figure": "gradviz.picture.figure",
    "GradvizError": "gradviz.graph.records",
    "Graph": "gradviz.graph.records",
    "GraphWidget": "gradviz.live.widget",
    "Recording": "gradviz.recording",
    "compare": "gradviz.showing",
    "controls": "gradviz.live.controls",
    "explain": "gradviz.why.answering.entry",
    "explore": "gradviz.live.explore",
    "export": "gradviz.live.export",
    "lesson": "gradviz.notebook.lesson",
    "play": "gradviz.live.player",
    "reach": "gradviz.why.survey.reaching",
    "record": "gradviz.recording",
    "show": "gradviz.showing",
    "will_it_move": "gradviz.why.survey.moving",
}
__all__ = [
    "Figure",
    "GradvizError",
    "Graph",
    "GraphWidget",
    "Recording",
    "compare",
    "controls",
    "explain",
    "explore",
    "export",
    "lesson",
    "play",
    "reach",
    "record",
    "show",
    "will_it_move",
]
_MODULES = {"controls", "lesson"}
__version__ = _installed.VERSION

_installed.require_torch(_installed.torch_version())
_installed.warn_of_other_gradviz()


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(
            f"module 'gradviz' has no attribute {name!r}; it has {', '.join(__all__)}"
        )
    home = importlib.import_module(_HOME[name])
    value = home if name in _MODULES else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names, and nothing that loading them has brought along."""
    return sorted(__all__)


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext gradviz``."""
    importlib.import_module("gradviz.notebook.magic").load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """``%unload_ext gradviz``."""
    importlib.import_module("gradviz.notebook.magic").unload(shell)
