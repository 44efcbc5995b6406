"""Every sentence that gradviz says, in English. How a field is told: NOTE [whole sentences] in
``words/speech.py``.

A table is a section; a sentence's key is "section.key". Findings have a table of their own, by
cause and form. In it ``{grad}`` and ``{it}`` are the ``.grad`` and the name of the tensor that was
asked about, ``{symptom}`` is what there is to explain, in words, and ``{health}`` is how sure it is
that all is well; a group of tensors is told by the same sentences.
"""

from __future__ import annotations

from gradviz.graph.findings import Cause
from gradviz.words.language import Answer, Language

# --- what every room says -------------------------------------------------------------------------

# what a tensor, a call or a place is called
LABEL = {
    "plain_value": "a plain value",
    "unnamed": "an unnamed tensor",
    "parameter_of": "a parameter of {module}",
    "input_of": "an input of {code}",
    "line": "line {line}",
    "in_module": ", in module {module}",
    "grad": "{name}.grad",
}

LIST = {
    "times": "{place}, {n} times",
    "more_places": "and {n} more places",
}

# --- why ------------------------------------------------------------------------------------------

# what there is to explain
SYMPTOM = {
    "raised": "a call raised",
    "none": "{grad} is None",
    "unreadable": "{grad} cannot be read",
    "elsewhere": "{grad} is not from {loss}",
    "zero": "{grad} is all zeros",
    "nan": "{grad} holds NaN or inf",
    "some": "{grad} is there",
    "stays": "{it} stays as it is",
    "kept": "memory is kept",
}

# the cause behind a verdict, in brackets
CAUSE = {
    "cut": "cut",
    "rebuilt_from_value": "rebuilt from value",
    "no_grad_write": "no grad write",
    "rebound": "rebound",
    "made_non_leaf": "made non leaf",
    "non_leaf": "non leaf",
    "not_in_loss": "not in loss",
    "branch_not_taken": "branch not taken",
    "never_tracked": "never tracked",
    "frozen": "frozen",
    "inference_tensor": "inference tensor",
    "no_backward_yet": "no backward yet",
    "zero_gradient": "zero gradient",
    "underflow": "underflow",
    "nan": "nan",
    "vanishing": "vanishing",
    "exploding": "exploding",
    "overwritten": "overwritten",
    "fused_step": "fused step",
    "not_moved": "not moved",
    "non_leaf_in_optimizer": "non leaf in optimizer",
    "leftover_grad_moves": "leftover grad moves",
    "batch_norm_moves": "batch norm moves",
    "shared_snapshot": "shared snapshot",
    "graph_kept": "graph kept",
    "no_grad_fn": "no grad fn",
    "modified_in_place": "modified in place",
    "second_backward": "second backward",
    "unused_input": "unused input",
    "not_scalar": "not scalar",
    "leaf_in_place": "leaf in place",
    "view_of_leaf_in_place": "view of leaf in place",
    "view_in_place": "view in place",
    "detach_view_in_place": "detach view in place",
    "numpy_on_tracked": "numpy on tracked",
    "deepcopy_non_leaf": "deepcopy non leaf",
    "requires_grad_non_float": "requires grad non float",
    "requires_grad_non_leaf": "requires grad non leaf",
    "healthy": "no fault",
    "not_known": "not known",
}

# one answer as it is shown, beside what was found: why/explanation.py, why/focus.py
EXPLANATION = {
    "tag": "{cause}: {reasons}",
    "where": "Where",
    "why": "Why",
    "mend": "Mend",
    "ruled_out": "Ruled out",
    "all_ruled_out": "{all}.",
    "left_out": "shown is what the explanation points at; {n:## more tensor is|## more tensors are} left out",
}

# of tables: why/tables.py
ANSWER_TABLE = {
    "more_rows": "… and {n} more, not listed",
}

# the titles of their columns
ANSWER_COLUMN = {
    "group": "group",
    "loss": "loss",
    "module": "module",
    "parameter": "parameter",
    "name": "name",
    "requires_grad": "requires_grad",
    "grad": "grad",
    "state": "state",
    "settings": "settings",
    "verdict": "verdict",
    "why": "why",
}

# what a row says of a parameter
VERDICT = {
    "moves": "moves",
    "stays": "stays",
    "reached": "reached",
    "frozen": "frozen",
    "no_path": "no path",
    "not_used": "not used",
    "not_known": "not known",
}

