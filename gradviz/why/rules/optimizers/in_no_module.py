"""Parameters that no module lists, as those in plain lists."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import torch

from gradviz.graph.findings import Cause, Level
from gradviz.graph.records import Source, Tensor
from gradviz.graph.training import line_of
from gradviz.names.bindings import scope_of
from gradviz.names.statements import makes_parameter, source_of
from gradviz.watch.identity import parameters
from gradviz.why.code.reading import is_of_torch
from gradviz.why.rules.many import pattern
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import say, several

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

_OF_MODULES = frozenset(vars(torch.nn.Module()))  # what every module has
DEPTH = 3  # how many plain lists and dicts, one inside the other, are looked into


def in_no_module(case: Case, found: Explanation) -> Explanation | None:
    """Tell of parameters that no module lists, such as those in plain lists.

    What stands in a plain list explains more than a fault that may be meant; that is told too.
    """
    every_module = [*case.modules, *case.known_modules, *case.modules_without_parameters]
    places = {
        i: place
        for m in every_module
        for i, place in _in_plain_containers(m, case.called.get(id(m)) or type(m).__name__)
    }
    every = case.leaves_never_written
    states = {i: every[i] for i in every if i in case.never_written or i in places}
    new = _in_none_of([*case.modules, *case.known_modules], states)
    if not new:
        return None
    names = _called(new, places, case)
    ids = [state.id for state in new.values()]
    lists = list(dict.fromkeys(places[i][1] for i in new if i in places))
    mild = found.cause.level is not Level.FINE
    if not lists and mild:
        return None
    if not lists:
        return _alone(case, names, new)
    told = case.answer(
        Cause.NOT_MOVED,
        "in_list",
        tensor_ids=ids,
        statements=_where_set(case, lists),
        containers=_containers(every_module, set(lists), case),
        names=names,
        n=len(new),
        lists=lists,
    )
    return told._replace(more=(*told.more, found.verdict), odd=found.odd) if mild else told


def _where_set(case: Case, lists: list[str]) -> list[Source]:
    """Return where the code gives the attributes their lists, of each that is given one once."""
    found = [case.statements.sets(path.rpartition(".")[2]) for path in lists]
    return [every[0][0] for every in found if len(every) == 1]


def _alone(case: Case, names: str, new: Mapping[int, Tensor]) -> Explanation:
    """Tell of parameters that nothing of a module holds."""
    anew = _made_in_methods(case, {state.code_name for state in new.values()})
    names, anew = (names, anew) if anew else _made_in_functions(case, new, names)
    return case.answer(
        Cause.NOT_MOVED,
        "made_anew" if anew else "in_no_module",
        tensor_ids=[state.id for state in new.values()],
        statements=[place for place, _ in anew],
        names=names,
        n=len(new),
        methods=list(dict.fromkeys(method for _, method in anew)),
    )


def _made_in_methods(case: Case, names: set[str]) -> list[tuple[Source, str]]:
    """Return where methods that run again and again give these variables new parameters, each with
    the method; nothing where that is not so of every one."""
    found = {
        target.id: (source_of(file, node), method)
        for file, node in case.statements.nodes(ast.Assign)
        if makes_parameter(node.value) and (method := _method_around(node)) not in ("", "__init__")
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return [found[name] for name in sorted(names)] if names and names <= found.keys() else []


def _made_in_functions(
    case: Case, new: Mapping[int, Tensor], names: str
) -> tuple[str, list[tuple[Source, str]]]:
    """Return what parameters are called that a function makes within an expression, and where, with
    the function; only of those of whose line several were recorded."""
    lines = _lines_of_new_leaves(case)
    readers = [case.facts.first_reader.get(_first(case, state)) for state in new.values()]
    again = {c.source[:2] for c in readers if c and c.source and lines[line_of(c)] > 1}
    found = dict[str, tuple[Source, str]]()
    for file, node in case.statements.nodes(ast.Call):
        place, function = source_of(file, node), scope_of(node)
        in_function = getattr(function, "name", "__init__") != "__init__"
        if in_function and makes_parameter(node) and place[:2] in again:
            found.setdefault(ast.unparse(node), (place, function.name))
    if len(found) != len(new):
        return names, []
    return several([*found]), [*found.values()]


def _lines_of_new_leaves(case: Case) -> Counter[object]:
    """Return how many leaves were first read at each line."""
    first = (states[0] for states in case.facts.states.values())
    leaves = (t for t in first if t.is_leaf and t.requires_grad)
    readers = (case.facts.first_reader.get(t.id) for t in leaves)
    return Counter(line_of(call) for call in readers if call is not None)


def _first(case: Case, state: Tensor) -> int:
    """Return the id of the first state of the same tensor."""
    return case.facts.states[state.object_id][0].id


def _method_around(node: Any) -> str:
    """Return the method in which a statement stands; "" where it stands in none."""
    function = scope_of(node)
    is_method = isinstance(getattr(function, "parent", None), ast.ClassDef)
    return str(function.name) if is_method else ""


def _called(new: Mapping[int, Tensor], places: Mapping[int, tuple[str, str]], case: Case) -> str:
    """Return one name for them all: by the list that holds them, else by the program's name."""
    name = case.words.name
    return pattern(
        [
            places[i][0] if i in places else case.called.get(i) or name(state.id)
            for i, state in new.items()
        ]
    )


