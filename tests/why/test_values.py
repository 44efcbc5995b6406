"""What is wrong with the numbers is told with its place, and what only looks like it is left alone.
torch's own results say which is which."""

from __future__ import annotations

import linecache

import pytest
import torch
from test_symptom import ran
from torch import nn
from torch.nn import functional as F

import gradviz as gv
from gradviz.names import written
from gradviz.why.shown.explanation import Explanation

pytestmark = pytest.mark.dear(15)

HEAD = """import torch
from torch import nn
from torch.nn import functional as F
x, y = torch.randn(8, 4), torch.arange(8) % 3
lin = nn.Linear(4, 3)
"""


def asked(program: str, *names: str, head: str = HEAD) -> Explanation:
    """Run a program as a file of its own, recorded, and ask about these names."""
    recording, error, space = ran(head + program)
    assert error is None
    told = gv.explain(*(space[name] for name in names), recording=recording, names=space)
    asked.space = space  # type: ignore[attr-defined]
    return told


def line_of(text: str, program: str, head: str = HEAD) -> int:
    return next(i for i, line in enumerate((head + program).splitlines(), 1) if text in line)


# --- probabilities where scores are expected ------------------------------------------------------

NOT_LOGITS = {
    "softmax": ("F.cross_entropy(torch.softmax(lin(x), 1), y)", "softmax_of_classes"),
    "softmax and dropout": (
        "F.cross_entropy(F.dropout(nn.Softmax(dim=-1)(lin(x)), 0.1).view(8, 3), y)",
        "softmax_of_classes",
    ),
    "sigmoid": ("F.binary_cross_entropy_with_logits(lin(x).sigmoid(), x[:, :3])", "sigmoid_twice"),
    "sigmoid for classes": ("F.cross_entropy(torch.sigmoid(lin(x)), y)", "other"),
    "no log": ("F.nll_loss(torch.softmax(lin(x), 1), y)", "no_log"),
}
LOGITS = {
    "scores": "F.cross_entropy(lin(x), y)",
    "log_softmax, which changes nothing a second time": (
        "F.cross_entropy(F.log_softmax(lin(x), 1), y)"
    ),
    "logarithms": "F.nll_loss(torch.softmax(lin(x), 1).log(), y)",
    "probabilities as targets": "F.cross_entropy(lin(x), torch.softmax(lin(x).detach(), 1))",
    "label smoothing": "F.cross_entropy(lin(x), y, label_smoothing=0.1)",
    "distillation": (
        "F.kl_div(F.log_softmax(lin(x), 1), torch.softmax(x[:, :3], 1), reduction='batchmean')"
    ),
    "attention": "F.cross_entropy(torch.softmax(lin(x) @ lin(x).T, 1) @ lin(x), y)",
    "probabilities for binary": "F.binary_cross_entropy(torch.sigmoid(lin(x)), x[:, :3].sigmoid())",
    "a temperature": "F.cross_entropy(torch.softmax(lin(x), 1) / 0.1, y)",
}


@pytest.mark.parametrize("case", NOT_LOGITS)
def test_probabilities_for_scores_are_told_with_the_line_of_the_activation(case: str) -> None:
    loss, form = NOT_LOGITS[case]
    program = f"p = lin\nloss = {loss}\nloss.backward()\n"
    told = asked(program, "lin", "loss")
    assert (told.cause, told.form) == ("not_logits", form)
    assert told.lines == (line_of("loss = ", program),)


@pytest.mark.parametrize("case", LOGITS)
def test_a_loss_that_gets_what_it_expects_is_left_alone(case: str) -> None:
    told = asked(f"loss = {LOGITS[case]}\nloss.backward()\n", "lin", "loss")
    assert told.cause == "healthy"


def test_a_softmax_for_metrics_alone_is_left_alone() -> None:
    program = """
out = lin(x)
loss = F.cross_entropy(out, y)
shown = F.cross_entropy(torch.softmax(out, 1), y)
loss.backward()
"""
    assert asked(program, "lin", "loss").cause == "healthy"


def test_the_least_loss_that_is_told_is_the_least_that_there_is() -> None:
    told = asked("loss = F.cross_entropy(torch.softmax(lin(x), 1), y)\nloss.backward()\n", "lin")
    best = F.cross_entropy(F.one_hot(torch.arange(3)).float(), torch.arange(3))
    assert f"{float(best):.3f}" in told.why