# what the next step of an optimizer does: why/moving.py, why/trial.py
MOVING = {
    "verdict": "{optimizer}: of {all} parameters the next step() moves {moved}; {stay} stay.",
    "verdict_frozen": "{optimizer}: of {all} parameters the next step() moves {moved} ({frozen} of them with requires_grad False); {stay} stay.",
    "verdict_unknown": "{optimizer}: of {all} parameters the next step() moves {moved}; {stay} stay, {unknown} not known.",
    "verdict_frozen_unknown": "{optimizer}: of {all} parameters the next step() moves {moved} ({frozen} of them with requires_grad False); {stay} stay, {unknown} not known.",
    "in_group": "parameter {position} of group {group}",
    # how large a gradient is
    "zero": "zero",
    "wild": "NaN or infinity",
    "up_to": "up to {size}",
    "unknown": "unknown",
    "of_state": "{name} {size}",
    # it stays, and no step was tried
    "outside": "not in the optimizer",
    "no_grad": "grad is None: skipped",
    # not known
    "odd_tensor": "a step on a copy would say nothing of this kind of tensor",
    "overlaps_itself": "its elements share memory with one another",
    "mixed_dtypes": "the group mixes dtypes, and this optimizer may look at several parameters at once",
    "half_started": "fused momentum, and only some parameters of the group have a momentum buffer",
    "raises": "step() would raise {error}: {message}",
    "raises_elsewhere": "step() would raise {error} at another parameter",
    "shares_memory": "shares memory with {names:list}",
    # it moves
    "although_frozen": "although requires_grad is False (optimizers look at .grad only): {why}",
    "writes_nan": "{why}, and the step writes NaN",
    "signs": "only the sign of zeros changes",
    "copy_moves": "a trial step on a copy moves it",
    "not_finite": "grad is not finite",
    "not_zero": "grad is not zero",
    "carried": "grad is zero, but {carry}",
    "carried_and_pulled": "grad is zero, but {carry}, and {settings} {n:pulls|pull} it",
    "pulled": "{settings} {n:pulls|pull} it, though its grad is zero",
    "zero_but_moves": "grad is zero, but a trial step on a copy moves it",
    "momentum_carries": "momentum {momentum} still carries {size}",
    "memory_carries": "{optimizer}'s memory of earlier gradients still carries it ({averages})",
    # it stays
    "no_elements": "it has no elements",
    "all_nan": "all its values are NaN already",
    "no_lr": "lr is 0",
    "zero_and": "grad is zero, and {why}",
    "swallows_step": "the step is too small to change a {dtype} of this size: rounding swallows it",
    "swallows_pull": "the pull of {settings} is too small to change a {dtype} of this size: rounding swallows it",
    "swallows_both": "the step and the pull of {settings} are too small to change a {dtype} of this size: rounding swallows it, or its parts cancel",
    "nothing_moves": "grad is zero, and nothing else moves it",
    "underflows": "its step comes out as exactly zero: it underflows, or its parts cancel",
    "rprop_rests": "its step comes out as exactly zero: it underflows, or its parts cancel; Rprop rests where the sign of the gradient flips",
}

# what is told of many subjects, and beside an answer: why/subjects.py, optimizers.py, many.py, answer.py
ENTRY = {
    # names of what has none
    "this_tensor": "this tensor",
    "this_optimizer": "this {kind}",
    "a_parameter": "a parameter",
    "nth_parameter": "parameter {n}",
    "nth_tensor": "tensor {n}",
    "under": "{n} under {module}",
    # {what} is fine
    "all_have": "{n} of {n} trainable parameters have a gradient{frozen:|, # frozen|, # frozen}",
    "all_had": "{n} of {n} trainable parameters had a gradient; it was cleared after the step{frozen:|, # frozen|, # frozen}",
    "all_have_or_had": "{n} of {n} trainable parameters have a gradient, or had one that was cleared after the step{frozen:|, # frozen|, # frozen}",
    "loss_can_send": "{loss} can send gradients to {leaves:few}",
    "loss_led_to": "the graph of {loss} leads to {leaves:few}; {reason}",
    # how many get a gradient
    "numbers_reached": "{n} trainable parameters: {reached} reached, {rest} not{unknown:|, # not known|, # not known}{frozen:|, # frozen|, # frozen}.",
    "numbers_with_gradient": "{n} trainable parameters: {reached} with a gradient, {rest} without{unknown:|, # not known|, # not known}{frozen:|, # frozen|, # frozen}.",
    "none_reached": "{n} trainable parameters ({names}): 0 reached.",
    # optimizers
    "not_held": "No optimizer that is known here holds {names}.",
    "does_not_hold": "{optimizers} does not hold {names}.",
    "moves_by_zero": "{optimizers}'s next step moves {names}: {reason}.",
    # notes
    "constants": "Of autograd.grad without create_graph=True, a constant in {loss}: {names:few}.",
    "loss_not_recorded": "The recording given did not see this loss, so it was not used.",
    "nothing_recorded": "The recording given did not see any of this, so it was not used.",
    "record": "Put %%gradviz above the cell, or run it in `with gv.record()`: that tells the call and the line.",
}

