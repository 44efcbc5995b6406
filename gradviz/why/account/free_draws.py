"""A latent that is drawn about a mean and decoded, to be compared with what it was encoded of: no
term holds its mean and spread near a prior. Knows no torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gradviz.graph.effects import ELEMENTWISE_LOSSES
from gradviz.graph.facts import Facts
from gradviz.graph.records import Call
from gradviz.graph.training import line_of
from gradviz.names.frames import frames
from gradviz.names.written import numbers_read
from gradviz.why.account.noise_scales import PARTS, scaled_noise
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.handed_on import KEEPING, computed, plain_name
from gradviz.words.words import Words

_POSITIVE = {"exp", "softplus"}
_OF_ONE = _POSITIVE | {"add", "clamp", "clamp_min", "div", "mul", "sqrt"}
_DISTANCES = {"abs", "mul", "norm", "pow", "__pow__", "square"}
_COMPARES = ELEMENTWISE_LOSSES | {"cross_entropy", "nll_loss"}
_COMPARES |= {"binary_cross_entropy", "binary_cross_entropy_with_logits"}


class Draw(NamedTuple):
    """A sample about a mean.

    Attributes:
        call: that added noise to the mean.
        mean: the state to which noise was added.
        scale: the state that multiplied the noise.
        log: the state of which the scale was computed, number by number.
        made: the calls that did, the last first.
    """

    call: Call
    mean: int
    scale: int
    log: int
    made: tuple[Call, ...]

    @property
    def sample(self) -> int:
        """What was drawn."""
        return self.call.outputs[0]


def free_draws(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of each line that draws a latent whose mean and spread come to the losses through the
    sample alone, and the sample through a comparison with what it was encoded of.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
    """
    draws = dict[object, list[Draw]]()
    for draw in _draws(facts):
        draws.setdefault(line_of(draw.call) or draw.call.id, []).append(draw)
    leaves = (
        {t.id for t in facts.graph.tensors if t.is_leaf and t.requires_grad} if draws else set()
    )
    comparing = [call for call in facts.ordinary_calls if _compares(facts, call)] if draws else []
    for every in draws.values():
        compared = _comparisons(facts, every, leaves, comparing)
        if len(compared) == len(every) and not _comes_otherwise(facts, every, compared):
            yield from _told(facts, words, every[-1], compared[-1], leaves)


def _comes_otherwise(facts: Facts, draws: list[Draw], compared: list[Call]) -> bool:
    """Say whether a loss holds a mean or a spread beside the samples, or a sample beside the
    comparisons."""
    held = {computed(facts, i) for draw in draws for i in (draw.mean, draw.log)}
    samples = {draw.sample for draw in draws}
    if not held.isdisjoint(facts.ancestors(facts.losses, samples)):
        return True
    ends = {i for call in compared for i in call.outputs}
    return not samples.isdisjoint(facts.ancestors(facts.losses, ends))


def _draws(facts: Facts) -> Iterator[Draw]:
    """Yield the sums of a tracked value and noise times a positive one, both of what a layer
    gave."""
    for product, factor in scaled_noise(facts):
        made, log = _computed_of(facts, factor)
        is_positive = any(plain_name(call.function) in _POSITIVE for call in made)
        for call in facts.calls_reading.get(product.outputs[0], ()) if is_positive else ():
            means = [i for i in call.inputs if i not in product.outputs]
            if plain_name(call.function) == "add" and len(means) == 1 and call.outputs:
                yield Draw(call, means[0], factor, log, made)


def _computed_of(facts: Facts, factor: int) -> tuple[tuple[Call, ...], int]:
    """Return the calls that computed a factor number by number, the last first, and of what."""
    made, state = list[Call](), factor
    while (call := facts.maker.get(computed(facts, state, KEEPING - PARTS))) is not None:
        if plain_name(call.function) not in _OF_ONE or len(call.inputs) != 1:
            break
        made.append(call)
        state = call.inputs[0]
    return tuple(made), state


