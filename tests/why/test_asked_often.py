"""Questions that forums hear most often, each with a program of the same shape that is meant so."""

from __future__ import annotations

import pytest
from test_account import HEAD, line
from test_symptom import asked

# --- a detach() that one of two losses needs ------------------------------------------------------

GAN = (
    HEAD
    + """
G, D = nn.Linear(2, 3), nn.Linear(3, 1)
g_opt, d_opt = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (G, D))
for _ in range(2):
    fake = G(torch.randn(4, 2)).detach()
    verdict = D(fake)
    d_loss = F.softplus(verdict).mean()
    d_opt.zero_grad()
    d_loss.backward()
    d_opt.step()
    g_loss = F.softplus(-D(fake)).mean()
    g_opt.zero_grad()
    g_loss.backward()
    g_opt.step()
"""
)


def test_a_detach_moves_to_where_the_other_loss_reads_it() -> None:
    answer = asked(GAN)
    assert answer.cause == "cut"
    assert "fake.detach() in that one of these lines" in answer.mend
    assert f"verdict = D(fake) (program.py line {line(GAN, 'verdict = D(fake)')})" in answer.mend
    mended = GAN.replace(").detach()", ")").replace("= D(fake)", "= D(fake.detach())")
    assert asked(mended).cause == "healthy"


def test_a_detach_of_one_loss_alone_is_left_out() -> None:
    alone = GAN.replace("    g_loss = F.softplus(-D(fake)).mean()\n", "    g_loss = d_loss\n")
    assert ".detach() in" not in asked(alone).mend


# --- what the optimizer holds ---------------------------------------------------------------------

FROZEN = (
    HEAD
    + """
net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
for p in net.parameters():
    p.requires_grad = False
{before}
net[2] = nn.Linear(4, 2)
{after}
for _ in range(2):
    loss = F.cross_entropy(net(torch.randn(6, 3)), torch.randint(2, (6,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
)
OPTIMIZER = "opt = torch.optim.SGD(net.parameters(), lr=0.1)"


def test_a_new_last_layer_that_no_optimizer_holds_is_told_before_the_frozen_ones() -> None:
    program = FROZEN.format(before=OPTIMIZER, after="")
    answer = asked(program)
    assert answer.cause == "not_moved"
    assert "holds net.2.{weight,bias}" in answer.verdict
    assert line(program, "net[2] = nn.Linear") in answer.lines
    assert "do not freeze" not in answer.mend


def test_what_gets_a_gradient_beside_an_optimizer_of_frozen_ones_is_named() -> None:
    beside = "opt = torch.optim.SGD(net[0].parameters(), lr=0.1)"
    answer = asked(FROZEN.format(before="", after=beside))
    assert answer.cause == "not_moved"
    assert "net.2.{weight,bias}" in str(answer)
    assert "do not freeze" not in answer.mend


def test_an_optimizer_of_the_new_layer_too_is_no_fault() -> None:
    assert asked(FROZEN.format(before="", after=OPTIMIZER)).cause.level.name == "FINE"


COPIED = (
    HEAD
    + """
import copy
class Trainer:
    def __init__(self):
        self.net = nn.Linear(3, 1)
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)
    def restore(self, best):
        {restore}
    def run(self):
        for _ in range(2):
            loss = self.net(torch.ones(2, 3)).pow(2).mean()
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
trainer = Trainer()
best = copy.deepcopy(trainer.net)
trainer.run()
trainer.restore(best)
trainer.run()
"""
)


def test_a_network_that_was_replaced_by_a_copy_has_the_line_of_the_copy() -> None:
    program = COPIED.format(restore="self.net = copy.deepcopy(best)")
    answer = asked(program)
    assert answer.cause == "not_moved"
    assert line(program, "self.net = copy.deepcopy") in answer.lines
    loaded = COPIED.format(restore="self.net.load_state_dict(best.state_dict())")
    assert asked(loaded).cause == "healthy"


LISTS = (
    HEAD
    + """
class Tasks(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 3)
        self.heads = {}
        self.heads["a"] = nn.Linear(3, 1)
        self.scales = [torch.zeros(1, requires_grad=True)]
    def forward(self, x):
        return self.heads["a"](torch.relu(self.body(x)))
net = Tasks()
opt = torch.optim.Adam(net.parameters())
for _ in range(2):
    s = net.scales[0]
    loss = (torch.exp(-s) * net(torch.randn(4, 3)).pow(2).mean() + s).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
)


def test_plain_leaves_in_a_list_are_told_with_the_modules_in_a_dict() -> None:
    answer = asked(LISTS)
    assert answer.cause == "not_moved"
    assert "net.scales" in answer.mend
    assert "nn.ModuleDict" in answer.mend
    assert {line(LISTS, "self.heads = {}"), line(LISTS, "self.scales = [")} <= set(answer.lines)


def test_plain_leaves_that_an_optimizer_has_are_not_told() -> None:
    held = LISTS.replace("Adam(net.parameters())", "Adam([*net.parameters(), *net.scales])")
    assert "scales" not in asked(held).mend


# --- signs and samples ----------------------------------------------------------------------------

