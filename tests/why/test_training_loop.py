"""What goes wrong in a training loop is found, and loops that are as they should be are left alone.
Each program stands beside one that is close to it and legitimate."""

from __future__ import annotations

import itertools
import linecache
import textwrap
from typing import Any

import pytest

import gradviz as gv
from gradviz.why.shown.explanation import Explanation

pytestmark = pytest.mark.dear(9)

NUMBER = itertools.count()
START = """
import copy
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
batches = torch.randn(4, 5, 2)
"""


def run(program: str, start: str = START) -> tuple[gv.Recording, dict[str, Any], int]:
    """Run a program under a recording; return also where its first line stands."""
    text = start + textwrap.dedent(program).lstrip("\n")
    name = f"loop_{next(NUMBER)}.py"
    linecache.cache[name] = len(text), None, text.splitlines(True), name
    names: dict[str, Any] = {"__name__": "__main__"}
    with gv.record() as recording:
        exec(compile(text, name, "exec"), names)
    return recording, names, start.count("\n")


def told(program: str, *subjects: str, start: str = START) -> Explanation:
    """Ask about a program: about its model where nothing else is named. The lines of the answer are
    counted from the program's first one."""
    recording, names, before = run(program, start)
    asked = [eval(subject, names) for subject in subjects or ("model",)]
    known = {key: value for key, value in names.items() if not key.startswith("__")}
    answer = gv.explain(*asked, recording=recording, names=known)
    return answer._replace(lines=tuple(line - before for line in answer.lines))


# --- gradients that pile up -----------------------------------------------------------------------

LOOP = """
for x in batches:
    {first}
    loss = model(x).pow(2).mean()
    {second}
    loss.backward()
    {third}
    optimizer.step()
    {last}
"""


WIDE = """
model = nn.Sequential(nn.Linear(2, 30), nn.ReLU(), nn.Linear(30, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=True)
"""


def loop(first: str = "pass", second: str = "pass", third: str = "pass", last: str = "pass") -> str:
    return LOOP.format(first=first, second=second, third=third, last=last)


@pytest.mark.parametrize("third", ["pass", "nn.utils.clip_grad_norm_(model.parameters(), 1.0)"])
@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_gradients_that_nobody_clears_pile_up(optimizer: str, third: str) -> None:
    program = f"optimizer = torch.optim.{optimizer}(model.parameters(), lr=0.1)" + loop(third=third)
    answer = told(program)
    assert (answer.cause, answer.form) == ("gradients_pile_up", "between_steps")
    assert answer.lines == (6, 8)
    assert "sum of 4 backwards" in answer.verdict


def test_a_step_by_hand_is_a_step_too() -> None:
    by_hand = """
    w = torch.ones(2, requires_grad=True)
    for x in batches:
        loss = (x @ w).pow(2).mean()
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
        {last}
    """
    assert told(by_hand.format(last="pass"), "w").cause == "gradients_pile_up"
    assert told(by_hand.format(last="w.grad.zero_()"), "w").cause == "healthy"
    assert told(by_hand.format(last="w.grad = None"), "w").cause == "healthy"
    through_data = by_hand.replace("with torch.no_grad():", "if True:")
    through_data = through_data.replace("w -= 0.1 * w.grad", "w.data -= 0.1 * w.grad.data")
    assert told(through_data.format(last="pass"), "w").cause == "gradients_pile_up"
    assert told(through_data.format(last="w.grad.data.zero_()"), "w").cause == "healthy"


@pytest.mark.parametrize(
    "program",
    [
        loop(first="optimizer.zero_grad()"),
        # of large gradients nobody sees the values
        WIDE + loop(first="optimizer.zero_grad(set_to_none=False)"),
        WIDE + loop(first="model.zero_grad(set_to_none=False)"),
        WIDE + loop(second="for p in model.parameters(): p.grad is None or p.grad.data.zero_()"),
        WIDE + loop(second="for p in model.parameters(): p.grad is None or p.grad.zero_()"),
        loop(second="optimizer.zero_grad(set_to_none=False)"),
        loop(last="model.zero_grad()"),
        loop(last="model.zero_grad(set_to_none=False)"),
        loop(first="for p in model.parameters(): p.grad = None"),
        loop(first="for p in model.parameters(): p.grad = torch.zeros_like(p)"),
        # a decay of what the last step used is meant
        loop(last="for p in model.parameters(): p.grad.mul_(0.9)"),
    ],
)
def test_gradients_that_are_cleared_or_decayed_do_not_pile_up(program: str) -> None:
    assert told(program).cause == "healthy"