def _comparisons(
    facts: Facts, draws: Sequence[Draw], leaves: set[int], comparing: Sequence[Call]
) -> list[Call]:
    """Return the comparison of each draw, up to the first that has none."""
    found = list[Call]()
    for draw in draws:
        call = _comparison(facts, draw, leaves, comparing)
        if call is None:
            break
        found.append(call)
    return found


def _comparison(
    facts: Facts, draw: Draw, leaves: set[int], comparing: Sequence[Call]
) -> Call | None:
    """Return the last of some calls that compares what a sample became with what its mean and its
    spread were computed of; None where none does."""
    given = facts.ancestors([draw.mean], leaves) & facts.ancestors([draw.log], leaves)
    for call in reversed(comparing):
        if call.id < draw.call.id:
            return None
        tracked = [i for i in call.inputs if facts.graph.tensor[i].requires_grad]
        targets = [computed(facts, i, KEEPING - PARTS) for i in call.inputs if i not in tracked]
        is_of_it = len(targets) == 1 and targets[0] in given
        if is_of_it and draw.sample in facts.ancestors(tracked, {draw.sample, *leaves}):
            return call
    return None


def _compares(facts: Facts, call: Call) -> bool:
    """Say whether a call of a loss compares its two inputs."""
    if len(call.inputs) != 2 or facts.in_losses.isdisjoint(call.outputs):
        return False
    if plain_name(call.function) != "sub":
        return call.function in _COMPARES
    readers = facts.calls_reading.get(call.outputs[0], ())
    return any(plain_name(reader.function) in _DISTANCES for reader in readers)


def _told(
    facts: Facts, words: Words, draw: Draw, compared: Call, leaves: set[int]
) -> Iterator[Remark]:
    """Tell of one draw, with the term that holds it, where names say it."""
    ends = {*compared.outputs}
    loss = next((i for i in facts.losses if not ends.isdisjoint(facts.ancestors([i], leaves))), -1)
    made = facts.maker.get(loss)
    tensor = facts.graph.tensor
    mean, log, scale = (tensor[i].code_name for i in (draw.mean, draw.log, draw.scale))
    is_log_variance = _halves(draw)
    if not scale and len(draw.made) == 1 and draw.made[0].function == "exp":
        scale = f"{log}.exp()" if log else ""
    if made is None or not mean or not (log if is_log_variance else scale):
        return
    twice = log if is_log_variance else f"2 * {scale}.log()"
    square = f"{log}.exp()" if is_log_variance else f"{scale}.pow(2)"
    term = (
        f"0.5 * ({mean}.pow(2) + {square} - 1 - {twice}){_reduced(facts, compared, loss, leaves)}"
    )
    fields = {
        "sample": f"{words.name(draw.sample)} ({words.where(draw.call)})",
        "mean": mean,
        "log": log or scale,
        "loss": words.at(made),
        "term": term,
    }
    yield Remark(Weight.WEIGHTY, "free_draw", fields, (made, draw.call))


def _halves(draw: Draw) -> bool:
    """Say whether a scale is exp(0.5 * v) or the root of exp(v): v is the logarithm of a
    variance."""
    names = [plain_name(call.function) for call in draw.made]
    if names == ["sqrt", "exp"]:
        return True
    if names not in (["exp", "mul"], ["exp", "div"]) or draw.made[1].source is None:
        return False
    wanted = 0.5 if names[1] == "mul" else 2
    return wanted in [n.value for n in numbers_read(draw.made[1].source)]


def _reduced(facts: Facts, compared: Call, loss: int, leaves: set[int]) -> str:
    """Return how a term is made one number as a comparison in the same loss is."""
    behind = facts.ancestors([loss], {*compared.outputs, *leaves})
    makers = [facts.maker.get(i) for i in behind - {*compared.outputs}]
    functions = {call.function for call in makers if call is not None}
    is_sum = "sum" in functions or any("sum" in frame.code for frame in frames(compared)[:1])
    return (".sum(1).mean()" if "mean" in functions else ".sum()") if is_sum else ".mean()"
