"""What a reader asks an outline for: which modules to open, how deep, around which tensor, and like
which earlier picture."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

from gradviz.graph.facts import Facts
from gradviz.graph.records import GradvizError, Graph, Tensor
from gradviz.words import given
from gradviz.words.speech import enumerated

NEAR = 3  # names that an error offers


class Before(NamedTuple):
    """What a picture keeps of an earlier one.

    Attributes:
        card_of: the card of each thing that had one, by what it is called in every recording: see
            ``before.py``. What had different cards is not merged.
        x: where the middle of each card was, in points.
        columns: how many columns wide each was, where it was more than one.
        width: of the rows of a card one column wide, in points.
        inputs: whether inputs had cards.
    """

    card_of: Mapping[Hashable, int] = {}
    x: Mapping[int, float] = {}
    columns: Mapping[int, int] = {}
    width: int = 0
    inputs: bool = True


Marks = Mapping[frozenset[Hashable], str]
NO_MARKS: Marks = {}


class Points(NamedTuple):
    """What an outline points at, for an answer that stands beside it.

    Attributes:
        calls: ids of the calls.
        parameter: whole name of one in a module that was never called, "model.spare.weight".
        title, text: what the answer says of the place: "Where", "cell line 7".
    """

    calls: frozenset[int] = frozenset()
    parameter: str = ""
    title: str = ""
    text: str = ""


AT_NOTHING = Points()


class Asked(NamedTuple):
    """What a reader asked an outline for.

    Attributes:
        opened: paths of modules that are opened whatever happens in them.
        depth: so many levels of modules are opened, and no others; None: where something happens.
        around: the object of the tensor around which cards are shown; None: no one.
        before: what is kept of an earlier picture.
        marks: what is said of cards beside another picture, by what is in them.
        points: what it points at.
        leaves: names of parameters that have a card of their own.
    """

    opened: frozenset[str] = frozenset()
    depth: int | None = None
    around: int | None = None
    before: Before | None = None
    marks: Marks = NO_MARKS
    points: Points = AT_NOTHING
    leaves: frozenset[str] = frozenset()

    @property
    def is_strict(self) -> bool:
        """Whether what happens in a module opens nothing."""
        return self.depth is not None or self.around is not None


AS_IT_IS = Asked()


def check_depth(depth: Any) -> None:
    """Refuse what is no number of levels."""
    if depth is None:
        return
    if type(depth) is bool or not issubclass(type(depth), int) or depth < 0:
        raise given.refused(
            "depth=", depth, "how many levels of modules to open: a whole number from 0 on, or None"
        )


def parameters_of(graph: Graph) -> dict[str, str]:
    """Return the whole name, "model.fc1.weight", of each parameter, by it and without its root."""
    whole = [(p.name, f"{m.name}.{p.name}") for m in graph.modules for p in m.parameters]
    return {**{full: full for _, full in whole}, **dict(reversed(whole))}


def with_parameters(graph: Graph, paths: Iterable[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Sort paths into modules that are opened and whole names of parameters that get cards. A
    parameter opens the module that it stands in; one with nothing inside, the module around it."""
    known, opened, leaves = parameters_of(graph), set[str](), set[str]()
    kinds = {f"{m.name}.{path}" for m in graph.modules for path, _ in m.children}
    roots = {module.name for module in graph.modules}
    for path in paths:
        full = known.get(path)
        if full is None or path in kinds:
            opened.add(path)
            continue
        leaves.add(full)
        around = full.rpartition(".")[0]
        if not any(kind.startswith(f"{around}.") for kind in kinds):
            around = around.rpartition(".")[0]
        if around and around not in roots:
            opened.add(around)
    return frozenset(opened), frozenset(leaves)


def check_paths(argument: str, graph: Graph, paths: Iterable[str]) -> None:
    """Refuse a module or parameter that the graph does not have, and offer those with a similar
    name."""
    known = {module.name: None for module in graph.modules}
    for module in graph.modules:
        known |= dict.fromkeys(path for path, _ in module.children)
    full = {f"{m.name}.{path}" for m in graph.modules for path, _ in m.children}
    parameters = parameters_of(graph)
    for path in paths:
        if path not in known and path not in full and path not in parameters:
            near = _near(path, [*known, *parameters]) or (
                _near(path, sorted(full)) if "." in path else []
            )
            raise GradvizError(
                f"{argument} was given {given.shown(path)}; expected the path of a module of this"
                f" graph ({_offered(near, [*known]) or 'it has none: no module ran'})"
            )


def object_of(graph: Graph, around: Any) -> int | None:
    """Return the object that ``around`` means: the name of a tensor, the path of a parameter, or a
    tensor as the graph has it.

    Raises:
        GradvizError: it is none of these, the graph has no such tensor, or several.
    """
    if around is None:
        return None
    if issubclass(type(around), Tensor):
        if graph.tensor.get(around.id) != around:
            raise GradvizError("around= was given a Tensor of another graph; take one of this one")
        return int(around.object_id)
    if not issubclass(type(around), str):
        raise given.refused(
            "around=",
            around,
            "a tensor's name, a parameter's path, or a Tensor of graph.tensors; a torch.Tensor is"
            " known to the recording: rec.figure(around=h)",
        )
    return _called(graph, around)


def _called(graph: Graph, name: str) -> int:
    """Return the object that is called so."""
    known = _names(graph)
    found = known.get(name, [])
    if len(found) == 1:
        return found[0]
    if found:
        raise GradvizError(
            f"around= was given {given.shown(name)}, and {len(found)} tensors are called so; give"
            " the tensor itself, as in rec.figure(around=h), or one Tensor of graph.tensors"
        )
    names = [*known]
    raise GradvizError(
        f"around= was given {given.shown(name)}; expected the name of a tensor, or the path of a"
        f" parameter, of this graph ({_offered(_near(name, names), names) or 'it has none'})"
    )


def _names(graph: Graph) -> dict[str, list[int]]:
    """List the objects of the graph by their names: those that variables mean at the end, then
    those that they once meant, and parameters by their paths."""
    found: dict[str, dict[int, None]] = {}
    for module in graph.modules:
        for p in module.parameters:
            if p.object_id is not None:
                for path in (p.name, f"{module.name}.{p.name}"):
                    found.setdefault(path, {})[p.object_id] = None
    latest = Facts.of(graph).latest_state.values()
    now = {t.name: None for t in latest if t.name and t.former is None}
    for t in latest:
        if t.name:
            found.setdefault(t.name, {})[t.object_id] = None
    for t in latest:
        if t.code_name and t.code_name not in now:
            found.setdefault(t.code_name, {})[t.object_id] = None
    return {name: [*objects] for name, objects in found.items()}


def _near(name: str, known: list[str]) -> list[str]:
    """List the known names that look like one, or end as it does."""
    ends = [one for one in known if one.endswith(f".{name}")]
    near = get_close_matches(name, known, NEAR, 0.75)
    return [*dict.fromkeys([*ends, *near])][:NEAR] or get_close_matches(name, known, NEAR)


def _offered(near: list[str], known: list[str]) -> str:
    """Return what to write in place of a name that is not known."""
    if near:
        return f"did you mean {enumerated([repr(one) for one in near])}?"
    return ", ".join(sorted(known)[:5])