def test_accumulation_over_micro_batches_is_told_apart() -> None:
    accumulated = """
    for i, x in enumerate(batches):
        (model(x).pow(2).mean() / 2).backward()
        if (i + 1) % 2 == 0:
            optimizer.step()
            optimizer.zero_grad()
    """
    assert told(accumulated).cause == "healthy"
    never = accumulated.replace("optimizer.zero_grad()", "pass")
    assert told(never).cause == "gradients_pile_up"


def test_two_losses_before_one_step_are_no_pile() -> None:
    program = loop(first="optimizer.zero_grad()", third="model(x).abs().mean().backward()")
    assert told(program).cause == "healthy"


GAN = """
critic = nn.Linear(1, 1)
of_critic = torch.optim.SGD(critic.parameters(), lr=0.1)
for x in batches:
    of_critic.zero_grad()
    critic(model(x).detach()).pow(2).mean().backward()
    of_critic.step()
    optimizer.zero_grad()
    loss = -critic(model(x)).mean()
    loss.backward()
    optimizer.step()
"""


def test_what_another_loss_adds_between_a_step_and_the_clearing_is_no_pile() -> None:
    assert told(GAN, "model", "critic").cause == "healthy"
    # in the other order the generator's loss leaves gradients that are cleared unused
    shared = """
    def update(loss, opt):
        opt.zero_grad()
        loss.backward()
        opt.step()
    critic = nn.Linear(1, 1)
    of_critic = torch.optim.SGD(critic.parameters(), lr=0.1)
    for x in batches:
        update(-critic(model(x)).mean(), optimizer)
        update(critic(model(x).detach()).pow(2).mean(), of_critic)
    """
    assert told(shared, "model", "critic").cause == "healthy"
    uncleared = GAN.replace("    of_critic.zero_grad()\n", "")
    assert told(uncleared, "model", "critic").cause == "gradients_pile_up"


READ = """
norms = []
for power in (1, 2):
    {first}
    model(batches[0]).pow(power).mean().backward()
    norms.append(model[0].weight.grad.norm())
"""


def test_gradients_read_between_backwards_are_sums() -> None:
    answer = told(READ.format(first="pass"))
    assert (answer.cause, answer.form) == ("gradients_pile_up", "read_between")
    assert answer.lines == (4,)
    for clear in ("model.zero_grad()", "model[0].weight.grad = None"):
        assert told(READ.format(first=clear)).cause == "healthy"


def test_a_sum_that_is_read_once_is_meant() -> None:
    program = READ.format(first="pass").replace("    norms.append(", "norms.append(")
    assert told(program).cause == "healthy"


# --- gradients that nothing used ------------------------------------------------------------------

MICRO = """
for i, x in enumerate(batches):
    loss = model(x).pow(2).mean()
    {before}
    loss.backward()
    {after}
    if (i + 1) % 2 == 0:
        optimizer.step()
        optimizer.zero_grad()
"""


def test_gradients_that_are_accumulated_may_be_watched_as_they_grow() -> None:
    watch = "norms.append(model[0].weight.grad.norm().item())"
    program = "norms = []" + MICRO.format(before="pass", after=watch)
    assert told(program).cause == "healthy"
    # nothing clears what the step has used: no accumulation over two batches any more
    assert told(program.replace("optimizer.zero_grad()", "pass")).cause == "gradients_pile_up"


def test_clearing_in_every_micro_batch_accumulates_nothing() -> None:
    answer = told(MICRO.format(before="optimizer.zero_grad()", after="pass"))
    assert (answer.cause, answer.lines) == ("cleared_too_often", (3, 4))
    assert "Of 2 backwards" in answer.verdict
    assert told(MICRO.format(before="pass", after="pass")).cause == "healthy"


def test_gradients_of_each_sample_that_are_kept_before_clearing_are_used() -> None:
    kept = "kept = [p.grad.clone() for p in model.parameters()]"
    assert told(MICRO.format(before="optimizer.zero_grad()", after=kept)).cause == "healthy"


def test_a_step_that_is_left_out_for_a_broken_loss_is_meant() -> None:
    program = """
    for i, x in enumerate(batches):
        optimizer.zero_grad()
        loss = model(x).pow(2).mean() * (float("nan") if i == 1 else 1.0)
        loss.backward()
        if not loss.isnan():
            optimizer.step()
    """
    assert told(program).cause == "healthy"


