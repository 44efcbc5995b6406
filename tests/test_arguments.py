"""Every public entry refuses what it does not take: in words, running no code of the value, and
losing nothing."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import gradviz as gv
from gradviz import controls, lesson
from gradviz.graph.records import GradvizError, Node, Note, NoteKind
from gradviz.words import given

pytestmark = pytest.mark.every_case


class Hostile:
    """A value that answers no question that one may ask of any object."""

    __hash__ = None  # type: ignore[assignment]

    def _refuse(self, *_: Any) -> Any:
        raise ZeroDivisionError("code of the value has run")

    __repr__ = __str__ = __eq__ = __bool__ = __iter__ = __len__ = __call__ = _refuse


WRONG: dict[str, Any] = {
    "zero": 0,
    "int": 3,
    "negative": -1,
    "bool": True,
    "float": 2.5,
    "nan": float("nan"),
    "text": "x",
    "none": None,
    "bytes": b"q",
    "array": np.ones(3),
    "tensor": torch.ones(3),
    "number tensor": torch.tensor(1.0),
    "class": torch.Tensor,
    "tuple": (5, 1),
    "list": [1],
    "dict": {"a": 1},
    "function": lambda: None,
    "hostile": Hostile(),
}
NUMBERS = {"zero", "int", "negative", "bool", "float", "nan"}


class World:
    """What the entries are called on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.a = torch.tensor([1.0, 2.0], requires_grad=True)
        with gv.record() as rec:
            self.loss = (self.a * 2).sum()
            self.loss.backward()  # type: ignore[no-untyped-call]
        self.rec, self.figure = rec, rec.figure()
        self.net = torch.nn.Linear(2, 1)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)

        @gv.explore(copy=[torch.Tensor.clone, torch.Tensor.detach], times=(1, 3))
        def scenario(copy: Any, times: Any) -> None:
            x = torch.ones(2, requires_grad=True)
            copy(x)

        self.scenario = scenario
        self.asked = lesson.question(
            "?", lambda: None, truth=lambda run: "1", answers={"1": None, "2": None}
        )
        self.player, self.widget = gv.play(rec), gv.GraphWidget(rec)
        self.page = folder / "there.html"
        self.page.write_text("as it was")

    def ask(self, **changes: Any) -> Any:
        """A question, with one argument exchanged."""
        arguments = {
            "text": "?",
            "scenario": self.rec,
            "truth": lambda run: "1",
            "answers": {"1": None, "2": None},
        }
        return lesson.question(**{**arguments, **changes})

    @property
    def state(self) -> Any:
        """What no refused call may change."""
        return (
            self.scenario.values,
            self.player.step,
            self.widget.selected,
            self.page.read_text(),
            self.figure.text,
            sorted(p.name for p in self.folder.iterdir()),
            lesson._presenting,
            self.asked.reply,
        )


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("arguments"))


