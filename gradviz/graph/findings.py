"""What an answer can find: every cause, what it explains, how grave it is, and one finding. Knows
no torch.

NOTE [priority]: two things decide which of several answers is given. Of the rules about one
subject the first one that proves something: the order of ``TABLE`` in
``why/answering/table.py``. Of the answers about several subjects the one whose cause has the higher
``Level``, then the one that points at something, then the one that more of them share:
``why/rules/many.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, IntEnum, auto
from typing import Any, NamedTuple

from gradviz.graph.records import Call, Cut, Source


class Level(IntEnum):
    """How grave a cause is, the least first."""

    OPEN = auto()  # nothing is proven
    FINE = auto()  # it is as it should be
    NOTE = auto()  # it may well be meant: something graver, where it is found, explains more
    SUSPECT = auto()  # a fault, unless it was meant
    FAULT = auto()  # this cannot have been meant


class Symptom(Enum):
    """What there is to explain: a call that raised, or what a ``.grad`` is."""

    RAISED = auto()
    NONE = auto()  # it is None
    ELSEWHERE = auto()  # it is there, and did not come from the loss that is asked about
    UNREADABLE = auto()  # it is there, and torch does not show its values
    ZERO = auto()  # all zeros
    NAN = auto()  # NaN or inf
    SOME = auto()  # ordinary numbers: right, wrong, too small or too large
    STAYS = auto()  # a step does not move the parameter, or moves it unasked
    KEPT = auto()  # memory that a loop does not give back


# what a .grad is: an answer can name it as its {symptom}
OF_A_GRADIENT = frozenset(
    {
        *(Symptom.NONE, Symptom.ELSEWHERE, Symptom.UNREADABLE),
        *(Symptom.ZERO, Symptom.NAN, Symptom.SOME),
    }
)


class Cause(str, Enum):
    """One machine-readable word. Equal to the plain word, and shown like it.

    Each member is written as its word, its level and the symptoms that it explains.

    Example:
        >>> Cause.CUT == "cut", f"{Cause.CUT}", Cause("cut") is Cause.CUT
        (True, 'cut', True)
        >>> Cause.CUT.level is Level.FAULT, Symptom.NONE in Cause.CUT.explains
        (True, True)
    """

    _value_: str
    level: Level
    explains: frozenset[Symptom]

    def __new__(cls, word: str, level: Level, *explains: Symptom) -> Cause:
        """Make a member of its word; ``Cause(word)`` finds it again."""
        cause = str.__new__(cls, word)
        cause._value_ = word
        cause.level = level
        cause.explains = frozenset(explains)
        return cause

    # As of the plain word: Enum's own differ, and differ between versions of Python.
    def __str__(self) -> str:
        return str.__str__(self)

    def __repr__(self) -> str:
        return str.__repr__(self)

    def __format__(self, spec: str) -> str:
        return str.__format__(self, spec)

    @property
    def of_none(self) -> bool:
        """Does it say what is wrong where a ``.grad`` is None?"""
        return Symptom.NONE in self.explains and self.level >= Level.NOTE

    # --- no gradient came from the loss -----------------------------------------------------------
    # A call on the way gave the value on without its history.
    CUT = "cut", Level.FAULT, Symptom.NONE, Symptom.ELSEWHERE
    # The value left torch (item, numpy, torch.tensor(t)) and came back as a new tensor.
    REBUILT_FROM_VALUE = "rebuilt_from_value", Level.FAULT, Symptom.NONE, Symptom.ELSEWHERE
    # The value was written into another tensor under no_grad.
    NO_GRAD_WRITE = "no_grad_write", Level.FAULT, Symptom.NONE, Symptom.ELSEWHERE
    # The name was given to a result; the leaf is what it was before.
    REBOUND = "rebound", Level.FAULT, Symptom.NONE
    # The call that made it (to, * 0.02) took the place of the leaf at once.
    MADE_NON_LEAF = "made_non_leaf", Level.FAULT, Symptom.NONE
    # A result, whose .grad is not kept.
    NON_LEAF = "non_leaf", Level.NOTE, Symptom.NONE
    # No call takes its value to the loss.
    NOT_IN_LOSS = "not_in_loss", Level.SUSPECT, Symptom.NONE, Symptom.ELSEWHERE
    # No call of this run read the parameter.
    BRANCH_NOT_TAKEN = "branch_not_taken", Level.SUSPECT, Symptom.NONE, Symptom.ELSEWHERE
    # A cut keeps it from this loss, which may be meant: another trains it, or it is a target.
    KEPT_OFF = "kept_off", Level.NOTE, Symptom.NONE, Symptom.ELSEWHERE
    # requires_grad was never switched on, or too late; also autograd.grad asked for such a tensor.
    NEVER_TRACKED = (
        "never_tracked",
        Level.NOTE,
        Symptom.RAISED,
        Symptom.NONE,
        Symptom.ELSEWHERE,
    )
    # requires_grad is switched off: of a parameter that is as it should be.
    FROZEN = (
        "frozen",
        Level.FINE,
        Symptom.NONE,
        Symptom.ELSEWHERE,
        Symptom.ZERO,
        Symptom.NAN,
        Symptom.SOME,
    )
    # Made in inference_mode: autograd can do nothing with it.
    INFERENCE_TENSOR = "inference_tensor", Level.FAULT, Symptom.RAISED, Symptom.NONE
    # Backward did not run yet, fills no .grad (autograd.grad), or what it brought was cleared.
    NO_BACKWARD_YET = "no_backward_yet", Level.NOTE, Symptom.NONE, Symptom.ELSEWHERE

    # --- there is a gradient, and something is wrong with it --------------------------------------
    # All zeros, from a node that sends only zeros, or written over it.
    ZERO_GRADIENT = "zero_gradient", Level.FAULT, Symptom.ZERO
    # Numbers too small for the dtype became 0.
    UNDERFLOW = "underflow", Level.FAULT, Symptom.ZERO, Symptom.SOME
    # NaN or inf in it, or in the loss.
    NAN = "nan", Level.FAULT, Symptom.RAISED, Symptom.NAN, Symptom.SOME
    # It shrinks from module to module until it hardly counts.
    VANISHING = "vanishing", Level.FAULT, Symptom.ZERO, Symptom.SOME
    # It grows from module to module, or is infinite.
    EXPLODING = "exploding", Level.FAULT, Symptom.NAN, Symptom.SOME
    # What backward had saved was overwritten, and no version moved: the numbers are wrong.
    OVERWRITTEN = "overwritten", Level.FAULT, Symptom.ZERO, Symptom.NAN, Symptom.SOME
    # The same by a fused optimizer step.
    FUSED_STEP = "fused_step", Level.FAULT, Symptom.ZERO, Symptom.NAN, Symptom.SOME
    # Some elements of a weight get exactly 0: it goes straight into relu or clamp.
    PARTLY_ZERO = "partly_zero", Level.SUSPECT, Symptom.SOME
    # A loss that applies softmax or sigmoid itself, or expects logarithms, gets probabilities.
    NOT_LOGITS = "not_logits", Level.SUSPECT, Symptom.SOME
    # Kept under a second name, written in place under the first, then read under the second.
    CHANGED_BEFORE_READ = "changed_before_read", Level.SUSPECT, Symptom.SOME
    # A statement throws away what its call made, and the loss goes on with what that was given.
    RESULT_UNUSED = "result_unused", Level.SUSPECT, Symptom.SOME
    # One of the losses that are added up is a number: none of its gradients is in it.
    CONSTANT_SUMMAND = "constant_summand", Level.SUSPECT, Symptom.SOME
    # A loss sends it a gradient besides the one that another loss is to train it with.
    EXTRA_GRADIENT = "extra_gradient", Level.NOTE, Symptom.SOME
    # Gradients of autograd.grad without create_graph=True are constants in the loss.
    FIRST_ORDER = "first_order", Level.NOTE, Symptom.NONE, Symptom.SOME

    # --- what a training loop does with gradients -------------------------------------------------
    # A backward adds to what a step has used already.
    GRADIENTS_PILE_UP = "gradients_pile_up", Level.SUSPECT, Symptom.NAN, Symptom.SOME
    # Cleared after each of several backwards, though a step comes after them all.
    CLEARED_TOO_OFTEN = (
        "cleared_too_often",
        Level.SUSPECT,
        Symptom.NONE,
        Symptom.ELSEWHERE,
        Symptom.SOME,
    )
    # Clipped when a step had used them, before they are unscaled, or as a sum again and again.
    CLIPPED_WRONG = "clipped_wrong", Level.SUSPECT, Symptom.SOME
    # Stepped while the model was in eval mode.
    EVAL_MODE = "eval_mode", Level.NOTE, Symptom.SOME
    # A hook read a gradient before it was there.
    READ_TOO_EARLY = "read_too_early", Level.SUSPECT, Symptom.NONE, Symptom.SOME
    # A hook changed it on its way.
    CHANGED_BY_HOOK = "changed_by_hook", Level.NOTE, Symptom.ZERO, Symptom.SOME

    # --- parameters that stay, or move unasked ----------------------------------------------------
    # The flag was set on what autograd does not read, or set back before it was of use.
    FREEZE_WITHOUT_EFFECT = "freeze_without_effect", Level.SUSPECT, Symptom.STAYS
    # The next step leaves it where it is, or no optimizer holds it.
    NOT_MOVED = "not_moved", Level.FAULT, Symptom.STAYS
    # A module's buffer: no gradient comes to it, and no optimizer moves it.
    BUFFER = "buffer", Level.NOTE, Symptom.NONE, Symptom.STAYS
    # No optimizer holds it, while one holds other parameters of the same model.
    LEFT_OUT = "left_out", Level.NOTE, Symptom.STAYS
    # An optimizer was given a result in place of a leaf.
    NON_LEAF_IN_OPTIMIZER = "non_leaf_in_optimizer", Level.FAULT, Symptom.RAISED, Symptom.STAYS
    # Frozen, and a step moves it: its old .grad is still there.
    LEFTOVER_GRAD_MOVES = "leftover_grad_moves", Level.FAULT, Symptom.STAYS
    # The running statistics of a frozen layer in train mode.
    BATCH_NORM_MOVES = "batch_norm_moves", Level.SUSPECT, Symptom.STAYS
    # A snapshot or frozen copy that shares its memory with live weights.
    SHARED_SNAPSHOT = "shared_snapshot", Level.FAULT, Symptom.STAYS
    # Something holds the graphs of iterations that are over.
    GRAPH_KEPT = "graph_kept", Level.FAULT, Symptom.KEPT

    # --- a call raised ----------------------------------------------------------------------------
    # Backward was called on what has no grad_fn.
    NO_GRAD_FN = "no_grad_fn", Level.FAULT, Symptom.RAISED
    # What was saved for backward was written since.
    MODIFIED_IN_PLACE = "modified_in_place", Level.FAULT, Symptom.RAISED
    # What was saved was freed by an earlier backward.
    SECOND_BACKWARD = "second_backward", Level.FAULT, Symptom.RAISED
    # autograd.grad: the input is not in the graph of the output.
    UNUSED_INPUT = "unused_input", Level.FAULT, Symptom.RAISED
    # Backward was called on more than one number.
    NOT_SCALAR = "not_scalar", Level.FAULT, Symptom.RAISED
    # A leaf that requires grad was written in place.
    LEAF_IN_PLACE = "leaf_in_place", Level.FAULT, Symptom.RAISED
    # The same through a view of it.
    VIEW_OF_LEAF_IN_PLACE = "view_of_leaf_in_place", Level.FAULT, Symptom.RAISED
    # A view whose history autograd cannot rewrite was written in place.
    VIEW_IN_PLACE = "view_in_place", Level.FAULT, Symptom.RAISED
    # detach_() on a view.
    DETACH_VIEW_IN_PLACE = "detach_view_in_place", Level.FAULT, Symptom.RAISED
    # numpy() of what requires grad.
    NUMPY_ON_TRACKED = "numpy_on_tracked", Level.FAULT, Symptom.RAISED
    # copy.deepcopy of a result.
    DEEPCOPY_NON_LEAF = "deepcopy_non_leaf", Level.FAULT, Symptom.RAISED
    # Whole numbers or bools cannot require grad.
    REQUIRES_GRAD_NON_FLOAT = "requires_grad_non_float", Level.FAULT, Symptom.RAISED
    # requires_grad of a result cannot be switched.
    REQUIRES_GRAD_NON_LEAF = "requires_grad_non_leaf", Level.FAULT, Symptom.RAISED
    # What a module holds is no parameter: an optimizer is not handed it.
    NOT_A_PARAMETER = "not_a_parameter", Level.FAULT, Symptom.RAISED, Symptom.STAYS
    # A custom Function's backward returned too few gradients, too many, or one of another shape.
    CUSTOM_BACKWARD = "custom_backward", Level.FAULT, Symptom.RAISED
    # A hook was to stand where no gradient comes, or returned one of another shape.
    HOOK_REFUSED = "hook_refused", Level.FAULT, Symptom.RAISED
    # Tensors of several dtypes were to be computed with each other.
    DTYPES_DIFFER = "dtypes_differ", Level.FAULT, Symptom.RAISED
    # The gradient that backward was given does not have the shape of what it was called on.
    GRADIENT_SHAPE = "gradient_shape", Level.FAULT, Symptom.RAISED

    # Backward was called on a number, a list, a layer, or None.
    NOT_A_TENSOR = "not_a_tensor", Level.FAULT, Symptom.RAISED
    # A checkpoint's function did something else when it ran again, or is asked what it cannot do.
    CHECKPOINT_DIFFERS = "checkpoint_differs", Level.FAULT, Symptom.RAISED
    # A function that torch.func transforms calls what autograd alone understands.
    IN_TRANSFORM = "in_transform", Level.FAULT, Symptom.RAISED
    # torch has no derivative for a call.
    NO_DERIVATIVE = "no_derivative", Level.FAULT, Symptom.RAISED
    # A call of torch's was given what it does not take, or came at the wrong time.
    MISUSED = "misused", Level.FAULT, Symptom.RAISED

    # --- no fault ---------------------------------------------------------------------------------
    # Nothing is wrong, and it was looked for.
    HEALTHY = (
        "healthy",
        Level.FINE,
        Symptom.NONE,
        Symptom.ELSEWHERE,
        Symptom.ZERO,
        Symptom.SOME,
    )
    # No cause is proven.
    NOT_KNOWN = "not_known", Level.OPEN, *Symptom


class Sure(IntEnum):
    """How sure a finding is, the least first."""

    POSSIBLE = auto()  # nothing speaks against it
    LIKELY = auto()  # it fits, and something else would too
    PROVEN = auto()  # the graph admits nothing else


class Finding(NamedTuple):
    """What a rule found, before any language tells it.

    Attributes:
        cause: what is wrong, or that nothing is.
        form: which of the cause's sentences tell it.
        symptom: what there was to explain.
        subject: name of the tensor that was asked about, "" where none was.
        loss: name of the loss or losses.
        fields: what the sentences name: names, code, numbers, phrases.
        calls: where it happened.
        cuts: the cuts that did it.
        node_ids: nodes that it points at.
        tensor_ids: tensors that it points at.
        checked: keys of what was checked and is not the cause.
        sure: how sure it is.
        also_at: further calls, at whose lines it points without telling of them.
        statements: lines of the user's code that no recorded call stands for.
        more: further lines, in words.
    """

    cause: Cause
    form: str = ""
    symptom: Symptom = Symptom.NONE
    subject: str = ""
    loss: str = ""
    fields: Mapping[str, Any] = {}
    calls: tuple[Call, ...] = ()
    cuts: tuple[Cut, ...] = ()
    node_ids: tuple[int, ...] = ()
    tensor_ids: tuple[int, ...] = ()
    checked: tuple[str, ...] = ()
    sure: Sure = Sure.PROVEN
    also_at: tuple[Call, ...] = ()
    statements: tuple[Source, ...] = ()
    more: tuple[str, ...] = ()
