"""What is meant is not told as a fault, and what stands beside it is found: each with programs that
are alike and right."""

from __future__ import annotations

import linecache
import textwrap
from typing import Any

import pytest
import torch
from torch import nn

import gradviz as gv

pytestmark = pytest.mark.dear(20)


def told(program: str, *subjects: str) -> Any:
    """Return the answer about some expressions of a program; the bare one where there are none."""
    code = "import copy, torch\nfrom torch import nn\nfrom torch.nn import functional as F\n"
    code += textwrap.dedent(program)
    name = f"meant_{abs(hash(code))}.py"
    linecache.cache[name] = len(code), None, code.splitlines(True), name
    names: dict[str, Any] = {}
    with gv.record() as recording:
        exec(compile(code, name, "exec"), names)
    known = {n: v for n, v in names.items() if n[:2] != "__"}
    given = [eval(subject, names) for subject in subjects]
    return gv.explain(*given, recording=recording, names=known)


A2C = """
class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor, self.critic = nn.Linear(3, 2), nn.Linear(3, 1)
        self.actor_optim = torch.optim.SGD(self.actor.parameters(), lr=0.1)
        self.critic_optim = torch.optim.SGD(self.critic.parameters(), lr=0.1)
agent = Agent()
for _ in range(3):
    x, reward = torch.randn(8, 3), torch.randn(8)
    advantage = reward - agent.critic(x).squeeze(-1)
    critic_loss = advantage.pow(2).mean()
    actor_loss = -(advantage.detach() * agent.actor(x).log_softmax(-1)[:, 0]).mean()
    agent.critic_optim.zero_grad()
    critic_loss.backward()
    agent.critic_optim.step()
    agent.actor_optim.zero_grad()
    actor_loss.backward()
    agent.actor_optim.step()
"""


def test_a_detach_between_two_losses_that_both_train_is_no_fault() -> None:
    answer = told(A2C)
    assert answer.cause == "healthy"
    assert not answer.mend


def test_optimizers_that_a_module_holds_are_known() -> None:
    late = """
    class Trainer(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Linear(3, 1)
            self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
        def forward(self):
            for _ in range(3):
                self.net(torch.randn(4, 3)).pow(2).mean().backward()
                {first}
                {second}
    trainer = Trainer()
    trainer()
    """
    clear, step = "self.optimizer.zero_grad()", "self.optimizer.step()"
    assert told(late.format(first=clear, second=step)).cause == "cleared_too_often"
    assert told(late.format(first=step, second=clear)).cause == "healthy"


TARGET = """
online = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
target = copy.deepcopy(online).requires_grad_(False)
optimizer = torch.optim.SGD(online.parameters(), lr=0.1)
for _ in range(4):
    x = torch.randn(8, 3)
    with torch.no_grad():
        aim = target(x)
    (online(x) - aim).pow(2).mean().backward()
    {first}
    {second}
"""


def test_statistics_of_a_target_explain_no_weight_that_stays() -> None:
    clear, step = "optimizer.zero_grad()", "optimizer.step()"
    assert told(TARGET.format(first=clear, second=step)).cause == "cleared_too_often"


def test_no_backward_where_none_is_wanted_is_observed() -> None:
    forward = "net = nn.Linear(2, 1)\nout = net(torch.ones(1, 2))\n"
    assert told(forward).is_observed
    wanted = forward + "optimizer = torch.optim.SGD(net.parameters(), lr=0.1)\noptimizer.step()\n"
    assert not told(wanted).is_observed


HOOKED = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(()))
    def forward(self, x):
        return x * self.w
net = Net()
net.register_full_backward_hook(lambda module, into, out: None)
x = torch.ones((), requires_grad=True)
{call}.backward()
"""


def test_hooks_that_forward_as_a_method_passes_by() -> None:
    assert "No hook of net runs" in str(told(HOOKED.format(call="net.forward(x)")))
    assert "No hook" not in str(told(HOOKED.format(call="net(x)")))


REVERSED = """
class Reverse(nn.Module):
    def forward(self, x):
        return x.view_as(x)
    def backward(self, g):
        return -g