# What is called, with one argument at a time, and which of the values above it takes.
TABLE: dict[str, tuple[Callable[[World, Any], Any], set[str]]] = {
    "show(tensors)": (lambda w, v: gv.show(v), {"tensor", "number tensor"}),
    "show(names)": (lambda w, v: gv.show(w.loss, names=v), {"none"}),
    "show(names value)": (
        lambda w, v: gv.show(w.loss, names={"n": v}),
        {"tensor", "number tensor"},
    ),
    "show(model)": (lambda w, v: gv.show(w.loss, model=v), {"none"}),
    "show(view)": (lambda w, v: gv.show(w.loss, view=v), {"none"}),
    "compare(before)": (lambda w, v: gv.compare(v, w.rec), set()),
    "compare(after)": (lambda w, v: gv.compare(w.rec, v), set()),
    "compare(names)": (lambda w, v: gv.compare(w.rec, w.rec, names=v), set()),
    "show(depth)": (lambda w, v: gv.show(w.loss, depth=v), {"none", "zero", "int"}),
    "Recording.figure(depth)": (lambda w, v: w.rec.figure(depth=v), {"none", "zero", "int"}),
    "record(misplaced)": (lambda w, v: gv.record(v), set()),
    "record(max_events)": (lambda w, v: gv.record(max_events=v), {"int"}),
    "record(values)": (lambda w, v: gv.record(values=v), {"bool"}),
    "record(summaries)": (lambda w, v: gv.record(summaries=v), {"bool"}),
    "explore(summaries)": (lambda w, v: gv.explore(summaries=v), {"bool"}),
    "Recording.at(step)": (lambda w, v: w.rec.at(v), {"zero", "int"}),
    "Recording.find(tensor)": (lambda w, v: w.rec.find(v), {"tensor", "number tensor"}),
    "Recording.memory_of(tensor)": (lambda w, v: w.rec.memory_of(v), {"tensor", "number tensor"}),
    "Recording.explain(subjects)": (lambda w, v: w.rec.explain(v), {"tensor", "number tensor"}),
    "Recording.explain(error)": (lambda w, v: w.rec.explain(w.a, error=v), {"none"}),
    "Recording.figure(view)": (lambda w, v: w.rec.figure(v), set()),
    "Recording.look_into(namespace)": (lambda w, v: gv.record().look_into(v), {"dict"}),
    "explain(subjects)": (lambda w, v: gv.explain(v), {"tensor", "number tensor"}),
    "explain(error)": (lambda w, v: gv.explain(w.a, error=v), {"none"}),
    "explain(recording)": (lambda w, v: gv.explain(w.a, recording=v), {"none"}),
    "explain(names)": (lambda w, v: gv.explain(w.a, names=v), {"none", "dict"}),
    "explain(model)": (lambda w, v: gv.explain(w.a, model=v), {"none"}),
    "reach(loss)": (lambda w, v: gv.reach(v, w.net), {"tensor", "number tensor"}),
    "reach(model)": (lambda w, v: gv.reach(w.loss, v), set()),
    "reach(recording)": (lambda w, v: gv.reach(w.loss, w.net, recording=v), {"none"}),
    "will_it_move(optimizer)": (lambda w, v: gv.will_it_move(v), set()),
    "will_it_move(model)": (lambda w, v: gv.will_it_move(w.optimizer, v), {"none"}),
    "explore(function)": (lambda w, v: gv.explore(v), {"none", "function"}),
    "explore(abbreviations)": (
        lambda w, v: gv.explore(k=v)(lambda k: None),
        (NUMBERS - {"nan"}) | {"text", "list", "dict"},
    ),
    "explore(of no parameter)": (lambda w, v: gv.explore(nope=v)(lambda k: None), set()),
    "Exploration.set(states)": (lambda w, v: w.scenario.set(copy=v), set()),
    "Exploration.run(states)": (lambda w, v: w.scenario.run(copy=v), set()),
    "Exploration.choose(states)": (lambda w, v: w.scenario.choose(v), set()),
    "export(what)": (lambda w, v: gv.export(v, w.page), set()),
    "export(path)": (lambda w, v: gv.export(w.figure, v), set()),
    "export(title)": (
        lambda w, v: gv.export(w.figure, w.folder / "no folder" / "x.html", title=v),
        set(),
    ),
    "export(limit)": (lambda w, v: gv.export(w.scenario, w.page, limit=v), set()),
    "export(links)": (
        lambda w, v: gv.export(w.figure, w.page, links=v),
        {"none"},
    ),
    "play(recording)": (lambda w, v: gv.play(v), set()),
    "play(title)": (lambda w, v: gv.play(w.rec, title=v), {"text", "none"}),
    "play(start)": (lambda w, v: gv.play(w.rec, start=v), {"zero", "int"}),
    "Player.text_at(step)": (lambda w, v: w.player.text_at(v), {"zero", "int"}),
    "Player.step": (
        lambda w, v: setattr(gv.play(w.rec), "step", v),
        {"zero", "int", "negative", "bool"},
    ),
    "GraphWidget(shown)": (lambda w, v: gv.GraphWidget(v), {"none"}),
    "GraphWidget(state)": (lambda w, v: gv.GraphWidget(state=v), {"dict"}),
    "GraphWidget(step)": (lambda w, v: gv.GraphWidget(step=v), {"zero", "int", "negative", "bool"}),
    "GraphWidget(of no trait)": (lambda w, v: gv.GraphWidget(w.rec, nope=v), set()),
    "GraphWidget.show(shown)": (lambda w, v: w.widget.show(v), set()),
    "GraphWidget.show(extras)": (lambda w, v: w.widget.show(w.rec, nope=v), set()),
    "GraphWidget.selected": (lambda w, v: setattr(w.widget, "selected", v), {"text", "bytes"}),
    "Figure(graph)": (lambda w, v: gv.Figure(v), set()),
    "Figure(view)": (lambda w, v: gv.Figure(w.rec.graph, view=v), set()),
    "Figure(title)": (lambda w, v: gv.Figure(w.rec.graph, title=v), {"text", "none"}),
    "Figure.save(path)": (lambda w, v: w.figure.save(v), set()),
    "Recording.save(path)": (lambda w, v: w.rec.save(v), set()),
    "GraphWidget.save(path)": (lambda w, v: w.widget.save(v), set()),
    "Exploration.save(path)": (lambda w, v: w.scenario.save(v), set()),
    "Figure.opening(paths)": (lambda w, v: w.figure.opening(v), set()),
    "Figure.of(graph)": (lambda w, v: w.figure.of(v), set()),
    "Figure.arrange_like(other)": (lambda w, v: w.figure.arrange_like(v), set()),
    "Graph.from_json(text)": (lambda w, v: gv.Graph.from_json(v), set()),
    "Graph(nodes)": (lambda w, v: gv.Graph(nodes=v), set()),
    "Graph.replace(changes)": (lambda w, v: gv.Graph().replace(tensors=v), set()),
    "controls.button(label)": (lambda w, v: controls.button(v), {"text"}),
    "controls.control(name)": (lambda w, v: controls.control(v, True), {"text"}),
    "controls.control(default)": (
        lambda w, v: controls.control("k", [1, 2], v),
        {"bool", "number tensor"},
    ),
    "lesson.question(text)": (lambda w, v: w.ask(text=v), {"text"}),
    "lesson.question(scenario)": (lambda w, v: w.ask(scenario=v), {"function"}),
    "lesson.question(settings)": (lambda w, v: w.ask(scenario=w.scenario, settings=v), {"none"}),
    "lesson.question(truth)": (lambda w, v: w.ask(truth=v), {"function", "class", "hostile"}),
    "lesson.question(answers)": (lambda w, v: w.ask(answers=v), set()),
    "lesson.question(answers value)": (lambda w, v: w.ask(answers={"1": v, "2": None}), {"none"}),
    "lesson.question(right)": (lambda w, v: w.ask(right=v), {"text"}),
    "Question.answer(answer)": (lambda w, v: w.asked.answer(v), set()),
    "lesson.present(on)": (lambda w, v: lesson.present(v), {"bool"}),
}
CASES = [
    (entry, kind) for entry, (_, taken) in TABLE.items() for kind in WRONG if kind not in taken
]
MENDS = re.compile(
    "|".join(
        (
            "expected",
            "is not one of",
            "there is no",
            "has no",
            "are too many",
            "are exported",
            "draws what",
            "not a torch optimizer; pass",
            r"ends in \.html",
            "draws the graph behind",
            "there is nothing to read",
            "was given a blank",
            "no parameter for",
            "nothing to choose",
            "has two choices",
            r"one of \.svg",
            "make it first",
            r"with gradviz\.record",
            "a live picture shows",
            "need an exploration",
        )
    )
)
INTERNALS = re.compile(
    "0x[0-9a-f]{4}|object at|Traceback|NoneType|has no attribute|not"
    " subscriptable|ambiguous|TraitType"
)