def test_log_softmax_twice_is_log_softmax() -> None:
    """The reason why a LogSoftmax before cross_entropy is no fault."""
    scores = torch.randn(4, 3)
    once = F.log_softmax(scores, 1)
    assert torch.allclose(F.log_softmax(once, 1), once)


# --- overwritten under its second name ------------------------------------------------------------

BLOCK = """
def block(x):
    identity = x{kept}
    out = F.relu(x, inplace={inplace})
    out = lin(out)
    out {add}
    return out
lin = nn.Linear(4, 4)
pre = nn.Linear(4, 4)
loss = block(pre(x)).pow(2).sum()
loss.backward()
"""


def block(kept: str = "", inplace: bool = True, add: str = "+= identity") -> str:
    return BLOCK.format(kept=kept, inplace=inplace, add=add)


def test_a_skip_connection_that_was_overwritten_is_told() -> None:
    program = block()
    told = asked(program, "pre", "lin", "loss")
    assert told.cause == "changed_before_read"
    assert told.lines == (line_of("F.relu", program), line_of("out +=", program))
    wrong = asked.space["pre"].weight.grad.clone()  # type: ignore[attr-defined]
    asked(block(kept=".clone()"), "pre", "lin", "loss")
    right = asked.space["pre"].weight.grad  # type: ignore[attr-defined]
    assert not torch.allclose(wrong, right), "the mend changes the gradient"


@pytest.mark.parametrize(
    "program",
    [
        block(kept=".clone()"),
        block(inplace=False),
        block(add="+= x"),  # the name that was written: it says so itself
        block(add="= out + 1"),
        block().replace(
            "identity = x\n    out = F.relu(x, inplace=True)",
            "x = F.relu(x, inplace=True)\n    identity = out = x",
        ),
    ],
)
def test_a_skip_connection_that_holds_what_it_should_is_left_alone(program: str) -> None:
    assert asked(program, "pre", "lin", "loss").cause == "healthy"


LOOP = """
parts = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
h = x
for part in parts:
    residual = h
    h = part(h)
    h = h + residual
    h.relu_()
loss = ({last}).pow(2).sum()
loss.backward()
"""


@pytest.mark.parametrize("last", ["h + residual", "residual * 2 + h", "h * 1"])
def test_a_residual_loop_whose_sum_is_written_in_place_is_left_alone(last: str) -> None:
    assert asked(LOOP.format(last=last), "parts", "loss").cause == "healthy"


def test_a_sum_of_a_tensor_and_its_own_second_name_is_told() -> None:
    program = """
h = lin(x)
old = h
h.tanh_()
loss = (h - old + h * 2).sum()
loss.backward()
"""
    assert asked(program, "lin", "loss").cause == "changed_before_read"


# --- elements that get no gradient ----------------------------------------------------------------

WEIGHT = """
w = nn.Parameter(torch.tensor([0.5, -0.1, 0.3]))
v = torch.tensor([0.0, 1.0, 1.0])
opt = torch.optim.SGD([w], lr=0.1)
loss = (x[:, :3] @ {use}).pow(2).mean()
loss.backward()
opt.step()
"""


def test_elements_stuck_in_relu_are_counted() -> None:
    told = asked(WEIGHT.format(use="F.relu(w)"), "w")
    assert (told.cause, told.finding.fields["zeros"]) == ("partly_zero", 1)
    assert asked.space["w"].grad.eq(0).sum() == 1  # type: ignore[attr-defined]


def test_elements_outside_of_a_clamp_are_counted() -> None:
    told = asked(WEIGHT.format(use="w.clamp(0.0, 0.4)"), "w")
    assert (told.cause, told.finding.fields["zeros"]) == ("partly_zero", 2)


@pytest.mark.parametrize(
    "use",
    ["F.softplus(w)", "w.clamp(-1, 1)", "(w.clamp(-1, 1) * v)", "F.relu(w + 1)", "F.leaky_relu(w)"],
)
def test_a_weight_that_is_stuck_nowhere_is_left_alone(use: str) -> None:
    assert asked(WEIGHT.format(use=use), "w").cause == "healthy"