net, reverse = nn.Linear(2, 1), Reverse()
out = reverse(net(torch.ones(1, 2)))
out.sum().backward()
"""


def test_a_module_with_a_method_called_backward() -> None:
    assert "Reverse.backward" in str(told(REVERSED))
    trainer = REVERSED.replace("return -g", "g.sum().backward()")
    assert "Reverse.backward" not in str(told(trainer))
    called = REVERSED + "reverse.backward(torch.ones(1))\n"
    assert "Reverse.backward" not in str(told(called))


@pytest.mark.parametrize("container", ["nn.Sequential(*{})", "nn.ModuleList({})"])
def test_one_layer_times_a_number(container: str) -> None:
    program = """
    class Stack(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = {layers}
        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return x
    net = Stack()
    net(torch.ones(1, 2)).sum().backward()
    """
    one = told(program.format(layers=container.format("([nn.Linear(2, 2)] * 3)")))
    assert "is one layer, 3 times" in str(one)
    several = told(program.format(layers=container.format("[nn.Linear(2, 2) for _ in range(3)]")))
    assert "is one layer" not in str(several)


RECURRENT = """
rnn = nn.{kind}(3, 4, num_layers=2)
optimizer = torch.optim.SGD(rnn.parameters(), lr=0.1)
_, state = rnn(torch.randn(5, 2, 3))
state = state[0] if isinstance(state, tuple) else state
loss = state[{layer}].pow(2).sum()
loss.backward()
"""


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_a_layer_whose_state_nothing_reads(kind: str) -> None:
    first = told(RECURRENT.format(kind=kind, layer=0))
    assert first.cause == "zero_gradient"
    assert "only a part of them is read" in first.why
    assert told(RECURRENT.format(kind=kind, layer=-1)).cause == "healthy"


WARP = """
net = nn.Linear(2, 32)
grid = net(torch.randn(1, 2)).tanh().view(1, 4, 4, 2) * 0.9
out = F.grid_sample(torch.rand(1, 1, 6, 6), grid, mode="{mode}", align_corners=True)
out.pow(2).sum().backward()
"""


def test_the_nearest_element_has_no_slope() -> None:
    assert "mode='nearest'" in told(WARP.format(mode="nearest")).why
    assert told(WARP.format(mode="bilinear")).cause == "healthy"


PARAMETERS = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(2, 1)
        self.parts = {parts}
    def forward(self, x):
        return self.out(x * {use})
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    net(torch.ones(1, 2)).sum().backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("parts", "use", "container"),
    [
        ("[nn.Parameter(torch.ones(2))]", "self.parts[0]", "nn.ParameterList"),
        ("{'a': nn.Parameter(torch.ones(2))}", "self.parts['a']", "nn.ParameterDict"),
        ("[nn.Linear(2, 2)]", "self.parts[0](x)", "nn.ModuleList"),
        ("{'a': nn.Linear(2, 2)}", "self.parts['a'](x)", "nn.ModuleDict"),
        ("[{'a': nn.Parameter(torch.ones(2))}]", "self.parts[0]['a']", "nn.ModuleList"),
    ],
)
def test_the_container_is_that_of_what_it_holds(parts: str, use: str, container: str) -> None:
    answer = told(PARAMETERS.format(parts=parts, use=use))
    assert answer.cause == "not_moved"
    assert container in answer.mend


def test_a_list_that_holds_itself_ends() -> None:
    program = PARAMETERS.format(parts="[nn.Parameter(torch.ones(2))]", use="self.parts[0]")
    program = program.replace("net = Net()", "net = Net()\nnet.parts.append(net.parts)")
    assert told(program).cause == "not_moved"


SKIP = """
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.rep = nn.Sequential(nn.ReLU(inplace={inplace}), nn.Linear(2, 2))
    def forward(self, x):
        {line}
        return out + x
torch.manual_seed(0)
net, block = nn.Linear(2, 2), Block()
block(net(torch.randn(4, 2))).sum().backward()
"""


def test_a_block_that_writes_over_its_own_skip_connection() -> None:
    found = told(SKIP.format(inplace=True, line="out = self.rep(x)"))
    assert found.form == "argument"
    assert "x is not what it was" in found.verdict
    for inplace, line in (
        (False, "out = self.rep(x)"),
        (True, "out = self.rep(x.clone())"),
        (True, "out = x = self.rep(x)"),
    ):
        assert told(SKIP.format(inplace=inplace, line=line)).form != "argument", line


def test_what_a_block_makes_and_overwrites_itself_is_no_variable() -> None:
    program = SKIP.replace(
        "nn.ReLU(inplace={inplace}), nn.Linear(2, 2)", "nn.Linear(2, 2), nn.ReLU(inplace={inplace})"
    )
    assert told(program.format(inplace=True, line="out = self.rep(x)")).form != "argument"


# --- a gradient that is cleared, or never asked for, where nothing steps --------------------------

CLEARED = """
net = nn.Linear(3, 1)
net(torch.ones(8, 3)).pow(2).mean().backward()
{read}
net.zero_grad()
"""


def test_a_gradient_that_was_read_before_it_was_cleared_is_observed() -> None:
    read = told(CLEARED.format(read="kept = [p.grad + 0.0 for p in net.parameters()]"))
    assert read.is_observed
    assert "p.grad + 0.0" in str(read)
    assert not told(CLEARED.format(read="")).is_observed


def test_a_gradient_that_was_read_and_cleared_before_the_step_is_a_fault() -> None:
    answer = told(
        """
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            net(torch.ones(8, 3)).pow(2).mean().backward()
            size = sum(p.grad.norm() for p in net.parameters())
            opt.zero_grad()
            opt.step()
        """
    )
    assert not answer.is_observed
    assert answer.mend


def test_a_grad_that_is_read_beside_torch_func_is_asked_about() -> None:
    answer = told(
        """
        net = nn.Linear(3, 1)
        x = torch.ones(8, 3)
        loss = net(x).pow(2).mean()
        twice = torch.func.vmap(lambda one: one * 2)(x)
        print(net.weight.grad)
        """
    )
    assert answer.cause == "no_backward_yet"
    assert not answer.is_observed


def test_the_condition_of_a_mend_is_said_once() -> None:
    answer = told(
        """
        net, other = nn.Linear(3, 3), nn.Linear(3, 1)
        opt = torch.optim.SGD(other.parameters(), lr=0.1)
        for _ in range(3):
            with torch.no_grad():
                h = net(torch.ones(8, 3))
            opt.zero_grad()
            loss = other(h).pow(2).mean()
            loss.backward()
            opt.step()
        print(net.weight.grad)
        """
    )
    assert not ("only if" in answer.mend and "if it is to learn" in answer.mend)


DERIVED = """
net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1))
x, y = torch.rand(8, 2), torch.rand(8, 1)
x.requires_grad = True
out = net(x)
slopes, = torch.autograd.grad(out, x, torch.ones_like(out), create_graph=True)
curved, = torch.autograd.grad(slopes[:, 0].sum(), x, create_graph=True)
loss = (slopes[:, 1] - curved[:, 0]).pow(2).mean() + ({out} - y).pow(2).mean()
loss.backward()
"""


def of_loss(program: str) -> str:
    """Return the answer about a network and its loss."""
    names: dict[str, Any] = {"torch": torch, "nn": nn}
    with gv.record() as recording:
        exec(program, names)
    answers = [
        gv.explain(*asked, recording=recording, names={"loss": names["loss"]})
        for asked in ((names["net"], names["loss"]), (names["net"],))
    ]
    named, of_the_net = (" ".join(str(answer).split()) for answer in answers)
    assert named == of_the_net  # the loss is found
    return named


def test_a_bias_drops_out_of_a_derivative_and_one_that_is_cut_off_does_not() -> None:
    alone = of_loss(DERIVED.replace(" + ({out} - y).pow(2).mean()", ""))
    assert "loss is made of a derivative, and that does not depend on" in alone
    cut = of_loss(DERIVED.format(out="out.detach()"))
    assert "detach" in cut
    assert "drops out" not in cut


BESIDE = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head, self.side = nn.Linear(3, 4), nn.Linear(4, 1), nn.Linear(4, 1)
        self.gate = torch.zeros(())
    def forward(self, x):
        h = self.body(x)
        return {out}
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    loss = net(torch.randn(8, 3)).pow(2).mean()
    loss.backward()
    optimizer.step()
{look}
"""
# what a network leaves out while the rest of it learns, by the cause that is told
LEFT_OUT_WAYS = {
    "zero_gradient": "self.head(h) + self.gate * self.side(h)",
    "branch_not_taken": "self.head(h)",
    "not_in_loss": "(self.head(h), self.side(h))[0]",
    "cut": "self.head(h) + self.side(h).detach()",
}