def test_lbfgs_clears_in_its_closure() -> None:
    program = """
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=3{more})
    def closure():
        optimizer.zero_grad()
        loss = model(batches[0]).pow(2).mean()
        loss.backward()
        return loss
    for _ in range(3):
        optimizer.step(closure)
    """
    assert told(program.format(more="")).cause == "healthy"
    assert told(program.format(more=", line_search_fn='strong_wolfe'")).cause == "healthy"


# --- gradients that are clipped at the wrong time -------------------------------------------------

CLIP = "nn.utils.clip_grad_norm_(model.parameters(), 0.01)"


@pytest.mark.parametrize("clip", [CLIP, CLIP.replace("norm", "value")])
def test_clipping_belongs_between_backward_and_step(clip: str) -> None:
    early = told(loop(first="optimizer.zero_grad()", second="pass", last=clip))
    assert (early.cause, early.form, early.lines) == ("clipped_wrong", "after_use", (8,))
    if "value" not in clip:  # which raises without gradients
        before = told(loop(first=clip, second="optimizer.zero_grad()"))
        assert (before.cause, before.lines) == ("clipped_wrong", (2,))
    assert told(loop(first="optimizer.zero_grad()", third=clip)).cause == "healthy"


def test_a_clip_before_the_only_backward_met_nothing() -> None:
    one = """
    loss = model(batches[0]).pow(2).mean()
    {before}
    loss.backward()
    {after}
    optimizer.step()
    """
    answer = told(one.format(before=CLIP, after="pass"))
    assert (answer.cause, answer.form) == ("clipped_wrong", "nothing_there")
    assert answer.lines == (2,)
    assert told(one.format(before=CLIP, after=CLIP)).cause == "healthy"
    assert told(one.format(before="pass", after=CLIP)).cause == "healthy"


def test_a_sum_is_clipped_once() -> None:
    answer = told(MICRO.format(before="pass", after=CLIP))
    assert (answer.cause, answer.form) == ("clipped_wrong", "each_backward")
    assert answer.lines == (5,)
    once = MICRO.format(before="pass", after="pass").replace(
        "        optimizer.step()", f"        {CLIP}\n        optimizer.step()"
    )
    assert told(once).cause == "healthy"


def test_scaling_each_gradient_by_hand_is_no_clip() -> None:
    scaled = MICRO.format(before="pass", after="for p in model.parameters(): p.grad.mul_(0.5)")
    assert told(scaled).cause == "healthy"


# --- freezes without effect -----------------------------------------------------------------------

TRAIN = """
for x in batches[:2]:
    optimizer.zero_grad()
    loss = model(x).pow(2).mean()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    "freeze",
    [
        "model[0].requires_grad = False",
        "model[0].require_grad = False",
        "model[0].trainable = False",
        "for layer in model[:2]:\n    layer.requires_grad = False",
        "for p in model[0].parameters():\n    p.require_grad = False",
        "for p in model[0].parameters():\n    p.requires_grads = False",
        "for p in model[0].parameters():\n    p.requires_grad_ = False",
        "model[0].weight.data.requires_grad = False",
        "model[0].weight.detach().requires_grad_(False)",
        "for p in model[0].parameters():\n    p.data.requires_grad = False",
    ],
)
def test_a_flag_on_what_autograd_does_not_read_freezes_nothing(freeze: str) -> None:
    for subject in ("model", "model[0].weight"):
        answer = told(freeze + TRAIN, subject)
        assert answer.cause == "freeze_without_effect", freeze
        assert answer.lines == (freeze.count("\n") + 1,)
        assert "model.0" in answer.verdict or "model[0]" in answer.verdict
    assert told(freeze + TRAIN, "model[2].weight").cause == "healthy"


@pytest.mark.parametrize(
    "freeze",
    [
        "model[0].requires_grad_(False)",
        "for p in model[0].parameters():\n    p.requires_grad = False",
        # the flag beside the attribute is what counts
        "model[0].requires_grad = False\nmodel[0].requires_grad_(False)",
        # a snapshot that somebody keeps
        "before = model[0].weight.data.requires_grad_(False)\nbefore = before.clone()",
        # an attribute of its own, which the class reads
        """
