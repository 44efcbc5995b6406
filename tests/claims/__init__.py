"""What five study notes on ``detach``, ``clone`` and ``.grad`` say, each claim with a program that
tries it.

A claim is one sentence of ours, the number of its note, and a program that returns whether the
sentence holds as it stands. Nobody types a verdict; it follows from what torch says when the
programs run:

=================================  ==============
the claim holds                    true
it holds, and a ``but`` does, too  needs nuance
it does not, an ``instead`` does   false
a ``now`` holds, too               outdated
a ``stand_in`` is all there is     not testable
=================================  ==============

Anything else has no verdict and fails the tests, e.g. a claim that does not hold and has no
``instead``. ``tests/ledger.py`` writes docs/claims.md from this, ``tests/course/test_claims.py`` compares.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

Program = Callable[[], bool]
COMPANIONS = {
    "but": "needs nuance",
    "instead": "false",
    "now": "outdated",
    "stand in": "not testable",
}
HELD_BEFORE = {"but": True, "instead": False}  # what the claim's own program must have returned


class NoProof(AssertionError):
    """The programs of a claim do not add up to a verdict."""


@dataclass
class Claim:
    """One claim.

    Attributes:
        id: "C046".
        words: what it says, in our words.
        source: the number of the note, "001".
        topic: the module that it stands in.
        program: returns whether it holds as it stands; None for what cannot be tested.
        kind: of its companion: a key of ``COMPANIONS``, or "".
        remark: what the companion says.
        companion: returns whether the remark holds.
        on_cuda: the same for what can only be tried on a GPU.
    """

    id: str
    words: str
    source: str
    topic: str
    program: Program | None
    kind: str = ""
    remark: str = ""
    companion: Program | None = None
    on_cuda: list[Program] = field(default_factory=list)

    @property
    def programs(self) -> list[Program]:
        """Those that run on every machine."""
        return [p for p in (self.program, self.companion) if p]

    def verdict(self) -> str:
        """Run the programs; what follows from them. Raises NoProof if nothing does."""
        holds = run(self.program) if self.program else None
        if self.companion and not run(self.companion):
            raise NoProof(f"{self.id}: what is added to it does not hold: {self.remark}")
        if not self.kind:
            if not holds:
                raise NoProof(
                    f"{self.id} does not hold, and no instead() says what does: {self.words}"
                )
            return "true"
        if holds is not HELD_BEFORE.get(self.kind, holds):
            raise NoProof(
                f"{self.id} has a remark of the kind {self.kind!r}, yet its program said {holds}:"
                f" {self.words}"
            )
        return COMPANIONS[self.kind]


CLAIMS: dict[str, Claim] = {}


def claim(id: str, words: str, *, source: str) -> Callable[[Program], Program]:
    """The program below returns whether ``words`` hold as they stand."""

    def keep(program: Program) -> Program:
        if id in CLAIMS:
            raise ValueError(f"{id} is there already: {CLAIMS[id].words}")
        CLAIMS[id] = Claim(id, words, source, program.__module__, program)
        return program

    return keep


def not_testable(
    id: str, words: str, *, source: str, stand_in: str
) -> Callable[[Program], Program]:
    """Nothing can be run for ``words``; the program below returns whether ``stand_in`` holds."""

    def keep(program: Program) -> Program:
        claim(id, words, source=source)(program)
        CLAIMS[id].program = None
        return _companion("stand in")(id, stand_in)(program)

    return keep


def _companion(kind: str) -> Callable[[str, str], Callable[[Program], Program]]:
    def decorator(id: str, remark: str) -> Callable[[Program], Program]:
        def keep(program: Program) -> Program:
            found = CLAIMS[id]
            if found.kind:
                raise ValueError(f"{id} has a remark already: {found.remark}")
            found.kind, found.remark, found.companion = kind, remark, program
            return program

        return keep

    return decorator


but = _companion("but")
"""The claim holds, but only so far: the program below returns whether the remark holds."""
instead = _companion("instead")
"""The claim does not hold: the program below returns whether the remark does."""
now = _companion("now")
"""The claim was right once: the program below returns whether the remark holds today."""


def on_cuda(id: str) -> Callable[[Program], Program]:
    """The program below tries the claim where CUDA is present. The verdict does not wait for it."""

    def keep(program: Program) -> Program:
        CLAIMS[id].on_cuda.append(program)
        return program

    return keep


def run(program: Program) -> bool:
    """What a program returns, with a seed of its own, and with warnings as errors."""
    with warnings.catch_warnings(), torch.random.fork_rng(devices=[]), torch.enable_grad():
        warnings.simplefilter("error")
        # torch 2.11 says it once
        warnings.filterwarnings("ignore", "Sparse invariant checks are implicitly")
        torch.manual_seed(0)
        said = program()
    if not isinstance(said, bool):
        raise NoProof(f"{program.__name__} returned {said!r:.80}, expected True or False")
    return said


# --- what the programs use ------------------------------------------------------------------------


def leaf(*values: float) -> torch.Tensor:
    """A leaf that requires grad; 1, 2, 3 without values."""
    return torch.tensor(values or (1.0, 2.0, 3.0), requires_grad=True)


def one(value: float = 1.0) -> torch.Tensor:
    """The same without a dimension."""
    return torch.tensor(value, requires_grad=True)


def same_memory(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors start at one address of one storage."""
    return (
        a.data_ptr() == b.data_ptr()
        and a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()
    )


def node(tensor: torch.Tensor) -> str:
    """The name of its ``grad_fn``, "" for None."""
    return tensor.grad_fn.name() if tensor.grad_fn else ""


def behind(tensor: torch.Tensor) -> list[Any]:
    """The nodes that its ``grad_fn`` hands gradients to."""
    return [n for n, _ in tensor.grad_fn.next_functions]


def accumulator(tensor: torch.Tensor) -> Any:
    """The AccumulateGrad of a leaf."""
    return torch.autograd.graph.get_gradient_edge(tensor).node


def refusal(program: Callable[[], Any]) -> str:
    """With which message a program fails; "" if it does not."""
    try:
        program()
    except (RuntimeError, AttributeError, AssertionError) as error:
        return str(error)
    return ""


def warning(program: Callable[[], Any]) -> tuple[Any, str]:
    """What a program returns, and its first warning or ""."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value = program()
    return value, str(caught[0].message) if caught else ""


def grad(tensor: torch.Tensor) -> list[float] | float | None:
    """Its ``.grad`` as plain numbers; without the warning for computed tensors."""
    found = warning(lambda: tensor.grad)[0]
    return None if found is None else found.tolist()


@contextmanager
def hooks(*handles: Any) -> Iterator[None]:
    """Hooks that go when the block ends."""
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


NON_LEAF = "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed."
NO_HISTORY = "element 0 of tensors does not require grad and does not have a grad_fn"
LEAF_WRITE = "a leaf Variable that requires grad is being used in an in-place operation."
SCALAR_ONLY = "grad can be implicitly created only for scalar outputs"
COPY_HINT = "it is recommended to use sourceTensor.detach().clone()"
