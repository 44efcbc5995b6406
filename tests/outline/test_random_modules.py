"""The random trees of modules run under torch, and torch agrees with what is expected of them."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from model_scripts import Namespace, named_parameters
from random_modules import CUT_SHARE, RandomModules, make

SEEDS = range(60)
FEATURES = {
    "nested part",
    "list",
    "loop",
    "branch",
    "skip",
    "used again",
    "unused result",
    "second output",
    "never called",
    "frozen",
    "tied weight",
    "no_grad",
    ".detach()",
    ".data",
}


@pytest.fixture(params=SEEDS, ids=lambda seed: f"seed-{seed}", scope="module")
def made(request: pytest.FixtureRequest) -> RandomModules:
    return make(request.param)


@pytest.fixture(scope="module")
def names(made: RandomModules) -> Namespace:
    """What the script has made when it is over."""
    return made.run()


def test_every_seed_runs_and_its_loss_goes_backward(names: Namespace) -> None:
    assert names["loss"].isfinite()
    assert names["loss"].grad_fn is not None
    with_gradient = [p for p in names["model"].parameters() if p.grad is not None]
    assert any(p.grad.count_nonzero() for p in with_gradient)


def test_torch_gives_gradients_to_the_parameters_that_are_expected_to_get_one(
    made: RandomModules,
    names: Namespace,
) -> None:
    expected = made.expect(names)
    parameters = named_parameters(names)
    given = {name for name, p in parameters.items() if p.grad is not None}
    frozen = {name for name, p in parameters.items() if not p.requires_grad}
    assert given == expected.reached
    assert frozen == expected.frozen
    assert set(parameters) - given - frozen == expected.lost


def test_modules_are_called_in_the_order_that_is_expected(made: RandomModules) -> None:
    names, step = made.prepare()
    called: list[str] = []
    for path, module in names["model"].named_modules():
        if path:
            module.register_forward_pre_hook(lambda _m, _i, path=path: called.append(path))
    step()
    expected = made.expect(names)
    assert called == list(expected.calls)
    has_forward = {
        path
        for path, module in names["model"].named_modules()
        if path and not isinstance(module, torch.nn.ModuleList)
    }
    assert has_forward - set(called) == expected.never_called


def test_every_lost_parameter_has_a_cut_a_silent_module_or_an_unused_result(
    made: RandomModules,
    names: Namespace,
) -> None:
    expected = made.expect(names)
    behind_a_cut = frozenset().union(*(cut.behind for cut in expected.cuts))
    model = names["model"]
    silent = {
        name
        for path in expected.never_called
        for name in (f"{path}.{inner}" for inner, _ in model.get_submodule(path).named_parameters())
    }
    rest = expected.lost - behind_a_cut - silent
    assert not rest or "unused result" in made.features
    lines = made.source.splitlines()
    for cut in expected.cuts:
        line = lines[cut.line - 1]
        before = "".join(lines[cut.line - 4 : cut.line - 1])
        assert cut.word in line or (cut.word == "no_grad" and "torch.no_grad()" in before)


def test_a_step_gives_the_same_gradients_as_the_script(
    made: RandomModules,
    names: Namespace,
) -> None:
    script = named_parameters(names)
    prepared, step = made.prepare()
    loss = step()
    assert loss.grad_fn is not None
    by_step = named_parameters(prepared)
    assert list(script) == list(by_step)
    for name, parameter in script.items():
        grad, other = parameter.grad, by_step[name].grad
        assert (grad is None) == (other is None)
        assert grad is None or torch.equal(grad, other)


def test_a_seed_always_gives_the_same_script() -> None:
    assert [make(seed).source for seed in SEEDS] == [make(seed).source for seed in SEEDS]
    assert len({make(seed).source for seed in SEEDS}) == len(SEEDS)


def test_the_seeds_hold_everything_that_is_promised() -> None:
    trees = [make(seed) for seed in SEEDS]
    occurs = Counter(feature for tree in trees for feature in tree.features)
    assert set(occurs) == FEATURES
    assert min(occurs.values()) >= 8, occurs
    sizes = [tree.modules for tree in trees]
    assert (min(sizes), max(sizes)) == (4, 22)
    share = sum(tree.cut_edges for tree in trees) / sum(tree.edges for tree in trees)
    assert abs(share - CUT_SHARE) < 0.03
    with_loss = [tree for tree in trees if tree.expect(tree.run()).lost]
    assert len(SEEDS) / 4 < len(with_loss) < len(SEEDS)
