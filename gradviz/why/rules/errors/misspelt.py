"""A name of torch's that is written otherwise than torch has it. Reads values that variables hold,
runs none of the program's code."""

from __future__ import annotations

import ast
import difflib
import re
from types import ModuleType

import torch

from gradviz.why.question.failed_line import FailedLine
from gradviz.why.rules.errors.failure import Failure
from gradviz.why.rules.errors.refused_values import Fields
from gradviz.words.speech import Code

_WITHOUT = re.compile(r"has no attribute '([a-z]\w{3,})'")
_OWNERS = (torch.Tensor, torch.optim.Optimizer, torch.nn.Module)
ALIKE = 0.85  # how much of two names has to be the same


def misspelt(line: FailedLine, failure: Failure) -> Fields:
    """Return the name that torch has, where the line has nearly the same one; None where it may be
    a name of the program's own, or several are as near."""
    found = _WITHOUT.search(failure.text)
    owner = None if found is None else line.owner_of(found[1])
    if found is None or owner is None:
        return None
    value = line.value(owner)
    kind = next((kind for kind in _OWNERS if isinstance(value, kind)), None)
    if kind is None and not (isinstance(value, ModuleType) and value.__name__.startswith("torch")):
        return None
    names = [name for name in dir(kind or value) if not name.startswith("_")]
    near = difflib.get_close_matches(found[1], names, n=2, cutoff=ALIKE)
    if len(near) != 1:
        return None
    code = ast.unparse(owner)
    return {
        "owner": Code(code),
        "attribute": Code(found[1]),
        "wanted": Code(near[0]),
        "anew": Code(f"{code}.{near[0]}"),
        "given": Code(f"{code}.{found[1]}"),
    }
