"""%gradviz why, and the explanation below a recorded cell, in a real shell."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

import gradviz as gv

SETUP = """%load_ext gradviz
import torch
from torch import nn
a = torch.tensor([1.0, 2.0], requires_grad=True)
net = nn.Linear(2, 1)
"""
WRITTEN = "\nb = a.exp()\nb += 1\nloss = b.sum()\nloss.backward()"
NO_GRAD = (
    "\nwith torch.no_grad():\n    out = net(torch.ones(1, 2))\nloss = out.sum()\nloss.backward()"
)


@pytest.fixture
def shell(shell_after: Callable[[str], InteractiveShell]) -> InteractiveShell:
    return shell_after(SETUP)


def shown(shell: InteractiveShell, cell: str) -> list[str]:
    """The plain text of everything that a cell displays."""
    with capture_output() as captured:
        shell.run_cell(cell)
    return [output.data["text/plain"] for output in captured.outputs]


def test_an_error_of_autograd_is_explained_below_the_picture(shell: InteractiveShell) -> None:
    with capture_output() as captured:
        shell.run_cell("%%gradviz" + WRITTEN)
    (below,) = captured.outputs
    picture, _, told = below.data["text/plain"].rpartition("\n\n")
    assert "ExpBackward0" in picture
    assert told.startswith("b += 1 wrote b in place after ExpBackward0 had saved it.")
    assert "line 3, b += 1" in told
    assert "<img" in below.data["text/html"]
    assert "b += 1 wrote b in place" in below.data["text/html"].partition("<img")[2]
    # the traceback stands above it, as ever
    assert "modified by an inplace operation" in captured.stdout


@pytest.mark.parametrize("code", ["1 / 0", "a @ torch.ones(5)", "raise KeyboardInterrupt"])
def test_another_error_gets_no_explanation(shell: InteractiveShell, code: str) -> None:
    assert not [
        text
        for text in shown(shell, f"%%gradviz\n{code}")
        if "[not known]" in text or "Why " in text
    ]


def test_why_in_the_next_cell_has_names_and_lines(shell: InteractiveShell) -> None:
    shown(shell, "%%gradviz" + NO_GRAD)
    (told,) = shown(shell, "%gradviz why")
    assert told.startswith("Nothing can train: loss has no grad_fn.")
    assert "no_grad" in told
    assert "line 3, net(" in told or "line 3, out = net(" in told
    assert shown(shell, "%gradviz why") == [told]  # asking twice is answered twice
    shown(shell, "import math\nprint(a.grad)")
    assert shown(shell, "%gradviz why") == [told]  # looking changes nothing


def test_why_without_a_recording_says_what_one_would_add(shell: InteractiveShell) -> None:
    shown(shell, WRITTEN)
    (told,) = shown(shell, "%gradviz why")
    assert "[modified in place]" in told
    assert "%%gradviz on its cell would add" in told
    raised = "line 4, loss.backward()"  # all that the error itself shows
    assert raised in told
    assert "line" not in told.replace("the line", "").replace(raised, "")


def test_the_failed_frame_is_asked_before_the_notebook(shell: InteractiveShell) -> None:
    shown(shell, "loss = (a * 2).sum()")
    shown(
        shell,
        "def train(inner):\n    total_loss = (inner * 2).detach().sum()\n   "
        " total_loss.backward()\ntrain(a)",
    )
    (told,) = shown(shell, "%gradviz why")
    assert "has no grad_fn" in told


def test_after_a_backward_it_equals_explain(shell: InteractiveShell) -> None:
    shown(shell, "1 / 0")
    shown(
        shell,
        "%%gradviz\nloss = net(torch.ones(1, 2)).detach().sum() + (a * 2).sum()\nloss.backward()",
    )
    (told,) = shown(shell, "%gradviz why")
    names = shell.user_ns
    from gradviz.notebook import magic

    recording = magic._loaded[shell].notebook.recording
    tensors = {
        n: t for n, t in names.items() if isinstance(t, torch.Tensor) and not n.startswith("_")
    }
    assert told == str(gv.explain(names["net"], names["loss"], recording=recording, names=tensors))
    assert "ZeroDivision" not in told


TWO = """
teacher, student = nn.Linear(2, 1), nn.Linear(2, 1)
opt = torch.optim.SGD(student.parameters(), lr=0.1)
x = torch.ones(3, 2)
"""


def test_a_model_that_the_loss_does_not_meet_is_not_asked_about(shell: InteractiveShell) -> None:
    shown(shell, TWO)
    shown(
        shell, "%%gradviz\nloss = (student(x) - teacher(x).detach()).pow(2).sum()\nloss.backward()"
    )
    (told,) = shown(shell, "%gradviz why")
    assert told.startswith("2 of 2 trainable parameters have a gradient; none is None")


def test_a_healthy_model_does_not_hide_the_one_that_is_to_learn(shell: InteractiveShell) -> None:
    shown(shell, TWO)
    shown(
        shell, "%%gradviz\nloss = (teacher(x) - student(x).detach()).pow(2).sum()\nloss.backward()"
    )
    (told,) = shown(shell, "%gradviz why")
    assert "[not judged]" not in told
    assert "student.detach" in told or "student(x).detach()" in told
    assert "teacher: 2 of 2 parameters reached · student: 0 of 2" in told


def test_models_of_other_cells_and_a_loss_for_validation_are_not_asked_about(
    shell: InteractiveShell,
) -> None:
    shown(shell, TWO)
    shown(
        shell,
        "first, last = nn.Linear(2, 2), nn.Linear(2, 1)\nopt2 = torch.optim.SGD(first.parameters(),"
        " lr=0.1)",
    )
    shown(
        shell,
        "%%gradviz\ntrain_loss ="
        " last(first(x).detach()).mean()\ntrain_loss.backward()\nopt2.step()",
    )
    shown(shell, "with torch.no_grad():\n    val_loss = last(first(x)).mean()")
    (told,) = shown(shell, "%gradviz why")
    assert "first.{weight,bias}: .grad is None: detach cuts it" in told
    assert "student" not in told


def test_the_loss_of_an_evaluation_in_the_same_loop_is_not_asked_about(
    shell: InteractiveShell,
) -> None:
    shown(
        shell,
        """%%gradviz
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for phase in ("train", "val"):
    with torch.set_grad_enabled(phase == "train"):
        loss = net(torch.ones(1, 2)).sum()
        if phase == "train":
            loss.backward()
            opt.step()""",
    )
    (told,) = shown(shell, "%gradviz why")
    assert told.startswith("2 of 2 trainable parameters have a gradient")
    assert "moved net.weight and net.bias by the gradient of loss" in " ".join(told.split())


def test_the_grad_of_what_autograd_grad_derived_by_is_not_asked_about(
    shell: InteractiveShell,
) -> None:
    shown(
        shell,
        """%%gradviz
