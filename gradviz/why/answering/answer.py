"""Which answer is given: walks the table of rules, row by row. Nothing else decides between
answers.

An error first; else what the ``.grad`` of each tensor is, which of these answers is the answer, and
a second look at it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import torch

from gradviz.graph.findings import Symptom
from gradviz.graph.records import Graph, Raised
from gradviz.watch import torch_private
from gradviz.why.answering.table import rows
from gradviz.why.evidence.messages import plain
from gradviz.why.evidence.paths import Asked
from gradviz.why.rules.errors.failure import Failure
from gradviz.why.rules.gradients.gradient import Gradients
from gradviz.why.rules.rule import Stage
from gradviz.why.rules.silent.silent import Silent
from gradviz.why.rules.sizes.sizes import Sizes
from gradviz.why.rules.whole.case import Case
from gradviz.why.shown.explanation import Explanation

if TYPE_CHECKING:
    from gradviz.watch.recorded import Recorded


def proven(stage: Stage, symptom: Symptom | None, *subject: Any) -> Iterator[Explanation]:
    """Yield what the rules of a stage prove of a subject, in the order of the table; the first is
    the answer.

    Args:
        stage: whose rules are tried.
        symptom: what there is to explain; None: whatever they explain.
        subject: what the rules of this stage are asked about.
    """
    for rule in rows(stage, symptom):
        if not rule.when(*subject):
            continue
        proof = rule.find(*subject)
        if isinstance(proof, Explanation):
            yield proof
        elif proof is not None:
            yield from proof


def looked_at_again(case: Case, found: Explanation) -> Explanation:
    """Return the answer after each second look, which may have displaced it."""
    for rule in rows(Stage.AGAIN):
        if rule.when(case, found):
            proof = rule.find(case, found)
            found = proof if isinstance(proof, Explanation) else found
    return found


# --- everything that was asked about --------------------------------------------------------------


def explain_case(case: Case, error: BaseException | None) -> Explanation:
    """Answer one question: an error first, then gradients."""
    failure = case.failure(error)
    if failure is None:
        return explain_gradients(case)
    found = next(proven(Stage.ERROR, Symptom.RAISED, failure))
    if case.expected_gradient(found, failure):
        missing = explain_gradients(case)
        return missing if missing.cause.of_none else found
    return found


def explain_failure(failure: Failure | None) -> Explanation | None:
    """Tell why a call raised, whatever the gradients are; None where nothing did."""
    return None if failure is None else next(proven(Stage.ERROR, Symptom.RAISED, failure))


def explain_gradients(case: Case) -> Explanation:
    """Tell why the gradients that are asked about are what they are, or what explains more."""
    case.told = [(asked, explain_tensor(case.gradients, asked)) for asked in case.weights]
    found = next(proven(Stage.WHOLE, None, case))
    return looked_at_again(case, found) if case.given or case.told else found


# --- one kind of question -------------------------------------------------------------------------


def explain_tensor(gradients: Gradients, asked: Asked) -> Explanation:
    """Tell why the ``.grad`` of one tensor is what it is.

    Example:
        >>> explain_tensor(Gradients(Graph()), Asked("x", None, False, True)).cause
        'never_tracked'
    """
    since = gradients.filling(asked)
    return next(proven(Stage.GRADIENT, since.symptom(asked), since, asked))


def explain_error(
    error_type: str,
    message: str,
    graph: Graph | None = None,
    raised: Raised | None = None,
    parameters: Mapping[str, bool] | None = None,
    *,
    root_id: int | None = None,
) -> Explanation:
    """Tell why a backward, or another call, raised.

    Args:
        error_type: name of the error's class, e.g. "RuntimeError".
        message: its text; torch's own may stand anywhere in it.
        graph: what was recorded, or captured from the loss. Without one only the message speaks.
        raised: the event of this error in ``graph``; found by its text where it is left out.
        parameters: the model's parameters, and whether they require grad.
        root_id: the tensor in ``graph`` that backward was called on, where the error itself was not
            recorded; of a captured graph the first root, where it is left out.

    Returns:
        The explanation. Its cause is "not_known" for a message that is not one of autograd's.

    Example:
        >>> explain_error("RuntimeError", "Can't call numpy() on Tensor that requires grad.").cause
        'numpy_on_tracked'
    """
    failure = Failure(
        error_type,
        plain(message),
        graph or Graph(),
        raised=raised,
        root_id=root_id,
        flags=parameters,
    )
    return next(proven(Stage.ERROR, Symptom.RAISED, failure))


def silent_faults(
    recording: Recorded | None = None,
    *,
    tensors: Mapping[str, torch.Tensor] | None = None,
    models: Mapping[str, torch.nn.Module] | None = None,
    held: Mapping[str, tuple[torch.Tensor, str]] | None = None,
    graph: Graph | None = None,
) -> list[Explanation]:
    """Tell what goes wrong although nothing raises, the worst first; empty where nothing is proven.

    Args:
        recording: what ran. Without one, only what the live objects prove is told.
        tensors: what is asked about, by name: losses, weights, snapshots, the members of a
            ``state_dict``.
        models: modules that are asked about.
        held: parameters of the optimizers that are asked about, and why the next step moves them
            ("": it does not).
        graph: the recording's, where tensors got other names in it.

    Returns:
        Explanations with the causes ``overwritten``, ``fused_step``, ``shared_snapshot``,
        ``leftover_grad_moves``, ``batch_norm_moves`` and ``graph_kept``.

    Example:
        >>> import gradviz as gv
        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> with gv.record() as rec:
        ...     loss = (x ** 2).sum()
        ...     x.data += 5
        ...     loss.backward()
        >>> [fault.cause for fault in silent_faults(rec, tensors={"x": x})]
        ['overwritten']
    """
    silent = Silent(recording, tensors or {}, models or {}, held or {}, graph)
    with torch_private.unobserved(), torch.no_grad():
        return list(proven(Stage.SILENT, None, silent))


def explain_small(
    parameters: Mapping[str, torch.Tensor], recording: Recorded | None = None
) -> Explanation:
    """Tell whether the gradient vanishes, explodes, underflows or is NaN on its way.

    Args:
        parameters: ``dict(model.named_parameters())``; only their ``.grad`` is read.
        recording: of the backward. It tells the order of the modules and, for small tensors, the
            node to blame.

    Returns:
        An Explanation: ``vanishing``, ``exploding``, ``nan``, ``underflow``, ``healthy``, or
        ``not_known`` where no parameter has a gradient, or where all are zero for a reason that was
        not measured.

    Example:
        >>> net = torch.nn.Linear(2, 1)
        >>> net(torch.ones(1, 2)).sum().backward()
        >>> explain_small(dict(net.named_parameters())).cause
        'healthy'
    """
    with torch_private.unobserved(), torch.no_grad():
        sizes = Sizes(parameters, recording)
    return next(proven(Stage.SIZE, Symptom.SOME, sizes))
