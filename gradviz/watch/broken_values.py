"""Where numbers stop being finite, read while the graph still holds what its nodes saved: once a
loss is NaN or inf, or a node got finite gradients and sent others.

NOTE [read when it is too late]: in a sound program nothing is read. A backward that begins at NaN
or inf has its whole forward behind it: what the nodes saved, and the tensors that are alive. The
oldest node is looked for whose result is not finite. A result that nobody kept is worked out once
more from what the node saved, by the function of torch that made it, on plain copies. What a
backward breaks is read at the node that breaks it, before the node lets go of what it saved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from gradviz.graph.broken_at import RESULTS, BrokenAt, Given
from gradviz.graph.records import SavedState
from gradviz.watch import torch_private
from gradviz.watch.entries import Object, State
from gradviz.watch.identity import read

if TYPE_CHECKING:
    from gradviz.watch.walk import Walk

MOST_READ = 1 << 24  # elements of one tensor
MOST_NODES = 8  # that are told of one run
MOST_LOSSES = 3  # forwards that are searched in one recording
_SHOWN = 4  # different values that are kept of one tensor
Saved = Mapping[str, torch.Tensor]
Test = Callable[[torch.Tensor], torch.Tensor]


def _quotient(node: Any, saved: Saved) -> torch.Tensor | None:
    """Return a quotient; where only the divisor was saved that of 1, which has the same zeros, or
    None where it has none: the quotient is as finite as what was divided, and that is not known."""
    found = saved.get("self", torch.ones(())) / saved["other"]
    return found if "self" in saved or not is_finite(found) else None


def _power(node: Any, saved: Saved) -> torch.Tensor:
    """Return a power with a plain number as its exponent."""
    exponent = torch_private.saved_number(node, "exponent")
    return saved["self"].pow(1.0 if exponent is None else exponent)


# what a node's call gave, once more from what it saved
_AGAIN: dict[str, Callable[[Any, Saved], torch.Tensor | None]] = {
    "PowBackward0": _power,
    "PowBackward1": lambda node, saved: saved["self"] ** saved["exponent"],
    "DivBackward0": _quotient,
    "MulBackward0": lambda node, saved: saved["self"] * saved["other"],
    "LogBackward0": lambda node, saved: saved["self"].log(),
    "Log2Backward0": lambda node, saved: saved["self"].log2(),
    "Log10Backward0": lambda node, saved: saved["self"].log10(),
    "Log1PBackward0": lambda node, saved: saved["self"].log1p(),
    "AcosBackward0": lambda node, saved: saved["self"].acos(),
    "AsinBackward0": lambda node, saved: saved["self"].asin(),
    "AcoshBackward0": lambda node, saved: saved["self"].acosh(),
    "AtanhBackward0": lambda node, saved: saved["self"].atanh(),
    "SinhBackward0": lambda node, saved: saved["self"].sinh(),
    "CoshBackward0": lambda node, saved: saved["self"].cosh(),
    "XlogyBackward0": lambda node, saved: torch.xlogy(saved["self"], saved["other"]),
}


class Reading(NamedTuple):
    """What was read at one node.

    Attributes:
        node: the serial of the node.
        states: of what it saved, where that is a recorded tensor.
        found: what was read, still without ids.
        suspects: the serials of the nodes of a forward whose results may not be finite.
    """

    node: int
    states: tuple[State | None, ...]
    found: BrokenAt
    suspects: tuple[int, ...] = ()


def is_readable(t: Any) -> bool:
    """Say whether the numbers of a tensor may be read here: plain ones on the CPU, not too many."""
    if not isinstance(t, torch.Tensor) or not t.is_cpu or t.numel() > MOST_READ:
        return False
    if not (t.is_floating_point() or t.is_complex()) or torch_private.dispatch_modes():
        return False
    return torch_private.has_plain_data(t) and (t.numel() == 0 or torch_private.lies_in_memory(t))


def is_finite(t: torch.Tensor) -> bool:
    """Say whether all numbers of a tensor are finite."""
    return bool(torch.isfinite(t.detach()).all())


def _not_finite(t: torch.Tensor) -> torch.Tensor:
    """Say of each number whether it is not finite."""
    return ~torch.isfinite(t)


def saved_by(node: Any) -> Saved:
    """Return the tensors that a node saved and whose numbers are those of then, by name; no hook of
    the user's runs."""
    return {
        name: data
        for name, data, status, _ in torch_private.saved_tensors(node)
        if status is SavedState.AVAILABLE and is_readable(data)
    }