# which parameters a loss reaches: why/reaching.py
REACH = {
    "nth_loss": "loss {n}",
    "of_loss": "{loss}: {counts}",
    "first_count": "{module}: {reached} of {all} parameters reached",
    "first_count_unknown": "{module}: {reached} of {all} parameters reached ({unknown} not known)",
    "count": "{module}: {reached} of {all}",
    "count_unknown": "{module}: {reached} of {all} ({unknown} not known)",
    "no_parameters": "no parameters",
    # reached
    "through_custom": "only through a custom Function ({names}): whether it hands a gradient on, its backward decides",
    # frozen
    "frozen": "requires_grad is False",
    "frozen_since": "requires_grad is False after this loss was computed: its path is still there, and backward skips it",
    "frozen_then": "it did not require grad when this loss was computed",
    # not known
    "flag_unread": "torch does not tell whether it requires grad",
    "not_read_whole": "the graph could not be read whole",
    "in_checkpoint": "checkpoint(use_reentrant=True) builds the graph inside it only in backward",
    # no path
    "untracked": "the loss does not require grad: it reaches nothing; only a recording (recording=) can tell which",
    "untracked_unseen": "the loss does not require grad: it reaches nothing; this loss is not in the recording",
    "no_path": "no gradient path: cut off, or not used by this loss; only a recording (recording=) can tell which",
    "no_path_unseen": "no gradient path: cut off, or not used by this loss; this loss is not in the recording",
    "not_recorded_whole": "no gradient path; the recording is not complete, so where it was cut is not known",
    "cut": "cut at {places}",
    "cut_unproven": "no gradient path; cut off at {places}, but that this came back into this loss is not proven",
    "not_explained": "no gradient path, although its value may have gone into this loss; why is not known",
    "place": "{place} [{reason}]",
    "more_places": "and {n} more",
    "checkpoint": "reentrant checkpoint of an untracked input: use_reentrant=False",
    # not used
    "not_used": "not used by this loss, as far as was recorded",
}

# why a step cannot be tried on a copy: why/moving.py
OBSTACLE = {
    "own_step": "step() of this {optimizer} is not torch's own, and it is not run to find out",
    "replaced_step": "step() of this {optimizer} was replaced, and it is not run to find out",
    "hooks": "step() has hooks, and they are not run to find out",
    "closure": "LBFGS runs a closure, which computes new gradients",
    "differentiable": "differentiable=True: its step is part of a graph, and is not tried",
    "dispatch_mode": "a TorchDispatchMode is active, and would see the trial",
}

# {health} of an answer that found no fault: why/doubts.py
DOUBT = {
    "healthy": "Healthy",
    "so_far": "Healthy as far as was looked at",
    "open": "Not known whether all is well",
}

# why a value went on and gradients do not (CutReason)
CUT_REASON = {
    "detach": "detach",
    "detach_in_place": "detach_",
    "data": ".data",
    "no_grad": "no_grad",
    "inference_mode": "inference_mode",
    "not_differentiable": "non-differentiable function",
    "integer_dtype": "integer or bool dtype",
    "copied_out": "value copied out",
    "no_grad_write": "in-place write under no_grad",
    "flag_off": "requires_grad switched off",
    "custom_non_differentiable": "custom Function marked it non-differentiable",
    "unknown": "cut, reason not known",
}

# many tensors of which the same is told
GROUP = {
    "verdict": "{names}: {verdict}",
    "grad": ".grad",
    "it": "it",
}

# what was checked and is not the cause
RULED_OUT = {
    "cut": "cut",
    "frozen": "frozen",
    "never_tracked": "never tracked",
    "non_leaf": "non-leaf",
}

# of a .grad that is None, or of a gradient that is there: why/gradient.py
GRADIENT: dict[tuple[Cause, str], Answer] = {
    (Cause.INFERENCE_TENSOR, "none"): Answer(
        verdict="{symptom}: {it} was made in inference_mode.",
        why="inference tensors have no version counter, so autograd can neither save nor change them.",
        mend="torch.no_grad() instead of inference_mode where it is made; or {it}.clone() outside of it.",
    ),
}

# of a gradient of zeros: why/zeros.py
ZERO: dict[tuple[Cause, str], Answer] = {}

# of a call that raised: why/raised.py and why/messages.py
RAISED: dict[tuple[Cause, str], Answer] = {}

