"""The parameters of a model by groups: a partition, one name and one truth for each group. torch and
``named_parameters`` are asked, not the picture."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from model_scripts import model_names, read, run
from model_scripts import named_parameters as torch_parameters
from random_modules import make
from torch import nn

import gradviz as gv
from gradviz.graph.operations import Operations
from gradviz.graph.parameter_groups import grouped_by_name, opened, parts_of
from gradviz.picture.figure import Figure
from gradviz.picture.outline.parameters import Line, Parameters, State
from gradviz.picture.state import state
from gradviz.why.survey.moving import will_it_move
from gradviz.why.survey.reaching import reach

pytestmark = pytest.mark.dear(30)

CUT = (
    "        x = x + a\n",
    "        x = x + a\n        x = x.detach() if self.layer_idx == 5 else x\n",
)


def recorded(name: str, *changes: tuple[str, str]) -> tuple[gv.Recording, dict[str, Any]]:
    """Run a script with its cell recorded, some of its text changed."""
    source = read(name)
    for old, new in changes:
        assert source.count(old) == 1
        source = source.replace(old, new)
    names: dict[str, Any] = {}
    recording = gv.record().look_into(names)
    run(source, f"{name}.py", lambda: recording, names)
    return recording, names


def parameters_of(recording: gv.Recording) -> Parameters:
    return Parameters(Operations(recording.graph))


# --- one name for many ----------------------------------------------------------------------------


def pattern_of(name: str) -> re.Pattern[str]:
    """What a reader of the notation takes a group's name for."""
    parts = []
    for part in parts_of(name):
        if part == "*":
            parts.append(r".+")
        elif part[:1] in "{[" and part[-1:] in "}]":
            words = "|".join(alternatives(part[1:-1]))
            parts.append(rf"\[(?:{words})\]" if part[0] == "[" else f"(?:{words})")
        else:
            parts.append(re.escape(part))
    return re.compile(r"\.".join(parts).replace(r"\.\[", r"\["))


def alternatives(inside: str) -> Iterable[str]:
    for word in inside.split(","):
        first, dots, last = word.partition("..")
        if dots:
            yield from map(str, range(int(first), int(last) + 1))
        else:
            yield ".+" if word == "…" else re.escape(word)


WORDS = st.sampled_from(["q", "k", "fc", "h", "0", "1", "2", "7", "weight", "bias"])
NAMES = st.lists(
    st.lists(WORDS, min_size=1, max_size=4).map(".".join), min_size=1, max_size=30, unique=True
)


@settings(max_examples=300)
@given(NAMES, st.data())
def test_groups_are_a_partition_and_their_names_fit_their_members_alone(
    names: list[str], data: st.DataObject
) -> None:
    keys = data.draw(st.lists(st.sampled_from("ab"), min_size=len(names), max_size=len(names)))
    groups = grouped_by_name(names, keys)
    assert sorted(i for group in groups for i in group.members) == list(range(len(names)))
    for group in groups:
        inside = [names[i] for i in group.members]
        assert {keys[i] for i in group.members} == {group.key}
        fits = pattern_of(group.name)
        assert all(fits.fullmatch(name) for name in inside), (group.name, inside)
        if "…" not in group.name:
            others = [n for n, key in zip(names, keys, strict=True) if key != group.key]
            assert not any(fits.fullmatch(name) for name in others), (group.name, others)
        parts = opened(group, names)
        if parts:
            assert sorted(i for part in parts for i in part.members) == sorted(group.members)
            assert len(parts) > 1


def test_rows_are_few_where_a_model_repeats_itself() -> None:
    blocks = [f"m.h.{i}.{m}.{w}" for i in range(96) for m in ("a", "b") for w in ("w", "b")]
    assert [g.name for g in grouped_by_name(["m.e.w", *blocks], ["x"] * 385)] == [
        "m.e.w",
        "m.h.{0..95}.*",
    ]


def test_a_star_is_written_only_where_all_that_there_is_belongs_to_it() -> None:
    names = ["a.0.w", "a.0.b", "a.1.w", "b.w", "b.b"]
    found = grouped_by_name(names, ["x", "y", "x", "x", "x"])
    assert [g.name for g in found] == ["a.{0,1}.w", "a.0.b", "b.*"]
    loose = grouped_by_name(names, ["x"] * 5, are_all=False)
    assert not any("*" in group.name for group in loose)


# --- the table ------------------------------------------------------------------------------------


def truth(p: torch.Tensor) -> str:
    """What torch says of a parameter."""
    if p.grad is None:
        return "frozen" if not p.requires_grad else "none"
    norm = p.grad.double().norm().item()
    return "zero" if norm == 0 else "vanished" if norm < 1e-10 else "some"