class Own(nn.Linear):
    def __init__(self):
        super().__init__(2, 3)
        self.requires_grad = False
model = nn.Sequential(Own(), nn.Linear(3, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)""",
    ],
)
def test_freezes_that_work_and_attributes_of_a_class_are_left_alone(freeze: str) -> None:
    assert told(freeze + TRAIN).cause == "healthy"


def test_a_module_that_stays_frozen_is_told() -> None:
    program = "model.requires_grad_(False)\nmodel.requires_grad = True\nmodel(batches[0])"
    assert told(program).cause == "freeze_without_effect"
    assert told(program.replace("model.requires_grad = True\n", "")).cause == "frozen"


def test_a_freeze_that_is_undone_before_any_use() -> None:
    program = """
    for p in model[0].parameters():
        p.requires_grad = False
    groups = []
    for p in model.parameters():
        {again}
        groups.append(p)
    optimizer = torch.optim.SGD(groups, lr=0.1)
    """
    answer = told(textwrap.dedent(program).format(again="p.requires_grad = True") + TRAIN)
    assert (answer.cause, answer.form) == ("freeze_without_effect", "undone")
    assert answer.lines == (5,)
    assert told(textwrap.dedent(program).format(again="pass") + TRAIN).cause == "healthy"


IN_TURN = """
for batch in batches:
    model[0].requires_grad_(True)  # learns
    model(batch).mean().backward()
    optimizer.step()
    model[0].requires_grad_(False)  # rests
    {used}
model[0].requires_grad_(True)  # in the end
model(batches[0]).mean().backward()
"""


def test_a_freeze_that_was_of_use_in_each_round_but_the_last_is_not_undone() -> None:
    told_of = told(IN_TURN.format(used="pass"))
    assert (told_of.cause, told_of.form) == ("freeze_without_effect", "undone")
    used = "if batch is not batches[-1]: model(batch).mean().backward()"
    assert told(IN_TURN.format(used=used)).cause != "freeze_without_effect"


@pytest.mark.parametrize(
    "freeze",
    [
        # all but the head
        "model.requires_grad_(False)\nmodel[2].requires_grad_(True)",
        "for p in model.parameters():\n    p.requires_grad = False\n"
        "for p in model[2].parameters():\n    p.requires_grad = True",
        # thawed after it was used
        "model[0].requires_grad_(False)\nmodel(batches[0]).mean().backward()\n"
        "optimizer.step()\nmodel[0].requires_grad_(True)",
    ],
)
def test_thawing_a_part_or_later_is_meant(freeze: str) -> None:
    assert told(freeze + TRAIN).cause == "healthy"


# --- a learning rate of zero ----------------------------------------------------------------------

WARM_UP = """
def warm_up(step, steps=10):
    if step < steps:
        return step / steps
    return max(0.0, 1 - (step - steps) / 100)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, {function})
{first}
"""


@pytest.mark.parametrize("kind", ["SGD", "AdamW"])
def test_a_learning_rate_of_zero_is_told_with_its_line(kind: str) -> None:
    program = f"optimizer = torch.optim.{kind}(model.parameters(), lr=0.0)" + TRAIN
    for subjects in (["model"], ["model", "optimizer"], ["model[0].weight"]):
        answer = told(program, *subjects)
        assert (answer.cause, answer.form, answer.lines) == ("not_moved", "zero_rate", (1,))


@pytest.mark.parametrize(
    ("function", "line"), [("warm_up", 4), ("lambda step: min(1.0, step / 10)", 7)]
)
def test_a_schedule_that_begins_at_zero_is_told_with_its_line(function: str, line: int) -> None:
    program = WARM_UP.format(function=function, first="pass").lstrip("\n") + TRAIN
    answer = told(program)
    assert (answer.cause, answer.form) == ("not_moved", "zero_rate_scheduled")
    assert answer.lines == (line - 1,)
    assert told(program + "    scheduler.step()\n").cause == "healthy"


def test_a_schedule_that_ends_at_zero_has_moved_the_weights() -> None:
    program = """
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)
    for x in batches:
        optimizer.zero_grad()
        model(x).pow(2).mean().backward()
        optimizer.step()
        scheduler.step()
    """
    assert told(program).cause == "healthy"
    assert told(WIDE + textwrap.dedent(program).lstrip("\n")).cause == "healthy"


def test_a_group_at_zero_that_nobody_asks_about_is_left_alone() -> None:
    program = """
    other = nn.Linear(2, 1)
    optimizer.add_param_group({"params": other.parameters(), "lr": 0.0})
    """
    assert told(textwrap.dedent(program).lstrip("\n") + TRAIN, "model[0].weight").cause == "healthy"


# --- what no optimizer holds ----------------------------------------------------------------------


def test_a_part_that_no_optimizer_holds_is_noted_and_may_be_meant() -> None:
    program = "optimizer = torch.optim.SGD(model[2].parameters(), lr=0.1)" + TRAIN
    for subjects in (["model"], ["model", "optimizer"], ["model[0]"], ["model[0].weight"]):
        assert told(program, *subjects).cause == "left_out"
    assert told(program, "model[2]").cause == "healthy"
    frozen = "model[0].requires_grad_(False)\n" + program
    assert told(frozen).cause == "healthy"


BUILT = """
groups = []
group = {"params": []}
for p in model[0].parameters():
    group["params"].append(p)