critic = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1))
opt = torch.optim.SGD(critic.parameters(), lr=0.1)
mixed = torch.rand(3, 2).requires_grad_()
(slope,) = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)
loss = (slope.norm(dim=1) - 1).pow(2).mean()
loss.backward()
opt.step()""",
    )
    (told,) = shown(shell, "%gradviz why")
    assert "mixed.grad" not in told


def test_a_recorded_loss_without_a_model_is_asked_about_alone(shell: InteractiveShell) -> None:
    shown(shell, "opt = torch.optim.SGD(net.parameters(), lr=0.1)")
    shown(shell, "%%gradviz\nloss = (a * 2).sum()\nloss.backward()")
    (told,) = shown(shell, "%gradviz why")
    assert told.startswith("The only leaf behind loss, a, has a gradient; none is None")


def test_a_recording_of_another_loss_is_not_used(shell: InteractiveShell) -> None:
    shown(shell, "%%gradviz\nloss = net(torch.ones(1, 2)).sum()\nloss.backward()")
    shown(
        shell,
        "other = nn.Linear(2, 1)\nloss = torch.tensor(other(torch.ones(1, 2)).item(),"
        " requires_grad=True)",
    )
    shown(shell, "del net")
    (told,) = shown(shell, "%gradviz why")
    assert "no call of this run" not in told
    assert "[not judged]" not in told


def test_an_older_recorded_error_is_not_taken_for_a_newer_one(shell: InteractiveShell) -> None:
    shown(shell, "%%gradviz" + NO_GRAD)
    shown(shell, "other = (a > 0).sum()\nother.backward()")
    (told,) = shown(shell, "%gradviz why")
    assert "no_grad" not in told
    assert "net(" not in told


def test_an_error_from_before_the_extension_was_loaded(shell: InteractiveShell) -> None:
    shown(shell, "%unload_ext gradviz")
    shown(shell, "a.numpy()")
    shown(shell, "%load_ext gradviz")
    (told,) = shown(shell, "%gradviz why")
    assert "[numpy on tracked]" in told


DETACHED = "loss = (net(torch.ones(1, 2)).detach() + a.sum()).sum()\nloss.backward()"


@pytest.mark.parametrize("mark", ["", "%%gradviz"])
@pytest.mark.parametrize(
    "cell",
    [
        "def helper(x):\n    return x",
        "lr = 0.01",
        "b2 = net(torch.ones(1, 2))",
        "1 +",
        "%gradviz w",
    ],
)
def test_an_error_stands_until_something_newer_ran(
    shell: InteractiveShell, mark: str, cell: str
) -> None:
    shown(shell, mark + WRITTEN)
    told = shown(shell, "%gradviz why")
    assert "[modified in place]" in told[0]
    shown(shell, cell)
    again = shown(shell, "%gradviz why")
    assert again == told or (cell in ("1 +", "%gradviz w") and "[modified in place]" in again[0])


@pytest.mark.parametrize("mark", ["", "%%gradviz\n"])
def test_a_backward_that_ran_ends_an_error(shell: InteractiveShell, mark: str) -> None:
    shown(shell, WRITTEN)
    shown(shell, mark + DETACHED)
    (told,) = shown(shell, "%gradviz why")
    assert "in place" not in told
    assert "{weight,bias}: .grad is None" in told


def test_a_training_loop_that_takes_its_gradients_away_ends_an_error(
    shell: InteractiveShell,
) -> None:
    shown(shell, "opt = torch.optim.SGD(net.parameters(), lr=0.1)")
    shown(shell, "loss = net(torch.ones(1, 2)).sum()\nloss.backward(torch.ones(3))\n")
    shown(shell, "with torch.no_grad():\n    loss = net(torch.ones(1, 2)).sum()\nloss.backward()")
    assert "[no grad fn" in shown(shell, "%gradviz why")[0]
    shown(shell, "loss = net(torch.ones(1, 2)).sum()\nloss.backward()\nopt.step()\nopt.zero_grad()")
    assert "[no grad fn" not in shown(shell, "%gradviz why")[0]


def test_a_model_made_anew_and_trained_ends_an_error(shell: InteractiveShell) -> None:
    make = "net = nn.Linear(2, 1)\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
    train = "loss = net(torch.ones(1, 2)).pow(2).sum()\nloss.backward()\n"
    shown(shell, make + train + "loss.backward()")
    assert "[second backward]" in shown(shell, "%gradviz why")[0]
    shown(shell, "net = nn.Linear(2, 1)")
    assert "[second backward]" in shown(shell, "%gradviz why")[0]
    shown(shell, make + train + "opt.step()\nopt.zero_grad()")
    assert "second" not in shown(shell, "%gradviz why")[0]


def test_a_function_that_has_run_through_ends_its_error(shell: InteractiveShell) -> None:
    train = "def train(keep):\n    own = nn.Linear(2, 1)\n    loss = own(torch.ones(1, 2)).mean()\n"
    train += "    loss.backward()\n    if not keep:\n        loss.backward()\n"
    shown(shell, train + "train(False)")
    assert "[second backward]" in shown(shell, "%gradviz why")[0]
    shown(shell, train + "train(True)")
    assert "second" not in shown(shell, "%gradviz why")[0]


def test_a_backward_of_something_else_does_not_end_an_error(shell: InteractiveShell) -> None:
    shown(shell, "with torch.no_grad():\n    loss = net(torch.ones(1, 2)).sum()\nloss.backward()")
    shown(shell, "toy = torch.ones(2, requires_grad=True)\n(toy * 2).sum().backward()")
    (told,) = shown(shell, "%gradviz why")
    assert "[no grad fn" in told
    assert "Since then a backward of something else has run" in told


def test_an_error_that_is_not_autograds_does_not_hide_one_that_is(shell: InteractiveShell) -> None:
    shown(shell, "%%gradviz" + WRITTEN)
    (told,) = shown(shell, "%gradviz why")
    shown(shell, "printt(a)")
    (later,) = shown(shell, "%gradviz why")
    assert later.splitlines()[0] == told.splitlines()[0]
    assert "older than the last one, NameError" in later


FROZEN = "\nnet.requires_grad_(False)\nnet(torch.ones(1, 2)).sum().backward()"
MISSING = (
    "\nloss = (a * 2).sum() + net(torch.ones(1,"
    " 2)).detach().sum()\nloss.backward()\nnet.weight.grad.norm()"
)


@pytest.mark.parametrize("code", [WRITTEN, NO_GRAD, FROZEN, MISSING])
def test_what_stands_below_a_cell_is_what_why_answers(shell: InteractiveShell, code: str) -> None:
    (below,) = shown(shell, "%%gradviz" + code)
    (told,) = shown(shell, "%gradviz why")
    assert below.endswith("\n\n" + told)


# --- one thing ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        "net.weight",
        "net.weight, loss",
        "net.weight loss",
        "net loss",
        "[a, net]",
        "a",
        'parts["w"]  loss',
        "(a * 2).sum()",
    ],
)
@pytest.mark.parametrize("mark", ["", "%%gradviz\n"])
def test_asking_about_one_thing_equals_explain(
    shell: InteractiveShell, mark: str, words: str
) -> None:
    shown(shell, mark + DETACHED + '\nparts = {"w": net.weight}')
    from gradviz.notebook import magic

    recording = magic._loaded[shell].notebook.recording
    call = (
        ", ".join(words.split("  "))
        if "  " in words
        else words
        if "," in words or "*" in words
        else (", ".join(words.split()))
    )
    shell.user_ns["_recording"] = recording
    (expected,) = shown(
        shell, f"import gradviz as gv\ndisplay(gv.explain({call}, recording=_recording))"
    )
    assert shown(shell, f"%gradviz why {words}") == [expected]


def test_asking_about_a_gradient_is_asking_about_its_tensor(shell: InteractiveShell) -> None:
    shell.run_cell("%%gradviz\nout = net(a.detach()); out.sum().backward()")
    for tensor in ("a", "out", "net.weight"):  # None, a result's, and one that is there
        (told,) = shown(shell, f"%gradviz why {tensor}.grad")
        assert told == shown(shell, f"%gradviz why {tensor}")[0]
        assert told.startswith(f"{tensor}.grad is ")


def test_what_is_asked_about_is_run_once(shell: InteractiveShell) -> None:
    shell.run_cell("times = []\ndef given():\n    times.append(1)\n    return a")
    assert shown(shell, "%gradviz why given().grad")
    assert shell.user_ns["times"] == [1]


def test_asking_about_one_thing_leaves_an_error_aside(shell: InteractiveShell) -> None:
    shown(shell, "%%gradviz" + NO_GRAD)
    told = shown(shell, "%gradviz why")
    assert shown(shell, "%gradviz why a")[0].startswith("a.grad is None")
    assert shown(shell, "%gradviz why") == told


def test_what_has_no_value_as_the_line_that_makes_it_raised(shell: InteractiveShell) -> None:
    shown(
        shell, "%%gradviz\nscores = None\nmade = (net(torch.ones(1, 2)) * torch.ones(3)).backward()"
    )
    for words in ("scores", "made", "made net"):
        told = shown(shell, f"%gradviz why {words}")[0]
        assert told.startswith("Backward needs one number"), told
        assert f"{words.split()[0]} has no value: the error came first." in told
    shown(shell, "other = None")
    with capture_output() as captured:
        shell.run_cell("net(torch.ones(1, 2)).sum().backward()")
        shell.run_cell("%gradviz why other")
    assert captured.outputs[-1].data["text/plain"].startswith("other is None.\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            "net.wait",
            "got 'net.wait', which raised AttributeError: 'Linear' object has no attribute 'wait'",
        ),
        ("nett", "got 'nett', which raised NameError: name 'nett' is not defined"),
        ("net loss[", "got 'net loss[', which is no list of expressions"),
        ("model=net", "got 'model=net', which is no list of expressions"),
        ("3", "explain() was given"),
    ],
)
def test_a_bad_name_is_told(shell: InteractiveShell, words: str, said: str) -> None:
    with capture_output() as captured:
        result = shell.run_cell(f"%gradviz why {words}")
    assert not result.success
    text = captured.stdout + captured.stderr
    assert said in text
    assert "expected" in text
    assert "Traceback" not in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("net total", "total is of type float: numbers have no gradients."),
        ("total, net, steps", "total and steps are of type"),
        ("total net count", "total is of type float: numbers have no gradients."),
        ("net title", "title is of type str: text has no gradients."),
        ("net array", "array is of type ndarray, of numpy"),
        ("net rates", "rates is of type list: no tensor that learns, module or optimizer"),
        ("net nn.Linear", "nn.Linear is a class: ask about an object of it."),
        ("net nn.functional.relu", "nn.functional.relu is a function: ask about what it returns."),
    ],
)
def test_what_has_no_gradient_is_said_before_the_answer_about_the_rest(
    shell: InteractiveShell, words: str, said: str
) -> None:
    shown(shell, "import numpy\ntotal, title, rates, count = 0.5, 'run', [0.1, 0.2], 3")
    shown(shell, "array, steps = numpy.ones(2), 2.0")
    shown(shell, HEALTHY_CELL)
    named = [word for word in words.replace(",", " ").split() if word == "net"]
    (alone,) = shown(shell, f"%gradviz why {' '.join(named)}")
    (told,) = shown(shell, f"%gradviz why {words}")
    assert told.startswith(said)
    assert told.endswith(alone)


def test_where_nothing_is_left_to_ask_about_the_bare_answer_follows(
    shell: InteractiveShell,
) -> None:
    shown(shell, "total = 0.5")
    shown(shell, HEALTHY_CELL)
    (bare,) = shown(shell, "%gradviz why")
    (told,) = shown(shell, "%gradviz why total")
    assert told == f"total is of type float: numbers have no gradients.\n{bare}"


@pytest.mark.parametrize(
    "words", ["both", "[net, total]", "(net, 'run')", "(p for p in [net, 0.5])", "{'net': net}"]
)
def test_a_collection_is_asked_about_its_tensors(shell: InteractiveShell, words: str) -> None:
    shown(shell, "total = 0.5\nboth = {'net': net, 'rate': total, 'more': [1, 'run']}")
    shown(shell, HEALTHY_CELL)
    (alone,) = shown(shell, "%gradviz why net")
    (told,) = shown(shell, f"%gradviz why {words}")
    assert told == alone


# --- the newest thing -----------------------------------------------------------------------------

HEALTHY_CELL = "%%gradviz\nloss = net(torch.ones(1, 2)).sum()\nloss.backward()"


def test_a_newer_loss_of_another_name_is_asked_about(shell: InteractiveShell) -> None:
    shown(shell, HEALTHY_CELL)
    shown(
        shell,
        "head = nn.Linear(2, 1)\ntotal = (head(torch.ones(1, 2)).detach() +"
        " a).sum()\ntotal.backward()",
    )
    (told,) = shown(shell, "%gradviz why")
    assert "[not judged]" not in told
    assert "head" in told


@pytest.mark.parametrize("mark", ["", "%%gradviz\n"])
def test_an_error_is_of_the_newest_loss(shell: InteractiveShell, mark: str) -> None:
    shown(shell, "loss = net(torch.ones(1, 2)).sum()")
    shown(shell, f"{mark}cost_loss = (net(torch.ones(1, 2)) > 0).sum()\ncost_loss.backward()")
    (told,) = shown(shell, "%gradviz why")
    assert told.startswith("Nothing can train: cost_loss has no grad_fn")


EARLIER = """
class Trainer:
    def __init__(self):
        self.net = nn.Linear(2, 2)
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)
    def features(self, x):
        return self.net(x).detach()