POLICY = (
    HEAD
    + """
policy = nn.Linear(3, 2)
opt = torch.optim.SGD(policy.parameters(), lr=0.1)
for _ in range(3):
    logs, rewards = [], torch.randn(4)
    for _ in range(4):
        dist = torch.distributions.Categorical(logits=policy(torch.randn(3)))
        logs.append(dist.log_prob(dist.sample()))
    losses = []
    for log, reward in zip(logs, rewards):
        losses.append({term})
    loss = torch.stack(losses).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
)


def test_log_probabilities_times_rewards_without_a_minus_are_told() -> None:
    program = POLICY.format(term="log * reward")
    answer = asked(program)
    assert answer.cause == "healthy"
    assert "without a minus" in answer.verdict
    assert line(program, "log * reward") in answer.lines


@pytest.mark.parametrize(
    "term", ["-log * reward", "log * -reward", "0.1 * log.exp() * log - log * reward", "-log"]
)
def test_a_minus_or_another_summand_is_not_told(term: str) -> None:
    assert "without a minus" not in str(asked(POLICY.format(term=term)))


SAMPLED = (
    HEAD
    + """
enc, dec = nn.Linear(4, 4), nn.Linear(2, 4)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()])
for _ in range(2):
    x = torch.rand(5, 4)
    mu, logvar = enc(x).chunk(2, -1)
    z = torch.distributions.Normal(mu, (0.5 * logvar).exp()).{sample}()
    recon = (dec(z) - x).pow(2).mean()
    loss = recon + 0.1 * (mu.pow(2) + logvar.exp() - logvar).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
)


def test_a_sample_on_the_way_to_a_loss_has_rsample_as_its_mend() -> None:
    answer = asked(SAMPLED.format(sample="sample"))
    assert "sample()" in answer.verdict
    assert "rsample()" in answer.verdict
    assert "leave no_grad out" not in str(answer)
    assert "rsample()" not in str(asked(SAMPLED.format(sample="rsample")))


# --- values that left torch -----------------------------------------------------------------------

WRAPPED = (
    HEAD
    + """
from torch.autograd import Variable
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 3)
    def forward(self, img):
        x = Variable(img.data, requires_grad=True)
        return self.lin(x)
net = Net()
image, label = torch.rand(2, 4, requires_grad=True), torch.tensor([0, 1])
score = net(image).gather(1, label.view(-1, 1)).sum()
score.backward()
print(image.grad.abs())
"""
)


def test_an_input_that_forward_wraps_again_is_told_and_not_the_labels() -> None:
    answer = asked(WRAPPED)
    assert answer.cause == "rebuilt_from_value"
    assert line(WRAPPED, "Variable(img.data") in answer.lines
    assert "label" not in answer.why
    assert asked(WRAPPED.replace("Variable(img.data, requires_grad=True)", "img")).cause != (
        "rebuilt_from_value"
    )


Q_LEARNING = (
    HEAD
    + """
q_net = nn.Linear(3, 2)
opt = torch.optim.SGD(q_net.parameters(), lr=0.1)
for _ in range(2):
    s, s2 = torch.randn(4, 3), torch.randn(4, 3)
    q = q_net(s).max(1)[0].detach().numpy()
    target = 1 + 0.9 * q_net(s2).max(1)[0]
    loss = F.mse_loss({both})
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
)


def test_a_prediction_that_was_remade_of_numbers_is_told() -> None:
    program = Q_LEARNING.format(both="torch.tensor(q), target")
    answer = asked(program)
    assert "what learns is target alone" in answer.verdict
    assert {line(program, "q = q_net(s)"), line(program, "F.mse_loss")} <= set(answer.lines)


def test_a_target_that_was_remade_of_numbers_is_not_told() -> None:
    assert "what learns is" not in str(asked(Q_LEARNING.format(both="target, torch.tensor(q)")))


# --- what is trained, and what is frozen ----------------------------------------------------------

STYLE = (
    HEAD
    + """
vgg = nn.Conv2d(3, 4, 3)
for p in vgg.parameters():
    p.requires_grad_(False)
content = torch.rand(1, 3, 6, 6)
image = content.clone().requires_grad_()
opt = torch.optim.Adam([image], lr=0.02)
for _ in range(2):
    style_loss = vgg(image{detach}).pow(2).mean()
    loss = style_loss + F.mse_loss(image, content)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
)


def test_a_trained_image_is_told_before_the_network_that_is_frozen() -> None:
    program = STYLE.format(detach=".detach()")
    answer = asked(program)
    assert answer.cause == "constant_summand"
    assert line(program, "image.detach()") in answer.lines
    assert asked(STYLE.format(detach="")).cause == "healthy"


ZEROS = (
    HEAD
    + """
net = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
for layer in net[{first}::2]:
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    loss = F.binary_cross_entropy_with_logits(net(torch.randn(6, 2)), torch.ones(6, 1))
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
)


def test_every_weight_that_is_to_begin_with_other_numbers_is_named() -> None:
    answer = asked(ZEROS.format(first=0))
    assert answer.cause == "zero_gradient"
    assert "begin net.{0,2}.weight with numbers other than zero" in answer.mend
    assert asked(ZEROS.format(first=4)).cause != "zero_gradient"