def test_an_input_that_is_partly_negative_is_no_fault() -> None:
    program = "v = torch.tensor([1.0, -1.0], requires_grad=True)\nF.relu(v).sum().backward()\n"
    assert asked(program, "v").cause == "healthy"


# --- NaN ------------------------------------------------------------------------------------------


def test_the_value_and_the_where_that_came_too_late_are_named() -> None:
    program = """
v = torch.tensor([0.0, 4.0], requires_grad=True)
out = torch.where(v > 1, v.sqrt(), v)
loss = out.sum()
loss.backward()
"""
    told = asked(program, "v", "loss")
    assert (told.cause, told.form) == ("nan", "masked")
    assert told.lines == (line_of("where", program),)
    assert "taken at 0," in told.why
    assert "1 of its 2" in told.verdict
    mended = program.replace("v.sqrt()", "torch.where(v > 1, v, 1).sqrt()")
    assert asked(mended, "v", "loss").cause == "healthy"
    assert asked.space["v"].grad.tolist() == [1.0, 0.25]  # type: ignore[attr-defined]


def test_an_infinite_derivative_without_a_mask_is_no_matter_of_where() -> None:
    program = "v = torch.zeros(1, requires_grad=True)\nloss = v.sqrt().sum()\nloss.backward()\n"
    told = asked(program, "v", "loss")
    assert (told.cause, told.form) == ("exploding", "node")
    assert "where()" not in told.why + told.mend.replace("torch.where after", "")


def test_a_division_is_followed_to_the_number_that_is_zero() -> None:
    program = """
class Norm(nn.Module):
    def __init__(self, eps=1e-5):
        super().__init__()
        self.eps = eps
    def forward(self, x):
        scaled = x / (x.var(0, keepdim=True) + self.eps)
        return torch.nan_to_num(scaled * x, posinf=0.0)
flat = torch.ones(16, 4, requires_grad=True)
loss = Norm(eps=0)(flat).sum()
loss.backward()
"""
    told = asked(program, "flat", "loss")
    assert (told.cause, told.form) == ("nan", "divides")
    assert f"self.eps is 0, line {line_of('Norm(eps=0)', program)}" in told.why
    assert told.lines == (line_of("scaled = ", program),)
    assert asked(program.replace("eps=0)", "eps=1.0)"), "flat", "loss").cause == "healthy"


def test_nan_that_autograd_grad_gave_is_told() -> None:
    program = """
v = torch.tensor([0.0, 4.0], requires_grad=True)
out = torch.where(v > 1, v.log(), v)
(g,) = torch.autograd.grad(out.sum(), v)
"""
    told = asked(program, "v")
    assert told.cause == "nan"
    assert asked.space["g"].isnan().any()  # type: ignore[attr-defined]
    assert asked(program.replace("v.log()", "(v + 1).log()"), "v").cause != "nan"


PADDED = """
torch.manual_seed(0)
q, k = torch.randn(2, 9, 8, requires_grad=True), torch.randn(2, 9, 8)
lin = nn.Linear(8, 8{more})
pad = torch.zeros(2, 9, 9, dtype=torch.bool)
pad[:, 7:] = True
scores = (q @ k.transpose(1, 2)).masked_fill(pad, {fill})
att = torch.softmax(scores, -1)
out = att @ k
loss = lin(out)[:, :7].pow(2).sum()
loss.backward()
"""


@pytest.mark.parametrize("more", ["", ", bias=False"])
def test_rows_that_no_loss_reads_make_nan_in_the_weights_behind_them(more: str) -> None:
    """A product of finite gradients is NaN because its factor was: the product is not to blame."""
    program = PADDED.format(more=more, fill='float("-inf")')
    told = asked(program, "lin")
    assert (told.cause, told.form) == ("nan", "forward_call")
    assert told.lines == (line_of("torch.softmax", program),)
    assert "likely from here" in told.why
    assert "a row that is -inf throughout" in told.why
    assert asked.space["q"].grad.isfinite().all()  # type: ignore[attr-defined]
    mended = PADDED.format(more=more, fill="-1e9")
    assert asked(mended, "lin").cause == "healthy"
    assert asked.space["lin"].weight.grad.isfinite().all()  # type: ignore[attr-defined]