earlier, trainer = nn.Linear(2, 1), Trainer()
opt = torch.optim.SGD(earlier.parameters(), lr=0.1)
def values(x):
    return earlier(x).data
x = torch.ones(1, 2)
"""
LATER = "w = torch.ones(2, 1, requires_grad=True)\nloss = (({}) * w.T).sum()\nloss.backward()"


def test_models_of_which_no_cell_since_the_loss_speaks_are_not_asked_about(
    shell: InteractiveShell,
) -> None:
    shown(shell, EARLIER)
    shown(shell, LATER.format("x") + "\nprint(w.grad)")
    (told,) = shown(shell, "%gradviz why")
    assert told.startswith("No fault is visible: the only leaf behind loss, w, has a gradient")
    assert "Put %%gradviz above the cell" in told


@pytest.mark.parametrize(
    ("code", "model"),
    [
        ("earlier(x).detach()", "earlier"),
        ("values(x)", "earlier"),
        ("trainer.features(x)", "trainer.net"),
        ("[f(x) for f in (values,)][0]", "earlier"),
    ],
)
def test_models_that_the_code_of_a_loss_uses_are_asked_about(
    shell: InteractiveShell, code: str, model: str
) -> None:
    """Also those that a function or an object uses."""
    shown(shell, EARLIER)
    shown(shell, LATER.format(code))
    (told,) = shown(shell, "%gradviz why")
    assert told.startswith(f"{model}.{{weight,bias}}: .grad is None; the cause is not known.")


def test_a_model_that_a_later_cell_speaks_of_is_asked_about(shell: InteractiveShell) -> None:
    shown(shell, EARLIER)
    shown(shell, LATER.format("x"))
    shown(shell, "print(earlier.weight.grad)")
    (told,) = shown(shell, "%gradviz why")
    assert told.startswith("earlier.weight.grad is None")


def test_a_loss_that_reaches_nothing_is_about_every_model(shell: InteractiveShell) -> None:
    """What cut it off may have been anything."""
    shown(shell, EARLIER)
    shown(shell, "loss = torch.ones(1).sum()")
    (told,) = shown(shell, "%gradviz why")
    assert "earlier" in told


def test_a_loss_that_was_bound_anew_is_newer_than_one_that_was_not(shell: InteractiveShell) -> None:
    shown(shell, "first_loss = (a * 2).sum()")
    shown(shell, "second_loss = net(torch.ones(1, 2)).sum()")
    shown(shell, "first_loss = (a * 3).sum()\nfirst_loss.backward()")
    (told,) = shown(shell, "del net\n%gradviz why")
    assert "first_loss" in told
    assert "second_loss" not in told


def test_without_an_optimizer_all_that_was_at_work_is_asked_about(shell: InteractiveShell) -> None:
    shown(shell, "body, head = nn.Linear(2, 2), nn.Linear(2, 1)")
    shown(shell, "%%gradviz\nloss = head(body(torch.ones(1, 2)).data).mean()\nloss.backward()")
    (told,) = shown(shell, "%gradviz why")
    assert told.startswith("body.{weight,bias}: .grad is None: .data cuts it from loss.")


def test_a_later_number_that_may_be_no_loss_is_named(shell: InteractiveShell) -> None:
    shown(shell, HEALTHY_CELL)
    shown(shell, "size = net.weight.norm()")
    (told,) = shown(shell, "%gradviz why")
    assert told.startswith("2 of 2")
    assert "size is newer than this loss: %gradviz why size asks about it." in told


def test_a_backward_whose_loss_has_no_name_is_not_mistaken_for_another(
    shell: InteractiveShell,
) -> None:
    shown(
        shell,
        "net2 = nn.Linear(2, 1)\nopt = torch.optim.SGD([*net.parameters(), *net2.parameters()],"
        " lr=0.1)",
    )
    shown(shell, HEALTHY_CELL)
    shown(
        shell,
        "def train():\n    inner = (net2(torch.ones(1, 2)).detach() + net.bias).sum()\n   "
        " inner.backward()\ntrain()",
    )
    (told,) = shown(shell, "%gradviz why")
    assert "The newest backward ran on a loss that has no name here" in told
    assert "reached" not in told


def test_a_recorded_forward_serves_a_backward_of_the_next_cell(shell: InteractiveShell) -> None:
    shown(shell, "%%gradviz\nloss = (net(torch.ones(1, 2)).detach() + a).sum()")
    shown(shell, "loss.backward()")
    (told,) = shown(shell, "%gradviz why")
    assert "detach cuts it from loss" in told


def test_a_definition_does_not_make_a_recording_old(shell: InteractiveShell) -> None:
    shown(
        shell,
        "%%gradviz\ndef train():\n    loss = (net(torch.ones(1, 2)).detach() + a).sum()\n   "
        " loss.backward()\ntrain()",
    )
    told = shown(shell, "%gradviz why")
    assert "line 3, net(" in told[0]
    shown(shell, "lr = 0.1")
    assert shown(shell, "%gradviz why") == told


def test_what_stands_in_a_notebook_may_be_odd(shell: InteractiveShell) -> None:
    odd = (
        "class Half(nn.Module):\n    def __init__(self): pass\nhalf = Half()\nlazy ="
        " nn.LazyLinear(3)\n"
    )
    odd += (
        "meta = nn.Linear(2, 2, device='meta')\nsp ="
        " torch.eye(2).to_sparse().requires_grad_()\nlist_ = [net]\n"
    )
    odd += (
        "nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], requires_grad=True)\n"
    )
    odd += "with torch.inference_mode():\n    inf = torch.ones(1)"
    with capture_output() as captured:
        shell.run_cell(odd)
        shell.run_cell("lr = 1")
    assert "Error" not in captured.stdout + captured.stderr
    shown(shell, HEALTHY_CELL)
    assert "[not judged]" in shown(shell, "%gradviz why")[0]


def test_nothing_to_explain_says_so(shell: InteractiveShell) -> None:
    shell.user_ns.pop("net")
    with capture_output() as captured:
        result = shell.run_cell("%gradviz why")
    assert not result.success
    assert "found neither an error, nor a model, nor a loss" in captured.stdout + captured.stderr


@pytest.mark.parametrize("mark", ["", "%%gradviz\n"])
def test_a_gradient_that_the_failing_line_changes_is_asked_about(
    shell: InteractiveShell, mark: str
) -> None:
    """``*=`` reads what it writes."""
    shown(shell, f"{mark}w = a * 2\nw.sum().backward()\nw.grad *= 0.5")
    (told,) = shown(shell, "%gradviz why")
    assert told.startswith("w.grad is None: w is a result, and .grad is kept on leaves only.")


def test_asking_keeps_nothing_of_the_error_alive(shell: InteractiveShell) -> None:
    shown(shell, "%%gradviz\ndef fail():\n    big = a.exp()\n    big.requires_grad_(False)\nfail()")
    error: Any = sys.last_value
    traced = error.__traceback__
    while traced.tb_next is not None and "big" not in traced.tb_frame.f_locals:
        traced = traced.tb_next
    big = weakref.ref(traced.tb_frame.f_locals["big"])
    (told,) = shown(shell, "%gradviz why")
    assert "[requires grad non leaf]" in told
    del error, traced
    for name in ("last_exc", "last_value", "last_type", "last_traceback"):
        if hasattr(sys, name):
            delattr(sys, name)
    shell.InteractiveTB.tb = None
    shell.SyntaxTB.tb = None
    shell.run_cell("pass")  # IPython lets the last result go
    gc.collect()
    assert big() is None


FOREIGN = """class Foreign(torch.Tensor):
    asked = []

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        cls.asked.append(function)
        raise RuntimeError("mine")