SAYS = {
    "some": {State.GETS, State.UNHELD},
    "zero": {State.ZERO},
    "vanished": {State.VANISHED},
    "none": {State.LOST, State.OFF},
    "frozen": {State.FROZEN},
}
# Backwards add up in .grad, or reset it, or it is clipped: the last gradient is not what is there.
SEVERAL = ("gan", "ppo")


@pytest.mark.parametrize("name", model_names())
def test_counts_are_those_of_named_parameters_and_of_grad(name: str) -> None:
    recording, names = recorded(name)
    parameters = parameters_of(recording)
    real = torch_parameters(names)
    by_name = dict(zip(parameters.names, parameters.weights, strict=True))
    assert sorted(by_name) == sorted(real)
    assert sorted(i for g in parameters.groups for i in g.members) == list(range(len(real)))
    for group in parameters.groups:
        members = [parameters.names[i] for i in group.members]
        fits = pattern_of(group.name)
        assert all(fits.fullmatch(member) for member in members)
        states = {parameters.state(by_name[member]) for member in members}
        assert len(states) == 1
        assert len({parameters.reason(by_name[member]) for member in members}) == 1
        for member in members:
            assert states <= SAYS[truth(real[member])], member
    for line in parameters.lines():
        if line.level:
            inside = [real[parameters.names[parameters.weights.index(w)]] for w in line.weights]
            assert line.number == f"{len(inside):,}"
            assert line.elements == f"{sum(p.numel() for p in inside):,}"
            if line.norm and name not in SEVERAL:
                grads = [p.grad for p in inside if p.grad is not None]
                norm = math.sqrt(sum(g.double().norm().item() ** 2 for g in grads))
                assert float(line.norm) == pytest.approx(norm, rel=6e-2 if norm < 1e-3 else 6e-3)


@pytest.mark.parametrize("name", model_names())
def test_text_and_table_have_at_most_sixty_lines_each(name: str) -> None:
    recording, _ = recorded(name)
    figure = Figure(recording.graph)
    assert len(figure.text.splitlines()) <= 60
    shown = state(figure)
    if "columns" in shown:
        assert len(shown["table"]) + 1 <= 60
        assert (
            shown["table"][-1]["cells"][0] == "Tensor by tensor: gv.Figure(rec.graph, fold=False)"
        )
        assert all(len(row["cells"]) == len(shown["columns"]) for row in shown["table"])
        cards = {row["card"] for row in shown["table"]} - {""}
        assert cards <= shown["cards"].keys()
        whole = Figure(recording.graph, fold=False)
        whole.__dict__["svg"] = "<svg/>"  # of thousands of cards, which nobody looks at here
        assert "columns" not in state(whole)


def test_what_is_wrong_stands_first_with_its_reason_and_is_opened() -> None:
    recording, names = recorded("gpt2", CUT)
    lines = parameters_of(recording).lines()
    lost = sum(p.grad is None for p in names["model"].parameters())
    reason = "✂ detach gpt2.py line 48, inside transformer.h.5 · attn → ln_2"
    assert lines[0].name == f"✗ {lost} parameters get no gradient: {reason}"
    assert [line.name for line in lines if line.level == 1] == [
        "transformer.wpe.weight",
        "transformer.h.{0..4}.*",
        "transformer.h.5.{ln_1,attn}.*",
        "transformer.wte.weight",
        "transformer.h.5.{ln_2,mlp}.*",
        "transformer.h.{6..11}.*",
        "transformer.ln_f.*",
    ]
    within = itertools.takewhile(lambda line: "get a gradient" not in line.name, lines)
    parts = [line for line in within if line.level == 2]
    assert [line.name for line in parts][:2] == [
        "transformer.h.{0..4}.ln_1.*",
        "transformer.h.{0..4}.attn.*",
    ]
    assert not any(line.level == 2 for line in lines[len(parts) + 4 :])


def test_toys_keep_the_table_of_their_tensors() -> None:
    w = torch.ones(2, requires_grad=True)
    with gv.record() as rec:
        (w * 2).sum().backward()
    shown = state(Figure(rec.graph))
    assert "columns" not in shown
    assert next(row["key"] for row in shown["table"]) == "w"


def test_a_finished_graph_is_told_by_groups_too() -> None:
    net = nn.Sequential(*(nn.Linear(4, 4) for _ in range(20)))
    x: Any = torch.ones(1, 4)
    for i, layer in enumerate(net):
        x = layer(x).detach() if i == 9 else layer(x)
    shown = state(gv.show(x.sum(), model=net))
    told = [(row["level"], row["cells"][0]) for row in shown["table"]]
    assert told[:2] == [(0, "✗ 20 parameters cannot be reached"), (1, "{0..9}.*")]
    assert (1, "{10..19}.*") in told


# --- red needs an optimizer -----------------------------------------------------------------------