@pytest.mark.parametrize("shape", ["(2, 9, 8)", "(18, 8)"])
def test_data_that_is_nan_where_no_loss_looks_is_named_as_the_factor(shape: str) -> None:
    program = f"""
lin = nn.Linear(8, 8)
x = torch.ones{shape}
x[-1] = float("nan")
loss = lin(x)[:1].sum()
loss.backward()
"""
    told = asked(program, "lin")
    assert (told.cause, told.form) == ("nan", "forward_call")
    assert "multiplied it by x, which is not finite" in told.why
    assert asked(program.replace('float("nan")', "2"), "lin").cause == "healthy"


def test_a_factor_that_was_not_recorded_is_blamed_without_a_name() -> None:
    lin = nn.Linear(8, 8)
    leaf = torch.full((2, 3, 8), float("nan"), requires_grad=True)
    before = leaf.view(6, 8).view(2, 3, 8)
    with gv.record() as recording:
        loss = (lin(before) * torch.zeros(2, 3, 1)).sum()
        (lin(before)[:0].sum() + loss).backward()
    told = recording.explain(lin)
    assert told.cause == "nan"
    assert "its derivative does not exist" not in str(told)


def test_a_nan_of_an_earlier_backward_that_is_over_is_left_alone() -> None:
    program = """
w = nn.Parameter(torch.tensor([0.0, 1.0]))
w.sqrt().mul(0).sum().backward()
w.grad = None
loss = (w * 2).sum()
loss.backward()
"""
    assert asked(program, "w", "loss").cause == "healthy"


# --- zeros ----------------------------------------------------------------------------------------

ZEROS = {
    "a factor of 0": ("weight = 0.0\nloss = weight * lin(x).sum()", "weight"),
    "a literal": ("loss = lin(x).sum() * 0", "multiplied by 0"),
    "a staircase": ("loss = lin(x).round().sum()", "round() is a staircase"),
    "one class": ("loss = torch.softmax(lin(x)[:, :1], 1).sum() * 2", "size 1"),
    "saturated": ("loss = torch.tanh(lin(x) * 0 + 100).sum()", "exactly -1 or 1"),
    "all padding": (
        "lin = nn.Embedding(4, 3, padding_idx=0)\nloss = lin(torch.zeros(5).long()).sum()",
        "padding_idx",
    ),
    "its own target": (
        "out = lin(x)\nloss = F.mse_loss(out, out.detach())",
        "its own numbers",
    ),
    "never chosen": ("loss = torch.where(x[:, :3] > 99, lin(x), x[:, :3]).sum()", "where()"),
}


@pytest.mark.parametrize("case", ZEROS)
def test_what_made_zeros_is_named(case: str) -> None:
    program, words = ZEROS[case]
    told = asked(f"{program}\nloss.backward()\n", "lin", "loss")
    weights = asked.space["lin"].parameters()  # type: ignore[attr-defined]
    assert all(not p.grad.any() for p in weights)
    assert told.cause == "zero_gradient"
    assert words in told.why, told


OF_SOFTMAX = (
    "torch.softmax(s, 1)",
    "torch.softmax(s, 0)",
    "s.softmax(-1)",
    "F.softmax(s, dim=0)",
    "F.log_softmax(s, -1)",
    "nn.Softmax(dim=1)(s)",
    "nn.Softmax(dim=0)(s)",
    "torch.softmax(s, d)",
    "F.cross_entropy(s, torch.zeros(len(s)).long())",
    "F.cross_entropy(s.T, s.argmax().view(1))",
    "F.mse_loss(torch.softmax(s, 1), torch.zeros(len(s), 1))",
    "F.mse_loss(torch.softmax(s, 0), torch.zeros(len(s), 1))",
)


@pytest.mark.parametrize("made", OF_SOFTMAX)
@pytest.mark.parametrize("rows", [8, 16])
def test_a_softmax_over_one_number_is_told_from_one_that_is_saturated(made: str, rows: int) -> None:
    """Over one number it gives the same whatever goes in; 16 numbers are not recorded."""
    program = f"""
d = 1
s = lin(torch.randn({rows}, 4))[:, :1] * 1e5
loss = {made}.sum()
loss.backward()
"""
    told = asked(program, "lin", "loss")
    assert not asked.space["lin"].weight.grad.any()  # type: ignore[attr-defined]
    given = asked.space | {"F": torch.nn.functional}  # type: ignore[attr-defined]
    made_of = [eval(made, given | {"s": torch.randn(rows, 1)}) for _ in range(2)]
    is_unread = rows == 16 and made.endswith(" d)")
    assert ("runs over a dimension of size 1" in told.why) is (
        torch.equal(*made_of) and not is_unread
    ), told
    assert ("may run over a dimension of size 1" in told.why) is is_unread, told