class Forward:
    """The forward behind a backward that began at NaN or inf.

    Args:
        graph: its nodes.
        serials: what the recording calls them.
        objects: the tensors that it knows.
    """

    def __init__(self, graph: Walk, serials: Sequence[int], objects: Iterable[Object]) -> None:
        self.graph, self.serials = graph, serials
        self.states: dict[int, State] = {}
        self._made: dict[int, list[torch.Tensor]] = {}
        self._results: dict[int, torch.Tensor | None] = {}
        self._saved: dict[int, Saved] = {}
        for own in objects:
            self._take(own)

    def _take(self, own: Object) -> None:
        """Keep a living tensor that is still what was noted of it, with the node that made it."""
        t, state = own(), own.state
        if t is None or own.deferred or torch_private.version(t) != state.version:
            return
        self.states[id(t)] = state
        if state.node is not None and is_readable(t):
            self._made.setdefault(state.node, []).append(t)

    def broken_at(self, root: int, *, by_nan: bool) -> Reading | None:
        """Return the oldest node on the way to a loss that made NaN or inf; None where it is not
        known. What makes NaN of infinities is followed to what made these.

        Args:
            root: the place of its first node.
            by_nan: whether the loss is NaN; else it is infinite.
        """
        at = self._oldest(root, torch.isnan if by_nan else torch.isinf)
        if at is None:
            return None
        before = self._oldest(at, torch.isinf, below=True) if by_nan else None
        reading = self._reading(at if before is None else before)
        reached = self._reached(root, _not_finite)
        suspects = (self.serials[one] for one in reached if not self._hands_on(one))
        return reading._replace(suspects=tuple(suspects))

    def _hands_on(self, at: int) -> bool:
        """Say whether a node divided by finite numbers none of which is 0: what is not finite came
        to it."""
        divisor = self._saved_at(at).get("other")
        divides = torch_private.node_name(self.graph.nodes[at]) == "DivBackward0"
        return divides and divisor is not None and is_finite(divisor) and bool(divisor.all())

    def _oldest(self, root: int, test: Test, *, below: bool = False) -> int | None:
        """Return the oldest node with such a result, on ways through nodes with such a result or
        one that nobody knows. ``below``: other than the one that it begins at."""
        reached = self._reached(root, test)
        found = [at for at in reached if self._has(at, test) and not (below and at == root)]
        return min(found, key=self.graph.numbers.__getitem__, default=None)

    def _reached(self, root: int, test: Test) -> list[int]:
        """Return the nodes on such ways that have such a result, or one that nobody knows."""
        found, seen, todo = list[int](), set[int](), [root]
        while todo:
            at = todo.pop()
            if at in seen:
                continue
            seen.add(at)
            may_have_it = self._has(at, test) is not False
            found += [at] if may_have_it else []
            if may_have_it or at == root:
                todo += self._behind(at)
        return found

    def _behind(self, at: int) -> list[int]:
        """Return the places of the nodes that a node's own gradients go to, leaves apart."""
        places = [self.graph.index[node] for node, _ in self.graph.next[at] if node is not None]
        return [one for one in places if self.graph.numbers[one] != torch_private.NO_NUMBER]

    def _has(self, at: int, test: Test) -> bool | None:
        """Say whether the result of a node passes a test anywhere; None where it is not known."""
        result = self._result(at)
        return None if result is None else bool(test(result).any())

    def _saved_at(self, at: int) -> Saved:
        """Return what a node saved."""
        if at not in self._saved:
            self._saved[at] = saved_by(self.graph.nodes[at])
        return self._saved[at]

    def _result(self, at: int) -> torch.Tensor | None:
        """Return what a node's call gave: the living tensor, what the node saved of it, or that
        once more; None where that is not known. Of several the one that is not finite."""
        if at not in self._results:
            found = self._kept_result(at)
            self._results[at] = self._again(at) if found is None else found
        return self._results[at]

    def _kept_result(self, at: int) -> torch.Tensor | None:
        """Return the result of a node that is still there."""
        alive = [t.detach() for t in self._made.get(self.serials[at], ())]
        saved = self._saved_at(at)
        alive += [saved[name].detach() for name in RESULTS if name in saved]
        return next((t for t in alive if not is_finite(t)), alive[0] if alive else None)

    def _again(self, at: int) -> torch.Tensor | None:
        """Return the result of a node, once more from what it saved."""
        node = self.graph.nodes[at]
        again = _AGAIN.get(torch_private.node_name(node))
        saved = {name: t.detach() for name, t in self._saved_at(at).items()}
        return None if again is None or not saved else read(lambda: again(node, saved))

    def _reading(self, at: int) -> Reading:
        """Return what is known of a node whose result is not finite."""
        result, saved = self._result(at), self._saved_at(at)
        broken = ~torch.isfinite(torch.empty(0) if result is None else result)
        inputs = [t for name, t in saved.items() if name not in RESULTS]
        again = self._again(at) if inputs and all(map(is_finite, inputs)) else None
        is_proven = again is not None and not is_finite(again)
        node, own = self.graph.nodes[at], self.serials[at]
        found = _found(node, saved, broken, of_forward=True, is_proven=is_proven)
        return Reading(own, _states(found, saved, self.states), found)