class Halves(nn.Module):
    """A body whose values are cut off, and a head that trains."""

    def __init__(self, layers: int = 8) -> None:
        super().__init__()
        self.body = nn.Sequential(*(nn.Linear(4, 4) for _ in range(layers)))
        self.head = nn.Sequential(*(nn.Linear(4, 4) for _ in range(layers)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(x).detach())


def tones_of(html: str) -> set[str]:
    return set(re.findall(r"background:(#\w+)", html))


RED = "#f6c6c0"


@pytest.mark.parametrize("holder", ["variable", "stepped", "nobody", "none known"])
def test_red_needs_an_optimizer(holder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stepped in the recording, or a variable holds it; where none is known at all, those that
    the loss reaches beside it tell."""
    net = Halves()
    everything = torch.optim.SGD(net.parameters(), lr=0.1)
    only_head = torch.optim.SGD(net.head.parameters(), lr=0.1)
    variables: dict[str, Any] = {}
    if holder == "variable":
        variables["opt"] = everything
    elif holder == "nobody":
        variables["opt"] = only_head
    for name, value in variables.items():
        monkeypatch.setitem(globals(), name, value)
    with gv.record().look_into(variables) as rec:
        loss = net(torch.ones(2, 4)).sum()
        loss.backward()
        if holder == "stepped":
            everything.step()
    is_red = holder != "nobody"

    first = parameters_of(rec).lines()[0]
    assert first.name.startswith("✗ 16 parameters") is is_red
    lines = [line.name for line in parameters_of(rec).lines()]
    assert ("– 16 parameters, in no optimizer" in lines) is not is_red
    text = Figure(rec.graph).text
    assert ("✗" in text) is is_red
    assert ("– 16 params, in no optimizer" in text) is not is_red

    told = reach(loss, net, recording=rec)
    assert ("✗ no path" in str(told)) is is_red
    assert ("– no path" in str(told)) is not is_red
    assert (RED in tones_of(told._repr_mimebundle_()["text/html"])) is is_red

    optimizer = only_head if holder == "nobody" else everything
    moves = will_it_move(optimizer, net)
    assert ("✗ stays: grad is None: skipped" in str(moves)) is is_red
    assert ("– stays: not in the optimizer" in str(moves)) is not is_red
    assert (RED in tones_of(moves._repr_mimebundle_()["text/html"])) is is_red


def test_a_tensor_without_a_module_is_red_only_where_an_optimizer_has_it() -> None:
    names: dict[str, Any] = {}
    ws = names["ws"] = [nn.Parameter(torch.eye(4)) for _ in range(12)]
    names["extra"] = extra = nn.Parameter(torch.eye(4))
    names["opt"] = torch.optim.SGD(ws, lr=0.1)
    for held in (False, True):
        if held:
            names["opt"] = torch.optim.SGD([*ws, extra], lr=0.1)
        with gv.record().look_into(names) as rec:
            y = (torch.ones(2, 4) @ extra).detach()
            for w in ws:
                y = (y @ w).tanh()
            y.sum().backward()
        parameters = parameters_of(rec)
        found = {parameters.state(w) for w in parameters.weights if w.name == "extra"}
        assert found == {State.LOST if held else State.OFF}
        assert ("✗" in Figure(rec.graph).text) is held
        assert {w.held for w in parameters.weights if w.name.startswith("ws")} == {True}


# --- reach and will_it_move -----------------------------------------------------------------------


def groups_in(text: str) -> list[str]:
    return re.findall(r"^ {4}(\S+) ", text, re.MULTILINE)


def test_reach_tells_the_groups_of_the_picture() -> None:
    recording, names = recorded("gpt2", CUT)
    told = reach(names["loss"], names["model"], recording=recording)
    lost = [line.name for line in parameters_of(recording).lines() if line.level == 1][:3]
    assert groups_in(str(told))[:3] == lost
    heads = [line for line in str(told).splitlines() if line[:1] in "✗✓"]
    reason = "✂ detach gpt2.py line 48, inside transformer.h.5 · attn → ln_2"
    assert heads == [f"✗ no path: {reason}", "✓ reached"]
    # complete as data, and on request
    assert len(told.rows) == 149
    assert len(told.full.splitlines()) == 151
    assert str(told).splitlines()[-1] == "Every parameter in a row of its own: .full"
    assert len(str(told).splitlines()) <= 60


def test_what_no_grad_cut_is_one_reason_and_no_fault_of_a_teacher() -> None:
    recording, names = recorded("distillation")
    models = {"teacher": names["teacher"], "student": names["student"]}
    told = reach(names["loss"], models, recording=recording)
    assert groups_in(str(told)) == ["student.{0,2,6}.*", "teacher.*"]
    assert "– no path: ✂ no_grad distillation.py line 49" in str(told)
    moves = will_it_move(names["opt"], models)
    assert groups_in(str(moves)) == ["student.{0,2,6}.*", "teacher.*"]
    assert "✗" not in f"{told}{moves}"


def test_several_losses_are_told_one_after_the_other() -> None:
    net = Halves()
    with gv.record() as rec:
        cut = net(torch.ones(2, 4)).sum()
        whole = net.head(net.body(torch.ones(2, 4))).sum()
    told = str(reach({"cut": cut, "whole": whole}, net, recording=rec))
    heads = [line for line in told.splitlines() if line[:1] in "✗✓"]
    assert heads[0].startswith("✗ cut: no path: ✂ detach ")
    assert heads[1:] == ["✓ cut: reached", "✓ whole: reached"]


def test_few_parameters_are_listed_one_by_one_however_many_losses_there_are() -> None:
    recording, names = recorded("gan")
    losses = {name: names[name] for name in ("lossD", "lossG")}
    told = str(reach(losses, {"G": names["G"], "D": names["D"]}, recording=recording))
    assert told.count("no path") == 6
    assert "✗" not in told


def test_parameters_are_called_as_variables_call_them(monkeypatch: pytest.MonkeyPatch) -> None:
    ws = [nn.Parameter(torch.ones(2)) for _ in range(20)]
    monkeypatch.setitem(globals(), "ws", ws)
    for w in ws[:5]:
        w.grad = torch.ones(2)
    told = will_it_move(torch.optim.SGD(ws, lr=0.1))
    assert groups_in(str(told))[0] == "ws[5..19]"
    assert "ws[0..4]" in groups_in(str(told))
    assert [row.name for row in told.rows] == [f"ws[{i}]" for i in range(20)]


def test_reasons_that_one_parameter_alone_has_are_not_a_section_each() -> None:
    ws = {f"w{i}": nn.Parameter(torch.ones(2)) for i in range(40)}
    optimizer = torch.optim.SGD(ws.values(), lr=0.1, momentum=0.9)
    for i, w in enumerate(ws.values()):
        w.grad = torch.full((2,), 1.0 + i)
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)
    told = will_it_move(optimizer, ws)
    assert len({row.why for row in told.rows}) == 40
    heads = [line for line in str(told).splitlines() if line[:1] == "✓"]
    assert len(heads) == 1
    assert heads[0].endswith("and 38 more")
    assert len(str(told).splitlines()) <= 60


# --- what is tied, and what is in a list ----------------------------------------------------------


class Tied(nn.Module):
    """A module that is never called, though another one uses its weight."""

    def __init__(self) -> None:
        super().__init__()
        self.spare = nn.Linear(4, 4)
        self.used = nn.Linear(4, 4)
        self.used.weight = self.spare.weight
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.used(x)
        for layer in self.layers:
            x = layer(x).tanh()
        return x


def test_a_module_that_is_never_called_has_its_card_though_it_is_tied() -> None:
    net = Tied()
    names: dict[str, Any] = {"net": net, "opt": torch.optim.SGD(net.parameters(), lr=0.1)}
    with gv.record().look_into(names) as rec:
        net(torch.ones(2, 4)).sum().backward()
    assert [n for n, p in net.named_parameters() if p.grad is None] == ["spare.bias"]
    text = Figure(rec.graph).text
    assert "one cause: spare never called" in text
    assert "✗ spare: never called, 0 of 1 param" in text


def test_a_place_in_a_list_names_what_no_variable_names() -> None:
    names: dict[str, Any] = {"ws": [nn.Parameter(torch.eye(4)) for _ in range(45)]}
    with gv.record().look_into(names) as rec:
        y = torch.ones(2, 4)
        for i in range(45):
            y = y @ names["ws"][i]
        y.sum().backward()
    lines: list[Line] = parameters_of(rec).lines()
    assert [line.name for line in lines if line.level == 1] == ["ws[0..44]"]
    assert state(Figure(rec.graph))["table"][1]["cells"][0] == "ws[0..44]"


# --- random trees of modules ----------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(0, 60, 4))
def test_random_trees_of_modules(seed: int) -> None:
    """What the groups say is what ``.grad`` says, whatever the tree."""
    names: dict[str, Any] = {}
    recording = gv.record().look_into(names)
    run(make(seed).source, f"random_{seed}.py", lambda: recording, names)
    parameters = parameters_of(recording)
    real = torch_parameters(names)
    assert sorted(parameters.names) == sorted(real)
    assert sorted(i for g in parameters.groups for i in g.members) == list(range(len(real)))
    for group in parameters.groups:
        told = {parameters.state(parameters.weights[i]) for i in group.members}
        reasons = {parameters.reason(parameters.weights[i]) for i in group.members}
        assert len(told) == len(reasons) == 1
        for i in group.members:
            assert told <= SAYS[truth(real[parameters.names[i]])], parameters.names[i]
            assert pattern_of(group.name).fullmatch(parameters.names[i])
    assert len(parameters.lines()) <= 60