@pytest.mark.parametrize("cause", LEFT_OUT_WAYS)
def test_what_nobody_looked_at_is_observed_where_the_rest_learns(cause: str) -> None:
    answer = told(BESIDE.format(out=LEFT_OUT_WAYS[cause], look=""))
    assert (answer.cause, answer.is_observed) == (cause, True)
    assert not answer.mend or answer.mend.startswith(("only if", "if "))
    assert "net.side" in answer.verdict


@pytest.mark.parametrize("cause", LEFT_OUT_WAYS)
def test_what_the_program_looked_at_is_a_fault(cause: str) -> None:
    looked = BESIDE.format(out=LEFT_OUT_WAYS[cause], look="print(net.side.weight.grad)")
    answer = told(looked)
    assert (answer.cause, answer.is_observed) == (cause, False)


def test_where_nothing_learns_it_is_a_fault() -> None:
    answer = told(BESIDE.format(out="self.gate * self.head(h)", look=""))
    assert (answer.cause, answer.is_observed) == ("zero_gradient", False)


@pytest.mark.parametrize(
    ("out", "cause"),
    [
        ("self.head(h) + nn.Parameter(self.side(h))", "cut"),
        ("self.head(h) + torch.tensor(self.side.weight.tolist()).sum()", "rebuilt_from_value"),
    ],
)
def test_what_nobody_writes_on_purpose_is_a_fault_though_the_rest_learns(
    out: str, cause: str
) -> None:
    answer = told(BESIDE.format(out=out, look=""))
    assert (answer.cause, answer.is_observed) == (cause, False)


