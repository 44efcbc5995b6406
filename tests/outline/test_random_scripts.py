"""Random scripts without modules, in which values and leaves are cut here and there: each cut that
somebody wrote, and each leaf that was left without a gradient, is told in the outline."""

from __future__ import annotations

import random
import re
from xml.etree import ElementTree

import pytest
from drawn import drawn
from model_scripts import MARKER
from sampling import sampled

from gradviz.picture.outline.card_cuts import WRITTEN

FORMS = (
    "{} + {}",
    "{} * {}",
    "torch.tanh({})",
    "({} - {}) / 2",
    "{}.sin()",
    "torch.maximum({}, {})",
    "({} * 0.5).exp()",
)


def script(seed: int) -> str:
    """Write a script of 16 to 45 lines over two to six leaves; every tenth value is read cut."""
    rng = random.Random(seed)
    leaves = [f"p{i}" for i in range(rng.randint(2, 6))]
    values: list[str] = []

    def read() -> str:
        near = values[-4:] or leaves
        value = rng.choice([*near, rng.choice(leaves)] if rng.random() < 0.4 else near)
        return value + rng.choices(["", ".detach()", ".data"], [90, 8, 2])[0]

    lines = [f"{leaf} = torch.randn(3, requires_grad=True)" for leaf in leaves] + [MARKER]
    for k in range(rng.randint(16, 45)):
        form = rng.choice(FORMS)
        lines.append(f"v{k} = " + form.format(*[read() for _ in range(form.count("{}"))]))
        values.append(f"v{k}")
    lines += [f"loss = {values[-1]}.sum() + {values[-2]}.sum() + p0.sum()", "loss.backward()"]
    return "\n".join(["import torch", "torch.manual_seed(0)", *lines, ""])


@pytest.mark.parametrize("seed", sampled(range(100), 5))
def test_every_cut_that_is_written_and_every_lost_leaf_is_told(seed: int) -> None:
    picture = drawn(script(seed), "case.py")
    told = " ".join(ElementTree.fromstring(picture.svg).itertext())
    operations, cuts_at = picture.fitting.operations, picture.fitting.expansion.cuts.at
    cuts = [cut for at in operations.feeding for cut in cuts_at.get(at, ())]
    for call in {cut.call_id for cut in cuts if cut.reason in WRITTEN}:
        source = operations.graph.call[call].source
        assert source is not None
        assert re.search(rf"\b{source.line}\b", told), source.line
    used = {operations.weight[object_id].name for object_id in operations.uses}
    for name in used:
        if picture.names[name].grad is None:
            assert re.search(rf"\b{name}\b", told), name