foreign = torch.ones(1).as_subclass(Foreign)
class HalfBuilt(nn.Module):
    def parameters(self, recurse=True):
        raise KeyError("not yet")
half_built = HalfBuilt()"""


def test_names_that_cannot_be_read_are_left_alone(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell(FOREIGN)
    shell.run_cell("loss = (a * 2).sum()\nloss.backward()")
    (picture,) = shown(shell, "%%gradviz\nloss = (a * 3).sum()\nloss.backward()")
    assert picture.startswith("a\n")
    (why,) = shown(shell, "%gradviz why")
    assert "[not judged]" in why
    (about,) = shown(shell, "%gradviz why a loss")
    assert "[not judged]" in about
    assert shell.user_ns["Foreign"].asked == []
    assert "Error in callback" not in capsys.readouterr().out


OTHER = (
    "other = (torch.ones(2, requires_grad=True) * 2).sum()\nloss = (torch.ones(3,"
    " requires_grad=True) * 2).sum()"
)
UNNAMED = {
    "no_grad_fn": "\nw = torch.ones(2)\n(w * 3).sum().backward()",
    "modified_in_place": (
        "\nw = torch.ones(2, requires_grad=True)\nh = w.exp()\nh.add_(1)\n(h * 3).sum().backward()"
    ),
    "second_backward": (
        "\nw = torch.ones(2, requires_grad=True)\nh ="
        " w.exp()\nh.sum().backward()\nh.sum().backward()"
    ),
    "not_scalar": "\nw = torch.ones(2, requires_grad=True)\n(w * 3).backward()",
}


@pytest.mark.parametrize("cause", UNNAMED)
@pytest.mark.parametrize(
    "before", [OTHER, OTHER + "\nfrozen = nn.Linear(2, 1).requires_grad_(False)", "old = net"]
)
def test_a_recorded_error_is_explained_whatever_else_the_notebook_holds(
    shell: InteractiveShell, cause: str, before: str
) -> None:
    shell.run_cell(before)
    for _ in range(2):  # Run All twice: the names of the first round are there in the second
        with capture_output() as captured:
            shell.run_cell("%%gradviz" + UNNAMED[cause])
        (below,) = captured.outputs
        told = below.data["text/plain"].rpartition("\n\n")[2]
        assert f"[{cause.replace('_', ' ')}" in told
        assert "not recorded" not in told
        assert "frozen" not in told
        assert "Where   cell" in told
        (later,) = shown(shell, "%gradviz why")
        assert later == told


@pytest.mark.parametrize("words", ["model.w", "net", "model"])
def test_a_module_without_parameters_is_told_whatever_is_named(
    shell: InteractiveShell, words: str
) -> None:
    cell = """%%gradviz