groups.append(group)
group = {"params": []}
for p in model[2].parameters():
    group["params"].append(p)
{last}
optimizer = torch.optim.SGD(groups, lr=0.1)
"""


def test_a_group_that_was_built_and_not_given_to_the_optimizer_is_found() -> None:
    built = BUILT.lstrip("\n")
    for subject in ("model", "model[2]"):
        answer = told(built.replace("{last}", "pass") + TRAIN, subject)
        assert (answer.cause, answer.form, answer.lines) == ("not_moved", "group_unused", (8,))
        assert "group['params']" in answer.verdict
    assert told(built.replace("{last}", "groups.append(group)") + TRAIN).cause == "healthy"
    listed = "rest = list(model[0].parameters())\n"
    listed += "optimizer = torch.optim.SGD(model[2].parameters(), lr=0.1)" + TRAIN
    answer = told(listed)
    assert (answer.form, answer.lines) == ("group_unused", (1,))


# --- buffers --------------------------------------------------------------------------------------

BUFFER = """
class Slots(nn.Module):
    def __init__(self):
        super().__init__()
        self.{make}
        self.head = nn.Linear(2, 1)
    def forward(self, x):
        {forward}
        return self.head(x * self.mu)
model = Slots()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
""".lstrip("\n")
LEARNED = "nn.init.xavier_uniform_(torch.zeros(1, 2))"


def test_a_buffer_in_the_place_of_a_parameter() -> None:
    made = f'register_buffer("mu", {LEARNED})'
    program = BUFFER.format(make=made, forward="pass") + TRAIN
    for subject in ("model", "model.mu"):
        answer = told(program, subject)
        assert (answer.cause, answer.lines) == ("buffer", (4,)), answer
    learned = BUFFER.format(make=f"mu = nn.Parameter({LEARNED})", forward="pass")
    assert told(learned + TRAIN).cause == "healthy"


@pytest.mark.parametrize(
    ("make", "forward"),
    [
        # constants, and statistics that forward keeps
        ('register_buffer("mu", torch.ones(1, 2))', "pass"),
        ('register_buffer("mu", torch.randn(1, 2))', "pass"),
        (f'register_buffer("mu", {LEARNED})', "self.mu.lerp_(x.detach().mean(0), 0.1)"),
    ],
)
def test_buffers_that_are_buffers_are_left_alone(make: str, forward: str) -> None:
    assert told(BUFFER.format(make=make, forward=forward) + TRAIN).cause == "healthy"


NORM = """
model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))
model[:2].requires_grad_(False)
model.train()
{then}
optimizer = torch.optim.SGD(model[2].parameters(), lr=0.1)
""".lstrip("\n")


def test_statistics_of_a_frozen_norm_are_told_of_themselves_and_with_the_line() -> None:
    for subject in ("model", "model[1].running_mean", "model[1].running_var"):
        answer = told(NORM.format(then="pass") + TRAIN, subject)
        assert answer.cause == "batch_norm_moves"
        assert 3 in answer.lines
    assert told(NORM.format(then="model[1].eval()") + TRAIN).cause == "healthy"
    still = told(NORM.format(then="model[1].eval()") + TRAIN, "model[1].running_mean")
    assert still.cause == "never_tracked"
    trainer = "class Trainer:\n    def train(self):\n        pass\nTrainer().train()"
    own = told(NORM.replace("model.train()", trainer).format(then="pass") + TRAIN)
    assert own.cause == "batch_norm_moves"
    assert 6 not in own.lines  # it switches no model


# --- a GradScaler ---------------------------------------------------------------------------------

SCALED = """
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
for x in batches:
    optimizer.zero_grad()
    scaler.scale(model(x).pow(2).mean()).backward()
    {before}
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
""".lstrip("\n")


def test_gradients_are_unscaled_before_they_are_clipped() -> None:
    for subjects in (["model"], ["model", "scaler"], ["scaler"]):
        answer = told(SCALED.format(before="pass"), *subjects)
        assert (answer.cause, answer.form, answer.lines) == ("clipped_wrong", "scaled", (6,))
    unscaled = SCALED.format(before="scaler.unscale_(optimizer)")
    assert told(unscaled).cause == "healthy"
    assert told(
        SCALED.replace("1024.0)", "1024.0, enabled=False)").format(before="pass")
    ).cause == ("healthy")


def test_what_has_no_gradient_is_passed_over() -> None:
    scheduler = "scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)\n"
    answer = told(scheduler + "optimizer.zero_grad()" + TRAIN, "model", "scheduler")
    assert answer.cause == "healthy"
    assert any("StepLR holds no gradient" in line for line in answer.more)


# --- where it was frozen, and what forward does not call ------------------------------------------

HELPER = """
def load(net, trainable=False, **more):
    for p in net.parameters():
        p.requires_grad = trainable
    return net
