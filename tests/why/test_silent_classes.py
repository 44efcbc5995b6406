"""Classes of silent fault, enumerated from torch's documentation of its losses, optimizers, modules
and hooks: of each the smallest natural program, its truth by torch alone, and the bare answer."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any

import pytest
import torch
from test_symptom import asked
from trials import Question, questions, tomllib

# what torch warns of is not what is tested
pytestmark = pytest.mark.filterwarnings("ignore")

FAULTS = tomllib.loads(Path(__file__).with_name("silent_classes.toml").read_text())["fault"]
each_fault = pytest.mark.parametrize("fault", FAULTS, ids=[f["name"] for f in FAULTS])
MEANT = tomllib.loads(Path(__file__).with_name("silent_meant.toml").read_text())["meant"]
# of the real questions of real_learn8 and real_learn9 what the bare answer names since
REAL = {
    "q951": "All 3 columns of net.linear.w are equal",
    "q952": "NoamOpt.step(), which sets another one, did not run",
    "q953": "LinearLR is of another optimizer",
    "q954": "scheduler.step(loss)",
    "q955": "training=self.training",
    "q956": "nn.Dropout(p=0.5)(x) ran in training mode inside ResNet",
    "q957": "permute (or transpose) it there first",
    "q958": "self.dropout_p = 0",
    "q961": "nn.ModuleList",
    "q962": "target adds up to 0.2999, not to 1",
    "q963": "a part does not add up to 1",
    "q964": "its gradient counts twice",
    "q965": "clip between loss.backward() and optimizer.step()",
    "q967": "it is told training=True",
    "q968": "permute (or transpose) it there first",
    "q973": "softmax() there runs over a dimension of size 1",
    "q974": "is trained in eval mode from its forward",
    "q978": "copy.deepcopy(model.state_dict())",
    "q1201": "d_optimizer holds d_model.{0,3}.{weight,bias}, and was never stepped",
    "q1202": "Give both one shape: value_v.detach().squeeze(1)",
    "q1203": "out of the no_grad of line 38",
    "q1204": "self.actor_optimizer.zero_grad() in each iteration",
    "q1205": "pass by what has requires_grad False there",
    "q1206": ".train() at the start of every epoch",
    "q1213": "No gradient of F.mse_loss(s_f, t_f) comes back that way to student.backbone",
}
LEARNT = [*questions("real_learn8"), *questions("real_learn9")]
each_real = pytest.mark.parametrize("question", LEARNT, ids=[q.fields["id"] for q in LEARNT])
each_meant = pytest.mark.parametrize("meant", MEANT, ids=[m["name"] for m in MEANT])


def shows(program: str, symptom: str) -> bool:
    """Run a program with torch alone and return whether it shows a symptom."""
    names: dict[str, Any] = {"__name__": "__main__"}
    torch.manual_seed(0)
    with contextlib.redirect_stdout(io.StringIO()):
        exec(program, names)
    return bool(eval(symptom, names))


@each_fault
def test_torch_alone_shows_the_symptom_and_the_edits_mend_it(fault: dict[str, Any]) -> None:
    assert shows(fault["program"], fault["symptom"])
    mended = fault["program"]
    for old, new in fault["edits"]:
        assert old in mended
        mended = mended.replace(old, new)
    assert not shows(mended, fault["symptom"])


@each_fault
def test_the_bare_answer_names_the_cause_its_line_and_a_mend(fault: dict[str, Any]) -> None:
    answer = asked(fault["program"])
    told = " ".join(str(answer).split())
    assert fault["says"] in told
    lines = [n for n, line in enumerate(fault["program"].split("\n"), 1) if fault["at"] in line]
    assert not fault["at"] or set(lines) & set(answer.lines)


@each_meant
def test_what_has_the_shape_of_a_fault_and_is_meant_does_not_lead(meant: dict[str, Any]) -> None:
    answer = asked(meant["program"])
    assert meant["not"] not in " ".join(str(answer).split())


@each_real
def test_real_questions_are_answered_by_their_class(question: Question) -> None:
    answer = asked(question.program)
    told = " ".join(str(answer).split())
    assert REAL.get(question.fields["id"], "") in told
    assert question.fields["id"] not in REAL or set(question.fields["blame"]) & set(answer.lines)