# of faults that nothing shows: why/silent.py
SILENT: dict[tuple[Cause, str], Answer] = {}

# of gradients that shrink, grow or are NaN: why/small.py
SMALL: dict[tuple[Cause, str], Answer] = {}

# of parameters that stay or move, and of many subjects at once: why/moving.py, why/entry.py
MANY: dict[tuple[Cause, str], Answer] = {
    # no fault: {what} is one of the phrases of ENTRY
    (Cause.HEALTHY, "fine"): Answer("{health}: {what}."),
    (Cause.HEALTHY, "fine_unseen"): Answer(
        "No fault is visible: {what}. Without a recording no more than that is known.",
    ),
    (Cause.FROZEN, "all_frozen"): Answer("All {n} parameters are frozen: none gets a gradient."),
    # a loss
    (Cause.MODIFIED_IN_PLACE, "graph_of_loss"): Answer(
        verdict="The graph of {loss} leads to {leaves:few}; {reason}.",
        mend="compute {loss} anew after the write, or write out of place.",
    ),
    (Cause.NOT_KNOWN, "graph_of_loss"): Answer(
        verdict="The graph of {loss} leads to {leaves:few}; {reason}.",
    ),
    (Cause.NO_GRAD_FN, "nothing_trains"): Answer("Nothing can train: {loss} has no grad_fn."),
    (Cause.NO_GRAD_FN, "cannot_start"): Answer(
        "No backward can start from {loss}: it has no grad_fn. What .grad holds came from another loss.",
    ),
    # optimizers
    (Cause.NON_LEAF_IN_OPTIMIZER, "holds_result"): Answer(
        verdict="{optimizers} holds {names}: a result, not a leaf.",
        why="a step writes to it, not to the leaf behind it, and it gets no .grad unless it is retained.",
        mend="give the optimizer the leaf.",
    ),
    (Cause.NOT_MOVED, "stays"): Answer(
        "{optimizers}'s next step will not move {names}: {reason}.",
    ),
    (Cause.NOT_MOVED, "holds_none"): Answer(
        verdict="{optimizers}'s next step will not move {names}: {optimizers} holds none of them.",
        mend="make the optimizer from this model's parameters.",
    ),
    (Cause.NOT_MOVED, "replaced"): Answer(
        verdict="No optimizer that is known here holds {names}: no step moves them.",
        why="{optimizer} holds {count} parameters of no module known here: were they replaced afterwards?",
        mend="make the optimizer when the model is complete, or add_param_group().",
    ),
    (Cause.NOT_MOVED, "in_no_module"): Answer(
        verdict="No optimizer that is known here holds {names}: no step moves them.",
        why="the loss reaches them, others were stepped, and no recorded call wrote them.",
        mend="if they are to learn: add_param_group().",
    ),
    (Cause.NOT_MOVED, "in_list"): Answer(
        verdict="No optimizer that is known here holds {names}: no step moves them.",
        why="the loss reaches them, others were stepped, and no recorded call wrote them. {lists:few}: a plain list or dict, where parameters() does not look.",
        mend="if they are to learn: nn.ModuleList or ModuleDict, before the optimizer is made.",
    ),
    (Cause.NOT_MOVED, "left_out"): Answer(
        verdict="No optimizer that is known here holds {names}: no step moves them.",
        why="of {all} trainable parameters of {model} {held} are in an optimizer; these are in none that is alive, and get a gradient.",
        mend="if they are to learn, give them to the optimizer; else requires_grad_(False).",
    ),
}


SECTIONS = {
    "label": LABEL,
    "list": LIST,
    "symptom": SYMPTOM,
    "cause": CAUSE,
    "cut_reason": CUT_REASON,
    "doubt": DOUBT,
    "explanation": EXPLANATION,
    "answer_table": ANSWER_TABLE,
    "answer_column": ANSWER_COLUMN,
    "verdict": VERDICT,
    "moving": MOVING,
    "entry": ENTRY,
    "reach": REACH,
    "obstacle": OBSTACLE,
    "group": GROUP,
    "ruled_out": RULED_OUT,
}

ENGLISH = Language(
    sentences={
        f"{section}.{key}": sentence
        for section, table in SECTIONS.items()
        for key, sentence in table.items()
    },
    answers={**GRADIENT, **ZERO, **RAISED, **SILENT, **SMALL, **MANY},
    page={},
    numbers=(
        *("no", "one", "two", "three", "four", "five", "six"),
        *("seven", "eight", "nine", "ten", "eleven", "twelve"),
    ),
    last_two="{} and {}",
    between=", ",
    others="{} more",
)