def test_the_line_that_gave_the_factor_is_told() -> None:
    program = "a, weight = 1.0, 0.0\nloss = a * weight * lin(x).sum()\nloss.backward()\n"
    told = asked(program.replace("a * weight", "weight"), "lin", "loss")
    assert f"line {line_of('a, weight', program)}" in told.why


def test_a_loss_at_its_minimum_is_healthy_and_one_of_its_own_numbers_is_not() -> None:
    program = "out = lin(x)\nloss = F.mse_loss(out, {target})\nloss.backward()\n"
    target = "torch.nn.functional.linear(x, lin.weight.detach().clone(), lin.bias.detach().clone())"
    told = asked(program.format(target=target), "lin", "loss")
    assert told.cause == "healthy"
    assert "the least that it can be" in told.why
    assert asked(program.format(target="out.detach()"), "lin", "loss").cause == "zero_gradient"


def test_a_loss_of_weights_that_are_zero_is_at_no_minimum() -> None:
    program = """
out = torch.sigmoid(lin(x))
loss = F.binary_cross_entropy(out, x[:, :3].sigmoid(), weight=torch.zeros(8, 3))
loss.backward()
"""
    assert asked(program, "lin", "loss").cause == "zero_gradient"


# --- what stands written --------------------------------------------------------------------------

WRITTEN = """
class Net:
    def __init__(self, eps=0.0, scale=1.0):
        self.eps, self.scale = eps, scale
        self.count = 0
    def step(self):
        self.count = self.count + 1
        return x / (self.eps + self.scale + self.count + k + n)
k = 0
net = Net(scale=2.0)
Net(scale=2.0)
for n in range(3):
    pass
"""


def test_only_names_of_one_number_are_told() -> None:
    file = "written_numbers.py"
    linecache.cache[file] = len(WRITTEN), None, WRITTEN.splitlines(True), file
    from gradviz.graph.records import Source

    at = line_of("return x", WRITTEN, head="")
    found = {n.code: n.value for n in written.numbers_read(Source(file, at, "x / (self.eps"))}
    assert found == {"self.eps": 0.0, "self.scale": 2.0, "k": 0.0}


# --- at which step, at which layer ----------------------------------------------------------------


def test_the_use_at_which_a_gradient_dies_is_counted_and_drawn() -> None:
    program = """
w, u = torch.randn(8, 8) * 0.1, torch.randn(4, 8)
w.requires_grad_()
h = torch.zeros(8, 8)
kept = []
for t in range(30):
    used = w.clone()
    used.retain_grad()
    kept.append(used)
    h = torch.tanh(x @ u + h @ used)
loss = h.sum()
loss.backward()
"""
    told = asked(program, "w", "loss")
    assert told.cause == "vanishing"
    norms = [float(used.grad.norm()) for used in asked.space["kept"]]  # type: ignore[attr-defined]
    last = max(k for k, size in enumerate(norms, 1) if size * 1e6 <= norms[-1])
    assert f"between use {last + 1} and use {last} of 30" in told.more[0]
    shown = {bar.label: bar for bar in told.bars}
    assert {str(last), str(last + 1), "30", "1"} <= shown.keys()
    assert shown[str(last)].faint
    assert not shown[str(last + 1)].faint
    assert shown["30"].text == f"{norms[-1]:.1e}"
    lengths = [bar.share for bar in told.bars]
    assert lengths == sorted(lengths, reverse=True)
    assert told.html.count("height:.75em") == len(told.bars) <= 12


