"""The healthy scripts: what torch gives their parameters, and that this is always the same."""

from __future__ import annotations

import ast

import pytest
import torch
from model_scripts import (
    MARKER,
    Counts,
    count,
    marker_line,
    model_names,
    named_parameters,
    read,
    run,
    setup_and_cell,
    states,
)

# Written down from what each model is: blocks times parameters of a block, and so on.
HEALTHY = {
    "actor_critic": Counts(some=2 * 2 + 2 + 2 * 2),
    "attention": Counts(some=4 + 2, unowned=4 + 2),
    "contrastive": Counts(some=4 + 3 + 2 + 1),
    "distillation": Counts(some=3 * 2, none=3 + 8 * 6 + 2, unowned=3 + 8 * 6 + 2),
    "encoder_decoder": Counts(some=2 + 4 * 6 + 4 * 10 + 2),
    "flow": Counts(some=4 * 4 + 2),
    "forty_cards": Counts(some=1 + 2 + 2 + 3),
    "gan": Counts(some=3 * 2 + 3 * 2),
    "gpt2": Counts(some=2 + 12 * 12 + 2),
    "gpt_96": Counts(some=2 + 96 * 12 + 2 + 1),
    "lightning_step": Counts(some=2 * 2 + 2 + 2),
    "lora_checkpoint": Counts(some=6 * 2 * 2, frozen=1 + 6 * 10 + 2),
    "maml": Counts(some=2 * 2),
    "mixtral_moe": Counts(some=1 + 3 * (2 + 2 + 1 + 4 * 3) + 1 + 1),
    "moe": Counts(some=2 + 2 + 6 * 4 + 2 + 2),
    "multi_task": Counts(some=2 + 2 + 5 * 2),
    "ppo": Counts(some=2 * 2 + 2 + 2),
    "resnet_frozen": Counts(some=3 + 3 * 12 + 2 * 3 + 2, frozen=12 + 3),
    "rnn": Counts(some=2 * 2 + 2),
    "script": Counts(some=11, unowned=11),
    "training_loop": Counts(some=2 + 2),
    "unet": Counts(some=9 * 6 + 2),
    "vae": Counts(some=2 + 2 * 2 + 2 * 2),
}


@pytest.mark.parametrize("name", model_names())
def test_torch_gives_each_parameter_what_the_model_says(name: str) -> None:
    assert count(run(read(name), f"{name}.py")) == HEALTHY[name]


def test_every_script_has_its_counts() -> None:
    assert model_names() == sorted(HEALTHY)


@pytest.mark.parametrize("name", model_names())
def test_two_runs_give_the_same_gradients(name: str) -> None:
    torch.manual_seed(1)
    first = named_parameters(run(read(name), f"{name}.py"))
    torch.manual_seed(2)
    second = named_parameters(run(read(name), f"{name}.py"))
    for path, parameter in first.items():
        grad, other = parameter.grad, second[path].grad
        assert (grad is None) == (other is None)
        assert grad is None or torch.equal(grad, other)


@pytest.mark.parametrize("name", model_names())
def test_setup_and_cell_are_the_script(name: str) -> None:
    source = read(name)
    setup, cell = setup_and_cell(source)
    assert setup + MARKER + "\n" + cell == source
    assert ast.parse(setup).body
    assert source.splitlines()[marker_line(source)] == cell.splitlines()[0]
    assert "torch.manual_seed(0)" in setup


@pytest.mark.parametrize("name", model_names())
def test_scripts_need_torch_alone(name: str) -> None:
    imported = [
        (node.module or "") if isinstance(node, ast.ImportFrom) else node.names[0].name
        for node in ast.walk(ast.parse(read(name)))
        if isinstance(node, (ast.Import, ast.ImportFrom))
    ]
    assert {module.split(".")[0] for module in imported} == {"torch"}


def test_recurrent_steps_experts_and_checkpoints_are_there() -> None:
    calls: dict[str, list[str]] = {}
    for name in ("rnn", "moe", "lora_checkpoint"):
        setup, cell = setup_and_cell(read(name))
        names = run(f"{setup}{MARKER}\n", name)
        calls[name] = []
        for path, module in names["model"].named_modules():
            module.register_forward_pre_hook(
                lambda _m, _i, path=path, name=name: calls[name].append(path)
            )
        exec(cell, names)
    assert calls["rnn"].count("cell") == 200
    assert {f"moe.experts.{i}" for i in range(6)} <= set(calls["moe"])
    # a checkpointed block runs once forward and once more inside backward
    assert calls["lora_checkpoint"].count("base_model.layers.3") == 2


def test_states_name_what_a_part_gets() -> None:
    found = states(run(read("resnet_frozen"), "resnet_frozen.py"))
    frozen = {path for path, state in found.items() if state == "frozen"}
    assert frozen == {path for path in found if path.startswith("layer3.")}