class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.zeros(2)
    def forward(self, x):
        return x * self.w
model = Plain()
model(net.weight.detach())
opt = torch.optim.SGD(model.parameters(), lr=0.1)
"""
    shown(shell, cell)
    (told,) = shown(shell, f"%gradviz why {words}")
    assert told.startswith("model.parameters() is empty: model.w is a plain tensor")
    assert "line 5, self.w = torch.zeros(2)" in told
    # twin: what is a parameter is asked about as ever
    shown(shell, cell.replace("= torch.zeros(2)", "= nn.Parameter(torch.zeros(2))"))
    (told,) = shown(shell, f"%gradviz why {words}")
    assert "not a parameter" not in told


def test_an_error_that_no_recorded_call_raised_is_not_said_to_need_a_recording(
    shell: InteractiveShell,
) -> None:
    with capture_output() as captured:
        shell.run_cell(
            "%%gradviz\nx = torch.ones(2) * 2\ntorch.optim.SGD([(a * 2).detach() + a], lr=0.1)"
        )
    told = captured.outputs[0].data["text/plain"].rpartition("\n\n")[2]
    assert "non leaf in optimizer" in told
    assert "was not recorded" not in told


def test_a_gradient_that_is_none_is_explained_in_its_own_cell(shell: InteractiveShell) -> None:
    shell.run_cell(OTHER)
    with capture_output() as captured:
        shell.run_cell(
            "%%gradviz\nw = a.detach()\ny = (w * a).sum()\ny.backward()\nstep = a - w.grad * 2"
        )
    told = captured.outputs[0].data["text/plain"].rpartition("\n\n")[2]
    assert "other" not in told
    assert "recording given" not in told