def test_the_layer_at_which_a_gradient_dies_is_told() -> None:
    program = """
net = nn.Sequential(*(nn.Sequential(nn.Linear(8, 8), nn.Sigmoid()) for _ in range(14)))
loss = net(torch.randn(4, 8)).sum()
loss.backward()
"""
    told = asked(program, "net", "loss")
    net = asked.space["net"]  # type: ignore[attr-defined]
    norms = [float(torch.cat([p.grad.flatten() for p in part.parameters()]).norm()) for part in net]
    at = max(k for k, size in enumerate(norms) if size * 1e6 <= norms[-1])
    assert told.cause == "vanishing"
    assert f"between net.{at + 1}.0 and net.{at}.0" in told.more[1]


def test_a_healthy_gradient_has_no_chart() -> None:
    told = asked("loss = F.cross_entropy(lin(x), y)\nloss.backward()\n", "lin", "loss")
    assert (told.cause, told.bars) == ("healthy", ())
    assert "height:.75em" not in told.html


def test_hand_written_weights_are_layers_too() -> None:
    program = """
ws = [(torch.randn(8, 8) * 0.3).requires_grad_() for _ in range(16)]
h = torch.randn(2, 8)
for w in ws:
    h = torch.sigmoid(h @ w)
h.sum().backward()
"""
    told = asked(program + "first, last = ws[0], ws[-1]\n", "ws")
    norms = [float(w.grad.norm()) for w in asked.space["ws"]]  # type: ignore[attr-defined]
    assert norms[0] * 1e6 < norms[-1]
    assert told.cause == "vanishing"
    assert "16 tensors" in told.why


def test_what_an_earlier_autograd_grad_returned_is_told_as_what_it_is() -> None:
    """Only returned: no .grad holds it, so nothing is said of norms of .grad."""
    a = torch.tensor([0.0, 1.0], requires_grad=True)
    with gv.record() as rec:
        (first,) = torch.autograd.grad(a.sqrt().sum(), a)
        (second,) = torch.autograd.grad((a * 2).sum(), a)
    told = rec.explain()
    assert (told.cause, told.form) == ("exploding", "node")
    assert told.verdict == "What autograd.grad returned for a has inf in it."
    assert ".grad" not in " ".join(told.more)
    assert told.ruled_out == ()
    assert a.grad is None
    assert second.isfinite().all()
    del first
    assert rec.explain().cause not in ("nan", "exploding")


def test_what_autograd_grad_returned_for_a_result_is_told_by_its_name() -> None:
    a = torch.tensor([0.0, 1.0], requires_grad=True)
    with gv.record() as rec:
        h = a * 1
        (g,) = torch.autograd.grad((h.sqrt() * 0).sum(), h)
    assert g.isnan().any()
    assert rec.explain().verdict == "What autograd.grad returned for h has NaN in it."


def test_what_is_to_be_detached_can_be_typed() -> None:
    """Of two shared results each has its own detach()."""
    net = nn.Linear(2, 2)
    first, second = nn.Linear(2, 1), nn.Linear(2, 1)
    optimizer = torch.optim.SGD(first.parameters(), lr=0.1)
    x = torch.ones(3, 2)
    with gv.record() as rec:
        h, k = net(x).relu(), net(x).tanh()
        one, other = (first(h) + first(k)).mean(), (second(h) + second(k)).mean()
        one.backward()
        optimizer.step()
        with pytest.raises(RuntimeError):
            other.backward()
    assert "h.detach() and k.detach() in" in rec.explain().mend


def test_whole_numbers_are_not_told_to_ask_for_a_gradient() -> None:
    """torch refuses requires_grad_() of them, recorded or not."""
    i, x = torch.tensor([1, 2]), torch.tensor([1.0, 2.0])
    with gv.record() as rec:
        w = torch.ones(2, requires_grad=True)
        (w * 2).sum().backward()
    told = rec.explain(i)
    assert (told.cause, told.form) == ("never_tracked", "no_float")
    assert "int64" in told.mend
    assert "requires_grad_()" in rec.explain(x).mend
    with pytest.raises(RuntimeError):
        i.requires_grad_()


def test_what_a_hook_made_finite_is_not_said_to_be_returned_broken() -> None:
    a = torch.tensor([0.0, 1.0], requires_grad=True)
    h = a * 1
    h.register_hook(torch.nan_to_num)
    with gv.record() as rec:
        (g,) = torch.autograd.grad((h.sqrt() * 0).sum(), h)
    assert g.isfinite().all()
    assert rec.explain().cause == "no_backward_yet"  # and not "nan"
