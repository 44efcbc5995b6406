"""Random draws on the way to a loss: back through one nothing comes, and the log-probability of one
draw says nothing of another. Knows no torch."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.graph.effects import ELEMENTWISE_LOSSES
from gradviz.graph.facts import Facts
from gradviz.graph.records import Call
from gradviz.graph.training import line_of
from gradviz.names.statements import Statements
from gradviz.why.account.remark import Remark, Weight
from gradviz.words.words import Words

# what torch gives a derivative of 0 everywhere, whatever it is drawn with
_DRAWS = {"normal", "poisson", "bernoulli", "binomial"}
_NOISE = {"randn_like", "rand_like"}


def draws(facts: Facts, words: Words, statements: Statements) -> Iterator[Remark]:
    """Tell of draws back through which only zeros come, and of log-probabilities of a draw that is
    made for them.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
        statements: the code that ran.
    """
    for call in _drawn_from_tracked(facts):
        of = [words.name(i) for i in call.inputs if facts.graph.tensor[i].requires_grad]
        fields = {"call": words.at(call), "function": call.function, "of": of, "n": len(of)}
        key = "drawn_normal" if call.function == "normal" else "drawn"
        yield Remark(Weight.WEIGHTY, key, fields, (call,))
    yield from _log_probabilities_of_new_draws(facts, words, statements)
    yield from _noise_that_is_not_seen(facts, words)


def _noise_that_is_not_seen(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of noise that is drawn like another value, anew in each pass, and is the target of what
    was not computed from it: nothing can tell it but its mean."""
    passes = len([b for b in facts.graph.backwards if b.kind == "backward"])
    behind = facts.in_losses
    for call in reversed(facts.ordinary_calls):
        if call.function not in ELEMENTWISE_LOSSES or behind.isdisjoint(call.outputs):
            continue
        prediction, target = call.inputs[:2]
        drawn = facts.maker.get(target)
        if drawn is None or drawn.function not in _NOISE or passes < 2:
            return
        again = [c for c in facts.ordinary_calls if line_of(c) == line_of(drawn)]
        if len([c for c in again if c.function == drawn.function]) < passes:
            return
        if drawn.outputs[0] not in facts.ancestors([prediction]):
            fields = {
                "noise": words.name(target),
                "place": words.where(drawn),
                "prediction": words.name(prediction),
                "call": words.at(call),
            }
            yield Remark(Weight.WEIGHTY, "noise_not_seen", fields, (drawn, call))
        return


def _drawn_from_tracked(facts: Facts) -> Iterator[Call]:
    """Yield the draws of tracked parameters that gradients of losses come back to, of each line the
    last: what a straight-through estimate detaches is none, nor what meets its own parameters
    again, as in a log-probability that is written out."""
    tensor, met = facts.graph.tensor, facts.behind_losses
    found = {
        line_of(call) or call.id: call
        for call in facts.ordinary_calls
        if call.function in _DRAWS
        and any(tensor[i].requires_grad for i in call.inputs)
        and any((e := tensor[i].gradient_edge) and e.node_id in met for i in call.outputs)
        and not _meets_its_parameters(facts, call)
    }
    yield from found.values()


def _meets_its_parameters(facts: Facts, draw: Call) -> bool:
    """Say whether a call takes what was drawn together with what is computed from what it was
    drawn with."""
    tensor = facts.graph.tensor
    given = {i for i in draw.inputs if tensor[i].requires_grad}
    readers = (c for i in draw.outputs for c in facts.calls_reading.get(i, ()))
    beside = (i for c in readers for i in c.inputs if i not in draw.outputs)
    return any(given & facts.ancestors([i]) for i in beside if tensor[i].requires_grad)


def _log_probabilities_of_new_draws(
    facts: Facts, words: Words, statements: Statements
) -> Iterator[Remark]:
    """Tell of ``d.log_prob(d.sample())`` in a loss: that draw is kept nowhere."""
    behind = facts.in_losses
    in_losses = {line_of(c) for c in facts.ordinary_calls if not behind.isdisjoint(c.outputs)}
    for place, node in statements.calls("log_prob"):
        draw = _draw_in(node)
        if draw is not None and (place.file, place.line) in in_losses:
            fields = {
                "code": ast.unparse(node),
                "place": words.line_of(place),
                "draw": ast.unparse(draw),
                "of": ast.unparse(draw.func.value),  # type: ignore[attr-defined]
            }
            yield Remark(Weight.WEIGHTY, "log_prob_of_a_new_draw", fields, statements=(place,))


def _draw_in(node: ast.Call) -> ast.Call | None:
    """Return the draw of the same distribution that a call of ``log_prob`` is given.

    >>> _draw_in(ast.parse("d.log_prob(d.sample())", mode="eval").body) is not None
    True
    >>> _draw_in(ast.parse("d.log_prob(p.sample())", mode="eval").body) is None
    True
    """
    given = node.args[0] if len(node.args) == 1 else None
    if not isinstance(given, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    drawing = given.func
    if not isinstance(drawing, ast.Attribute) or drawing.attr != "sample":
        return None
    return given if ast.unparse(drawing.value) == ast.unparse(node.func.value) else None