model = load({passed})
model(batches[0])
""".lstrip("\n")


def test_a_helper_that_freezes_is_told_with_its_caller() -> None:
    for subject in ("model", "model[0].weight"):
        answer = told(HELPER.format(passed="model"), subject)
        assert (answer.cause, answer.lines) == ("frozen", (3, 5))
        assert "load(…, trainable=True)" in answer.mend
    # the caller said so itself, or may have
    for passed in ("model, False", "model, trainable=False", "model, **{}"):
        assert "trainable=True" not in told(HELPER.format(passed=passed)).mend
    assert told("model[0].weight.requires_grad_(False)", "model[0].weight").lines == (1,)


BLOCK = """
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.norm = nn.LayerNorm(3)
        self.last = nn.Linear(3, 1)
    def forward(self, x):
        x = self.first(x)
        {forward}
        return self.last(x)
model = nn.Sequential(Block())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
""".lstrip("\n")


def test_a_module_that_forward_does_not_call() -> None:
    for subject in ("model", "model[0].norm", "model[0].norm.weight"):
        answer = told(BLOCK.format(forward="pass") + TRAIN, subject)
        assert (answer.cause, answer.lines) == ("branch_not_taken", (5,))
        assert "forward of model.0 " in answer.why
    assert told(BLOCK.format(forward="x = self.norm(x)") + TRAIN).cause == "healthy"
    # its weights are read without a call of it
    by_hand = "x = F.layer_norm(x, (3,), self.norm.weight, self.norm.bias)"
    assert told(BLOCK.format(forward=by_hand) + TRAIN).cause == "healthy"


# --- hooks ----------------------------------------------------------------------------------------


def test_a_module_hook_that_reads_grad_reads_too_early() -> None:
    hook = """
    seen = []
    def note(module, grad_input, grad_output):
        seen.append({what})
    model[2].register_full_backward_hook(note)
    """
    program = textwrap.dedent(hook).lstrip("\n")
    answer = told(program.format(what="module.weight.grad") + TRAIN)
    assert (answer.cause, answer.lines) == ("read_too_early", (3,))
    assert "note()" in answer.verdict
    assert told(program.format(what="grad_output[0].norm()") + TRAIN).cause == "healthy"
    on_activation = program.format(what="model[0].weight.grad").replace("model[2]", "model[1]")
    assert told(on_activation + TRAIN).cause == "healthy"


ONE = "loss = model(batches[0]).pow(2).mean()\nloss.backward()\n"


@pytest.mark.parametrize(
    ("hook", "lines"),
    [
        ("model[0].weight.register_hook(lambda g: g * 2)\n", (1,)),
        (
            "def half(m, i, o):\n    return (i[0] / 2,)\nmodel[2].register_full_backward_hook(half)\n",
            (1,),
        ),
    ],
)
def test_a_hook_that_changed_the_gradient_is_noted(hook: str, lines: tuple[int, ...]) -> None:
    answer = told(hook + ONE, "model[0].weight")
    assert (answer.cause, answer.lines) == ("changed_by_hook", lines)
    assert told(hook + ONE, "model[2].weight").cause == "healthy"
    for same in ("None", "i", "g"):
        harmless = hook.replace("g * 2", same).replace("(i[0] / 2,)", same)
        if (same == "i") is (hook.startswith("def")) or same == "None":
            assert told(harmless + ONE, "model[0].weight").cause == "healthy"


# --- an optimizer of another model ----------------------------------------------------------------

ANEW = "nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))"


@pytest.mark.parametrize(
    ("change", "lines"),
    [
        (f"model = {ANEW}", (1, -1)),
        ("model[2] = nn.Linear(3, 1)", (1,)),
        (f"before = model\nmodel = {ANEW}", (-1,)),
        ("before = model\nmodel = copy.deepcopy(before)", (-1,)),
    ],
)
def test_an_optimizer_made_before_the_model_holds_none_of_it(
    change: str, lines: tuple[int, ...]
) -> None:
    answer = told(change + TRAIN)
    assert (answer.cause, answer.lines) == ("not_moved", lines)
    again = change + "\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)" + TRAIN
    assert told(again).cause == "healthy"


def test_twins_with_an_optimizer_each_and_a_frozen_copy_are_left_alone() -> None:
    program = """
    twin = copy.deepcopy(model)
    of_twin = torch.optim.SGD(twin.parameters(), lr=0.1)
    """
    assert told(textwrap.dedent(program).lstrip("\n") + TRAIN).cause == "healthy"
    target = "target = copy.deepcopy(model).requires_grad_(False)"
    assert told(target + TRAIN).cause == "healthy"
    # its optimizer is an attribute of something else
    kept = """
    class Trainer:
        pass
    trainer = Trainer()
    trainer.optimizer = optimizer
    before = copy.deepcopy(model)
    optimizer = torch.optim.SGD(before.parameters(), lr=0.1)
    """
    held = textwrap.dedent(kept).lstrip("\n") + TRAIN.replace("optimizer", "trainer.optimizer")
    assert told(held).cause == "healthy"


def test_a_loop_without_a_step() -> None:
    program = "for x in batches:\n    {a}\n    {b}\n    {c}\n"
    clear, step = "optimizer.zero_grad()", "optimizer.step()"
    backward = "model(x).pow(2).mean().backward()"
    for a, b, c in ((clear, backward, "pass"), (backward, clear, step)):
        answer = told(program.format(a=a, b=b, c=c))
        assert (answer.cause, answer.form) == ("cleared_too_often", "never_stepped")
    assert told(program.format(a=clear, b=backward, c=step)).cause == "healthy"
    # the gradients themselves were wanted
    read = "seen = model[0].weight.grad ** 2"
    assert told(program.format(a=clear, b=backward, c=read), "model[0].weight").cause == "healthy"


def test_training_in_eval_mode_is_noted() -> None:
    program = """
    model = nn.Sequential(nn.Linear(2, 3), nn.{layer}, nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    {mode}
    """
    program = textwrap.dedent(program).lstrip("\n") + TRAIN
    for layer in ("Dropout()", "BatchNorm1d(3)"):
        answer = told(program.format(layer=layer, mode="model.eval()"))
        assert (answer.cause, answer.lines) == ("eval_mode", (3,))
        assert told(program.format(layer=layer, mode="model.train()")).cause == "healthy"
        assert told(program.format(layer=layer, mode="model[1].eval()")).cause == "healthy"
    assert told(program.format(layer="ReLU()", mode="model.eval()")).cause == "healthy"


# --- what looks like these faults -----------------------------------------------------------------


def test_a_hook_that_returns_nothing_changed_nothing_where_two_gradients_meet() -> None:
    program = """
x = torch.randn(4, 4, requires_grad=True)
x.register_hook(lambda g: None)
loss = (x.relu() + 2 * x.relu()).pow(2).mean()
loss.backward()
"""
    assert told(program, "x", "loss").cause == "healthy"


def test_a_rate_that_is_written_later_is_told_at_that_line() -> None:
    program = """
optimizer = torch.optim.SGD(model.parameters(), lr=0)
for step, x in enumerate(batches[:1]):
    optimizer.param_groups[0]["lr"] = 0.1 * step
    optimizer.zero_grad()
    loss = model(x).pow(2).mean()
    loss.backward()
    optimizer.step()
"""
    found = told(program, "model", "optimizer")
    assert found.cause == "not_moved"
    assert 'optimizer.param_groups[0]["lr"] = 0.1 * step' in found.where
    assert "lr=0)" not in found.where


# --- what is told is proven -----------------------------------------------------------------------


def test_a_rate_that_no_schedule_made_zero_is_not_blamed_on_one() -> None:
    program = """
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 100)
    for x in batches:
        optimizer.zero_grad()
        model(x).pow(2).mean().backward()
        optimizer.step()
        scheduler.step()
    optimizer.param_groups[0]["lr"] = 0.0
    """
    answer = told(program, "model", "optimizer")
    assert (answer.cause, answer.form, answer.lines) == ("not_moved", "zero_rate_written", (8,))
    assert "StepLR" not in str(answer)


def test_a_schedule_that_ended_is_not_told_to_begin_above_zero() -> None:
    program = """
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, {end}, total_iters=2)
    for x in batches:
        optimizer.zero_grad()
        model(x).pow(2).mean().backward()
        optimizer.step()
        scheduler.step()
    """
    answer = told(program.format(end=0.0), "model", "optimizer")
    assert (answer.cause, answer.form) == ("not_moved", "zero_rate_ended")
    assert "LinearLR" in answer.verdict
    assert told(program.format(end=0.1), "model", "optimizer").cause == "healthy"


@pytest.mark.parametrize(
    ("layer", "matters"),
    [
        ("Dropout(0.0)", False),
        ("Dropout(0.1)", True),
        ("BatchNorm1d(3, track_running_stats=False)", False),
        ("BatchNorm1d(3)", True),
    ],
)
def test_eval_mode_is_told_of_layers_alone_to_which_it_matters(layer: str, matters: bool) -> None:
    program = f"""
    model = nn.Sequential(nn.Linear(2, 3), nn.{layer}, nn.Linear(3, 1)).eval()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    """
    program = textwrap.dedent(program).lstrip("\n") + TRAIN
    assert told(program).cause == ("eval_mode" if matters else "healthy")


GATE = """
class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 3)
        {begin}
    def forward(self, x):
        return {result}