def test_a_rate_of_zero_that_the_program_sets_is_observed() -> None:
    answer = told(BESIDE.format(out="self.head(h) + self.side(h)", look="").replace("0.1", "0.0"))
    assert (answer.cause, answer.is_observed) == ("not_moved", True)
    assert answer.mend.startswith("only if")


def test_a_part_of_an_earlier_loss_has_no_result_that_nobody_reads() -> None:
    net = nn.ModuleList(nn.Linear(3, 1) for _ in range(2))
    with gv.record() as recording:
        for layer in net:
            net.zero_grad()
            loss = layer(torch.randn(4, 3)).pow(2).mean()
            loss.backward()
    answer = gv.explain(net[0].weight, loss, recording=recording)
    assert answer.form == "in_earlier_loss"
    assert "on which backward was called before" in answer.why


IN_TURNS = """
actor, critic = nn.Linear(3, 2), nn.Linear(2, 1)
steps = {id(m): torch.optim.SGD(m.parameters(), lr=0.1) for m in (actor, critic)}
actor.requires_grad_(False)
critic.requires_grad_(False)
x = torch.randn(8, 3)
for _ in range(2):
    for model, loss_of in ((actor, lambda: -critic(actor(x)).mean()),
                           (critic, lambda: critic(actor(x)).pow(2).mean())):
        model.requires_grad_(True)
        loss = loss_of()
        steps[id(model)].zero_grad()
        loss.backward()
        steps[id(model)].step()
        model.requires_grad_(False)
"""


def test_what_is_switched_on_for_its_own_step_is_not_told_to_be_frozen() -> None:
    answer = told(IN_TURNS)
    assert answer.cause == "healthy"
    assert "frozen" not in str(answer)
    told_of = " ".join(str(answer).split())
    assert "4 of 4 parameters that are trained have a gradient, 4 of them switched off" in told_of


def test_what_is_frozen_after_its_training_is_told_to_be() -> None:
    frozen = "net.side.requires_grad_(False); optimizer.zero_grad()"
    answer = told(BESIDE.format(out="self.head(h) + self.side(h)", look=frozen))
    assert "net.side.{weight,bias}: frozen" in str(answer)


def test_a_head_of_a_teacher_that_is_asked_about_with_it_is_a_fault_only_if_it_is_to_learn() -> (
    None
):
    answer = told(
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.head = nn.Linear(3, 4), nn.Linear(4, 2)

            def forward(self, x):
                h = self.body(x)
                return self.head(h), h

        student, teacher = Net(), Net()
        opt = torch.optim.SGD([*student.parameters(), *teacher.parameters()], lr=0.1)
        for _ in range(2):
            x = torch.randn(8, 3)
            (out, h), (_, wanted) = student(x), teacher(x)
            distill = (h - wanted).pow(2).mean()
            loss = out.pow(2).mean() + distill
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "teacher",
        "distill",
    )
    assert answer.cause == "not_in_loss"
    assert "[observed]" in str(answer)
    assert "only if that is to be trained" in " ".join(str(answer).split())