@pytest.mark.parametrize(("entry", "kind"), CASES)
def test_what_is_not_taken_is_refused_in_words(world: World, entry: str, kind: str) -> None:
    call, _ = TABLE[entry]
    before = world.state
    with pytest.raises(GradvizError) as refused:
        call(world, WRONG[kind])
    said = str(refused.value)
    assert MENDS.search(said)
    assert not INTERNALS.search(said)
    assert len(said) < 500
    assert world.state == before


@pytest.mark.parametrize(
    ("entry", "kind"), [(e, k) for e, (_, taken) in TABLE.items() for k in sorted(taken)]
)
def test_what_is_taken_is_not_refused(world: World, entry: str, kind: str) -> None:
    """Else the table would prove nothing: an entry that refuses everything would pass."""
    call, _ = TABLE[entry]
    try:
        call(world, WRONG[kind])
    finally:
        lesson.present(False)


def entries() -> Iterator[str]:
    """Every public function and method that takes an argument."""
    for name in gv.__all__:
        value = getattr(gv, name)
        if inspect.ismodule(value):
            own = [
                (n, v)
                for n, v in vars(value).items()
                if inspect.isfunction(v) and v.__module__ == value.__name__
            ]
            yield from (
                f"{name}.{n}"
                for n, v in own
                if not n.startswith("_") and inspect.signature(v).parameters
            )
        elif inspect.isfunction(value):
            yield name
    player, exploration, question = (
        type(WORLD_TYPES["player"]),
        type(WORLD_TYPES["scenario"]),
        lesson.Question,
    )
    for kind in (gv.Figure, gv.Graph, gv.GraphWidget, gv.Recording, player, exploration, question):
        for name, method in vars(kind).items():
            plain = method.__func__ if isinstance(method, (classmethod, staticmethod)) else method
            if (
                not name.startswith("_")
                and inspect.isfunction(plain)
                and len(inspect.signature(plain).parameters) > 1
            ):
                yield f"{kind.__name__}.{name}"