model = nn.Sequential(Gate(), nn.Linear(3, 1))
{switch}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""


@pytest.mark.parametrize("readable", [True, False])
@pytest.mark.parametrize("begin", ["self.trainable = True", "self.trainable = False", "pass"])
def test_a_switch_that_a_class_reads_has_an_effect(
    begin: str, readable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not readable:
        monkeypatch.setattr(linecache, "cache", {})
    read = "self.layer(x) if self.trainable else 0.5 * self.layer(x)"
    switch = "model[0].trainable = False"
    own = told(GATE.format(begin=begin, result=read, switch=switch) + TRAIN)
    assert own.cause == "healthy"
    if begin == "pass":
        unread = GATE.format(begin=begin, result="self.layer(x)", switch=switch)
        assert told(unread + TRAIN).cause == "freeze_without_effect"


def test_of_two_statements_in_one_line_none_is_said_to_clip() -> None:
    program = """
    scaler = torch.amp.GradScaler("cpu", init_scale={scale})
    for x in batches:
        optimizer.zero_grad()
        scaler.scale(model(x).pow(2).mean()).backward()
        {clip}scaler.step(optimizer)
        scaler.update()
    """
    clip = "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)"
    alone = told(program.format(scale=8.0, clip=clip + "\n        "))
    assert alone.form == "scaled"
    assert "clip_grad_norm_()" in alone.verdict
    together = told(program.format(scale=8.0, clip=clip + "; "))
    assert "step()" not in together.verdict
    # a scale of 1 leaves gradients as they are
    assert told(program.format(scale=1.0, clip=clip + "\n        ")).cause == "healthy"


def test_one_parameter_is_told_in_the_singular() -> None:
    program = """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 2)
            self.scales = [nn.Parameter(torch.ones(2)) for _ in range({n})]
        def forward(self, x):
            return sum(self.layer(x) * scale for scale in self.scales)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    """
    program = textwrap.dedent(program).lstrip("\n") + TRAIN
    one, two = (told(program.format(n=n)) for n in (1, 2))
    assert one.form == two.form == "in_list"
    assert "no step moves it" in one.verdict
    assert "no step moves them" in two.verdict
    assert "if it is to learn" in one.mend
