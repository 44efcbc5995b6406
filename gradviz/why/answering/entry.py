"""``explain()``: one question for tensors, modules, optimizers, losses and errors. Reads them once
and lets them go."""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping
from itertools import takewhile
from types import FrameType
from typing import Any

import torch

from gradviz.names.position import locate
from gradviz.watch import torch_private
from gradviz.watch.recorded import Recorded
from gradviz.why.answering.answer import explain_case, proven
from gradviz.why.answering.bare import Bare, explain_bare
from gradviz.why.question.subjects import names_of
from gradviz.why.rules.whole.case import Case
from gradviz.why.shown.explanation import Explanation
from gradviz.why.survey.reaching import check


def explain(
    *subjects: Any,
    error: BaseException | None = None,
    recording: Recorded | None = None,
    names: Mapping[str, Any] | None = None,
    model: torch.nn.Module | None = None,
) -> Explanation:
    """Tell why a gradient is None, zero, wrong or small, or why backward raised.

    Args:
        subjects: tensors, losses, modules, optimizers; collections, model outputs and generators of
            them (a generator is read to its end, once). A module and a loss ask which of its
            parameters that loss reaches, an optimizer what its next step does. Beside an error,
            None is passed over: what was to be made there was not.
        error: what was raised, if that is the question.
        recording: of the code that made them: it tells the call and the line.
        names: what to call which tensor, module or optimizer. Left out, the words of this call and
            the caller's module-level variables are used.
        model: gives names to its parameters.

    Returns:
        The most important thing that is proven: an error first, then gradients, silent faults,
        small gradients; else "healthy" (no fault was found), or "not_known" with what was ruled
        out. Without subjects it starts at what the recorded program looked at.

    Raises:
        GradvizError: nothing was given to explain, or something that is none of the above.

    Example:
        >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> h = w * 2
        >>> print(explain(h, names={"w": w, "h": h}).verdict)
        h.grad is None: h is a result, and .grad is kept on leaves only.
    """
    return explain_at(sys._getframe(1), subjects, error, recording, names, model)


def explain_at(
    frame: FrameType,
    subjects: tuple[Any, ...],
    error: BaseException | None = None,
    recording: Recorded | None = None,
    names: Mapping[str, Any] | None = None,
    model: torch.nn.Module | None = None,
) -> Explanation:
    """Answer ``explain()``, with the names of the frame that asked."""
    check(
        "error",
        error,
        BaseException,
        "the exception that was caught: `except RuntimeError as error`",
    )
    check("recording", recording, Recorded, "what `with gv.record() as rec:` gave")
    check("names", names, Mapping, "a mapping, e.g. names={'loss': loss}")
    check("model", model, torch.nn.Module, "a torch.nn.Module, whose parameters are named")
    known = dict(names) if names is not None else _names_at(frame, subjects, recording is None)
    return explain_named(subjects, known, error, recording, model)


def explain_named(
    subjects: tuple[Any, ...],
    known: dict[str, Any],
    error: BaseException | None = None,
    recording: Recorded | None = None,
    model: torch.nn.Module | None = None,
    ended: BaseException | None = None,
) -> Explanation:
    """Answer ``explain()``, with the names that are known; ``ended`` is the error with which the
    recording ended, told only where that is the answer."""
    if error is not None:
        subjects = tuple(subject for subject in subjects if subject is not None)
    if not subjects and model is None and (recording is not None or error is not None):
        return explain_bare(Bare.of_recording(known, recording, error))
    with torch_private.unobserved(), torch.no_grad():
        case = Case(subjects, known, model, recording, proven, ended=ended)
        return explain_case(case, error)


def _names_at(frame: FrameType, subjects: tuple[Any, ...], with_tensors: bool) -> dict[str, Any]:
    """Return what subjects are called at the call, and the caller's module-level variables."""
    call = locate(frame.f_code, frame.f_lasti).node
    arguments = call.args if isinstance(call, ast.Call) else ()
    words = takewhile(lambda word: not isinstance(word, ast.Starred), arguments)
    return names_of(words, subjects, frame.f_globals, with_tensors)