WORLD_TYPES: dict[str, Any] = {}
# Any value may be said; two graphs are compared; a panel tells its picture what its controls show.
BETWEEN_OURSELVES = {"lesson.button_text", "Graph.same_but_numbered", "GraphWidget.belongs_to"}


def test_no_public_entry_is_missing_in_the_table(world: World) -> None:
    WORLD_TYPES.update(player=world.player, scenario=world.scenario)
    covered = {entry.partition("(")[0] for entry in TABLE}
    missing = [entry for entry in entries() if entry not in covered | BETWEEN_OURSELVES]
    assert not missing


def test_a_path_with_a_missing_folder_or_another_suffix_is_refused_before_anything_is_drawn(
    world: World,
) -> None:
    for path in (world.folder / "none" / "a.html", world.folder / "a.pdf", "a", Path("a.gif")):
        before = world.state
        with pytest.raises(GradvizError, match=r"there is no folder|ends in \.html"):
            gv.export(world.scenario, path)
        assert world.state == before


@pytest.mark.parametrize(
    "value", [0, "x", None, [1, 2], (5, 1), {"a": 1}, object(), dict, b"q", "y" * 200, [object()]]
)
def test_a_value_is_said_in_a_few_words(value: Any) -> None:
    assert 0 < len(given.said(value)) < 90
    assert "0x" not in given.said(value)
    assert 0 < len(given.shown(value)) < 90


def test_a_value_of_a_class_with_hostile_methods_is_said_by_its_type() -> None:
    assert given.said(Hostile()) == "an object of type Hostile"
    sub = type("Sub", (int,), {"__repr__": Hostile._refuse})(3)
    assert given.said(sub) == "an object of type Sub"


def test_a_graph_takes_records_from_anything_that_gives_them_once() -> None:
    note = Note.of(NoteKind.PROFILED)
    graph = gv.Graph(roots=iter([1, 2]), notes=[note])
    assert (graph.roots, graph.notes) == ((1, 2), (note,))
    with pytest.raises(
        GradvizError, match=r"Graph\(nodes=…\) was given an object of type list; expected .* Node"
    ):
        gv.Graph(nodes=[1])  # type: ignore[list-item]
    assert Node._fields[0] == "id"


# magics -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("%gradviz what", "%gradviz what is not known"),
        ("%gradviz why 3", "explain() was given the int 3; expected"),
        ("%gradviz why 'x'", "explain() was given the str 'x'; expected"),
        ("%gradviz why nope", "nope"),
        ("%gradviz why )", "no list of expressions; expected"),
        ("%gradviz why bad", "an object of type Hostile; expected"),
        ("%%gradviz view=3\nx = 1", "got 'view=3', expected view=cards or view=nodes"),
        ("%%gradviz nodes\nx = 1", "got 'nodes', expected"),
        ("%%gradviz view\nx = 1", "got 'view', expected"),
    ],
)
def test_lines_of_magics_are_refused_in_words(cell: str, words: str) -> None:
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.utils.capture import capture_output
    from traitlets.config import Config

    shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    try:
        shell.run_cell("%load_ext gradviz\nx = 5")
        shell.push({"bad": Hostile()})
        with capture_output() as shown:
            result = shell.run_cell(cell)
        assert result.error_in_exec is not None
        said = str(result.error_in_exec)
        assert words in said
        assert not INTERNALS.search(said)
        assert "Traceback" not in shown.stdout + shown.stderr
        assert shell.user_ns["x"] == 5
    finally:
        shell.run_cell("%unload_ext gradviz")
        InteractiveShell.clear_instance()