def _in_none_of(modules: list[Any], states: Mapping[int, Tensor]) -> dict[int, Tensor]:
    """Return the states of those parameters that no module lists."""
    parts = {id(p) for m in modules for p in parameters(m)}
    return {i: state for i, state in states.items() if i not in parts}


def _containers(modules: Iterable[Any], lists: set[str], case: Case) -> list[str]:
    """Return which container of torch can take the place of each of some plain lists and dicts."""
    found = dict[str, str]()
    for module in modules:
        title = case.called.get(id(module)) or type(module).__name__
        for path, value in _plain_containers(module, title):
            if path in lists:
                found.setdefault(path, say("entry.as_container", path=path, kind=_kind_for(value)))
    return list(found.values())


def _kind_for(container: Any, depth: int = DEPTH) -> str:
    """Return what can take the place of a plain list or dict: by its form, of modules or of
    parameters by what it holds."""
    is_dict = isinstance(container, dict)
    values = [*container.values()] if is_dict else [*container]
    inner = next((v for v in values if isinstance(v, dict | list | tuple)), None)
    of_modules = inner is not None or any(isinstance(v, torch.nn.Module) for v in values)
    if is_dict:
        kind = say("entry.dict_of_modules" if of_modules else "entry.dict_of_parameters")
    else:
        kind = say("entry.list_of_modules" if of_modules else "entry.list_of_parameters")
    if is_dict and any(type(key) is not str for key in container):
        kind = say("entry.with_str_keys", kind=kind)
    if inner is None or not depth:
        return kind
    return say("entry.of_containers", kind=kind, inner=_kind_for(inner, depth - 1))


def _in_plain_containers(module: Any, title: str) -> Iterator[tuple[int, tuple[str, str]]]:
    """Yield the parameters in plain lists and dicts of a module: identity, (path, that of the
    list)."""
    for path, value in _plain_containers(module, title):
        for inner, p in _parameters_in(value):
            yield id(p), (f"{path}{inner}", path)


def _plain_containers(module: Any, title: str) -> Iterator[tuple[str, Any]]:
    """Yield the plain lists and dicts that a module and its parts hold, each with its path."""
    for path, part in module.named_modules():
        for name, value in list(vars(part).items()):
            own = name in _OF_MODULES or (name.startswith("_") and is_of_torch(type(part)))
            if not own and isinstance(value, dict | list | tuple):
                yield ".".join(filter(None, (title, path, name))), value


def _parameters_in(container: Any, depth: int = DEPTH) -> Iterator[tuple[str, Any]]:
    """Yield what stands in a plain list or dict, in those inside of it, and the parameters of
    modules there, by path."""
    pairs = container.items() if isinstance(container, dict) else enumerate(container)
    for key, one in list(pairs):
        if isinstance(one, dict | list | tuple):
            inside = _parameters_in(one, depth - 1) if depth else iter(())
        elif isinstance(one, torch.nn.Module):
            inside = ((f".{name}", p) for name, p in one.named_parameters())
        else:
            inside = iter([("", one)])
        for name, p in inside:
            yield f".{key}{name}", p
