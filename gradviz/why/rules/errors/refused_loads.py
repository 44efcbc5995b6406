"""States whose names are not those of the model that is to load them: what all of them have before
the others, and the load without or with that. Runs none of the program's code."""

from __future__ import annotations

import ast
import re

from gradviz.names.position import callee_of
from gradviz.why.question.failed_line import FailedLine
from gradviz.why.rules.errors.failure import Failure
from gradviz.why.rules.errors.refused_values import Fields
from gradviz.words.speech import Code

_KEYS = re.compile(r'(Missing|Unexpected) key\(s\) in state_dict: ((?:"[^"]+"(?:, )?)+)')
_WRAPPED = "module."
_REFUSED = re.compile(r"Unsupported (?:global: GLOBAL|class) ([\w.]+)")


def prefixed(line: FailedLine, failure: Failure) -> Fields:
    """Return the prefix that all the names of a state have beyond those of the model, and the load
    without it."""
    missing, unexpected = _names_that_differ(failure.text)
    prefix = _prefix(missing, unexpected)
    return _load_by(line, prefix, f"k.removeprefix({prefix!r})")


def without_prefix(line: FailedLine, failure: Failure) -> Fields:
    """Return the prefix that all the names of the model have beyond those of a state, and the load
    with it."""
    missing, unexpected = _names_that_differ(failure.text)
    prefix = _prefix(unexpected, missing)
    return _load_by(line, prefix, f"{prefix!r} + k")


def wrapped_elsewhere(line: FailedLine, failure: Failure) -> Fields:
    """Return the load under the names of a model that DataParallel wraps as a whole, where the
    state is of one with another part in it; None where the names differ in more."""
    missing, unexpected = _names_that_differ(failure.text)
    bare = [sorted(name.replace(_WRAPPED, "") for name in names) for names in (missing, unexpected)]
    if not missing or bare[0] != bare[1] or not any(_WRAPPED in name for name in unexpected):
        return None
    as_whole = all(name.startswith(_WRAPPED) and name.count(_WRAPPED) == 1 for name in missing)
    if not as_whole and any(_WRAPPED in name for name in missing):
        return None
    renamed = f"k.replace({_WRAPPED!r}, '')"
    return _load_by(line, _WRAPPED, f"{_WRAPPED!r} + {renamed}" if as_whole else renamed)


def not_only_tensors(line: FailedLine, failure: Failure) -> Fields:
    """Return what a file holds that is neither a tensor nor a plain container, the load that takes
    it, and where the program saves the file."""
    found = _REFUSED.search(failure.text)
    for call in line.nodes(ast.Call) if found is not None else ():
        if callee_of(call.func) == "load" and not any(
            k.arg == "weights_only" for k in call.keywords
        ):
            code = ast.unparse(call)
            saves = [] if failure.statements is None else failure.statements.calls("save")
            return {
                "held": Code(found[1] if found else ""),
                "call": Code(code),
                "anew": Code(f"{code[:-1]}, weights_only=False)"),
                **({"under": saves[0][0]} if len(saves) == 1 else {}),
            }
    return None


def _names_that_differ(text: str) -> tuple[list[str], list[str]]:
    """Return the names that a state lacks, and those that the model lacks; none where a size does
    not fit either."""
    found = dict(_KEYS.findall(text)) if "size mismatch" not in text else {}
    kinds = ("Missing", "Unexpected")
    missing, unexpected = (re.findall(r'"(.+?)"', found.get(kind, "")) for kind in kinds)
    return missing, unexpected


def _prefix(short: list[str], long: list[str]) -> str:
    """Return what each of some names has before that of the others; "" where it is not the same."""
    if not short or len(short) != len(long) or not long[0].endswith(short[0]):
        return ""
    prefix = long[0].removesuffix(short[0])
    return prefix if prefix.endswith(".") and long == [prefix + name for name in short] else ""


def _load_by(line: FailedLine, prefix: str, renamed: str) -> Fields:
    """Return how a state is loaded under other names; None without a prefix."""
    for call in line.nodes(ast.Call) if prefix else ():
        if callee_of(call.func) == "load_state_dict" and call.args:
            state, rest = ast.unparse(call.args[0]), [*map(ast.unparse, call.keywords)]
            named = f"{{{renamed}: v for k, v in {state}.items()}}"
            given = ", ".join([named, *rest])
            return {
                "prefix": Code(prefix),
                "state": Code(state),
                "anew": Code(f"{ast.unparse(call.func)}({given})"),
                "call": Code(ast.unparse(call)),
            }
    return None