def broken_derivative(
    node: Any, own: int, arrived: Any, sent: Any, objects: Iterable[Object]
) -> Reading | None:
    """Return what a node saved that got finite gradients and sent others."""
    found = next((g for g in sent if is_readable(g) and not is_finite(g)), None)
    if found is None:
        return None
    broken = ~torch.isfinite(found.detach())
    states = {id(t): own.state for own in objects if (t := own()) is not None}
    saved = saved_by(node)
    came = [g for g in arrived if is_readable(g)]
    masked = len(came) == 1 and came[0].shape == broken.shape
    masked = masked and not bool(torch.count_nonzero(came[0].detach()[broken]))
    read_there = _found(node, saved, broken, of_forward=False, is_proven=True)
    return Reading(own, _states(read_there, saved, states), read_there._replace(masked=masked))


def _states(found: BrokenAt, saved: Saved, states: Mapping[int, State]) -> tuple[State | None, ...]:
    """Return the recorded tensors among what a node saved, in its order."""
    return tuple(states.get(id(saved.get(given.name))) for given in found.given)


def _found(
    node: Any, saved: Saved, broken: torch.Tensor, *, of_forward: bool, is_proven: bool
) -> BrokenAt:
    """Return what a node saved, at the elements that are not finite."""
    given = []
    for name, t in saved.items():
        plain = t.detach()
        lost = ~torch.isfinite(plain)
        values = _some(_at(plain, broken, lost))
        given.append(Given(name, None, values, int(lost.sum()), plain.numel()))
    for name in ("exponent", "other", "self"):
        number = torch_private.saved_number(node, name)
        if name not in saved and number is not None:
            given.append(Given(name, None, (float(number),), 0, 1))
    n, all_ = int(broken.sum()), broken.numel()
    return BrokenAt(-1, -1, None, of_forward, is_proven, n, all_, tuple(given))


def _at(t: torch.Tensor, broken: torch.Tensor, lost: torch.Tensor) -> torch.Tensor:
    """Return the numbers of a tensor at the elements of a result that are not finite; where it has
    another shape, its own that are not."""
    try:
        return torch.broadcast_to(t, broken.shape)[broken]
    except RuntimeError:
        return t[lost]


def _some(values: torch.Tensor) -> tuple[float, ...]:
    """Return a few different ones of some numbers: the least and the largest, and others."""
    if not values.numel() or values.is_complex():
        return ()
    distinct = torch.unique(values.to(torch.float64)).tolist()
    distinct = list(dict.fromkeys(str(x) for x in distinct))  # NaN is not equal to itself
    return tuple(map(float, distinct[: _SHOWN - 1] + distinct[-1:]))[:_SHOWN]
