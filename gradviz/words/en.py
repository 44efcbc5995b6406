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
    "not_in_loss": "not part of this loss",
    "requires_grad": "requires_grad is False",
    "no_gradient": "no gradient",
    "all_zeros": "all zeros",
    "zero_slope": "a zero slope",
    "nan": "NaN",
}

# ways of gradients and values: why/paths.py
PATH = {
    "the_loss": "the loss",
    "leaf_made_by": "the leaf that {code} made",
    "same_memory": "{name} (the same memory)",
    "no_origin": "{name}, of no recorded origin,",
    "record": "Put %%gradviz above the cell, or run it in `with gv.record()`: that tells the call and the line.",
    "sentences": "{first} {then}",
}

# phrases of the answers about a .grad that is None, or a gradient that is there: why/gradient.py
GRADIENT_PHRASE = {
    "there": "there",
    "no_grad_fn": "{loss} ({loss} has no grad_fn)",
    "made_unseen": "If it was computed from tracked tensors, it was cut off: a recording tells.",
    "reentrant": "reentrant checkpoint",
    "value_only": "{source} goes on to {result} as a value only: no gradient comes back through it.",
    "cut_itself": "{name} was cut off itself: no gradient comes back through it.",
    "ran_under": "{code} ran under {block} (a with block, or a decorator of the function): torch recorded nothing there, and no gradient comes back through it.",
    "two_mends": "{first}; {other}",
    "new_leaf": "a new leaf",
    "named_leaf": "{name}, a new leaf",
    "the_leaves": "the leaves",
    "used_up": "a backward has used up the graph of {loss}",
    "saved_written": "what {node} saved was written in place, so backward() raises",
}

# phrases of the answers about a gradient of zeros: why/zeros.py
ZERO_PHRASE = {
    "everywhere": "exactly 0 everywhere: {how}",
    "there": "there, and it is exactly 0 everywhere",
    "sends_zeros": "{nodes:few} sends only zeros back",
    "came_as_zeros": "only zeros came of what {node} sent",
    "adds_up": "what reaches it adds up to 0",
    # which node made them
    "parts_cancel": "{parts:few} arrive there, and cancel exactly: the loss does not depend on {it}.",
    "empty": "What it sent on is empty: no element of the batch took this way.",
    "flat": "There its slope is 0: all that arrived met a flat part.",
    "module_hook": "A backward hook of that module returned zeros in place of what arrived.",
    "cast": "It casts to fewer bits, and numbers too small for these became 0.",
    "cancels_there": "What arrived there was not zero, and its parts cancel exactly.",
    "times": "What arrived there was not zero; times {factors:few} it is 0.",
    "sent_zeros": "What arrived there was not zero; what it sent on was.",
    "zero_factors": "Its gradient is multiplied by {factors:few}, which is all zeros.",
    "hook_between": "What it sent was not zero, and only zeros arrived: the hook on {it} made them.",
    "something_between": "What it sent was not zero, and only zeros arrived: likely, not proven, a hook on the tensor between (register_hook), a cast or a sum over what was broadcast made them.",
    # which node may have made them
    "likely": "Likely, not proven: {suspects}.",
    "possible": "Possible, not proven: {suspects}.",
    "either": "{one}; or {other}",
    "may_be_hook": "the hook on it (register_hook)",
    "may_be_module_hook": "{node}, a hook of a module",
    "may_be_flat": "{node}, whose slope can be 0",
    "not_known": "Which node made the zeros is not known here.",
    "written_or_cancels": "What the last backward brought was not zero: something wrote to it, or it cancels.",
    "like_lora": "It is multiplied by {factors:few}, which gets a gradient itself: if {factors:few} was all zeros at that forward (LoRA's B is, in the first step), this is as it should be.",
}

# why no cause is proven
UNPROVEN = {
    "no_cause": "no cause that this explanation knows is proven.",
    "unreadable": "there is one, and torch does not show its values.",
    "no_path": "no gradient path leads from {start} to {it}; cut or never used is not known.",
    "no_path_shared": "no gradient path leads from {start} to {it}; {other} shares its memory, and no gradient path leads between them; cut or never used is not known.",
    "not_whole": "no gradient path leads from {loss} to it, and the recording is not whole.",
    "custom_above": "backward has not run, .grad was cleared since, or {node} returned None towards it.",
}

# of a tensor that asks for no gradient
NOT_ASKING = {
    Cause.FROZEN: Answer(
        verdict="{symptom}: {it} is frozen (requires_grad is False).",
        why="{made}",
        mend="if it is meant to learn: {it}.requires_grad_() before the forward.",
    ),
    Cause.NEVER_TRACKED: Answer(
        verdict="{symptom}: {it} does not ask for one (requires_grad is False).",
        why="{made}",
        mend="{it}.requires_grad_() before the forward.",
    ),
}
ASKED_TOO_LATE = Answer(
    verdict="{symptom}: {it} did not require grad yet when that was made.",
    why="requires_grad was switched on after this call had read it.",
    mend="{it}.requires_grad_() before the forward.",
)

# of a tensor that a cut separates from the loss, or from what it was made of
SEVERED = Answer(
    verdict="{symptom}: {cutter} cuts it from {loss}.",
    why="{why}",
    mend="{mend}",
)
CUT_BEHIND = Answer(
    verdict="{it} has no gradient: {cutter} cuts it off.",
    why="{why}",
    mend="{mend}",
)
CUTS = (Cause.CUT, Cause.REBUILT_FROM_VALUE, Cause.NO_GRAD_WRITE)

NO_CALL_USED_IT = Answer(
    verdict="{symptom}: no call of this run used {it}.",
    why="Its branch was not taken, or forward does not call it.",
)

# of a result
NAMED_ANEW = Answer(
    verdict="{symptom}: the name {it} holds a result now, not the leaf.",
    why="The leaf is what {it} was before: a new tensor took its name, and .grad is kept on leaves only.",
    mend="give the result another name and read .grad of the leaf; or {it}.retain_grad() before backward.",
)
A_RESULT = Answer(
    verdict="{symptom}: {it} is a result, and .grad is kept on leaves only.",
    why="Its gradient goes on to {leaves} and is not kept on the way.",
    mend="read .grad of {leaves}, or call {it}.retain_grad() before backward.",
)

# of a .grad that is None, or of a gradient that is there: why/gradient.py
GRADIENT: dict[tuple[Cause, str], Answer] = {
    # nothing is proven
    **{
        (Cause.NOT_KNOWN, form): Answer("{symptom}; the cause is not known.", why, "{record}")
        for form, why in UNPROVEN.items()
    },
    (Cause.NOT_KNOWN, "in_checkpoint"): Answer(
        verdict="{grad} is {value}; whether {loss} reaches it is not known.",
        why="checkpoint(use_reentrant=True) builds the graph inside it only in backward.",
        mend="use_reentrant=False: then the graph can be read whole.",
    ),
    # there is a gradient
    (Cause.FROZEN, "leftover"): Answer(
        verdict="{it} is frozen (requires_grad is False); its .grad is a leftover.",
        mend="{grad} = None, so that no optimizer uses it.",
    ),
    (Cause.FROZEN, "frozen_now"): Answer(
        verdict="{it} is frozen now; it was not when {loss} was computed: its .grad is from then.",
        mend="{grad} = None, so that no optimizer uses it.",
    ),
    (Cause.HEALTHY, "done"): Answer(
        verdict="{health}: {it} had a gradient; it was cleared after the step.",
    ),
    (Cause.HEALTHY, "arrived"): Answer(
        verdict="{health}: {grad} is {values}.",
    ),
    (Cause.HEALTHY, "arrived_unseen"): Answer(
        verdict="No fault is visible: {grad} is {values}. Without a recording no more than that is known.",
    ),
    (Cause.NAN, "not_finite"): Answer(
        verdict="{symptom}.",
    ),
    # it asks for no gradient
    (Cause.INFERENCE_TENSOR, "none"): Answer(
        verdict="{symptom}: {it} was made in inference_mode.",
        why="inference tensors have no version counter, so autograd can neither save nor change them.",
        mend="torch.no_grad() instead of inference_mode where it is made; or {it}.clone() outside of it.",
    ),
    **{(cause, "not_asking"): answer for cause, answer in NOT_ASKING.items()},
    **{
        (cause, "no_float"): answer._replace(mend="use a float: {dtype} has no gradients.")
        for cause, answer in NOT_ASKING.items()
    },
    **dict.fromkeys(((cause, "too_late") for cause in NOT_ASKING), ASKED_TOO_LATE),
    # no path leads to it
    **dict.fromkeys(((cause, "severed") for cause in CUTS), SEVERED),
    **dict.fromkeys(((cause, "cut_behind") for cause in CUTS), CUT_BEHIND),
    (Cause.CUT, "aliased"): Answer(
        verdict="{symptom}: its value was written into {other} by {alias}, which has no history with it.",
        why="{alias} shares the memory of {other}, not its gradients: {loss} read {other}, and no gradient comes back through that write.",
        mend="write into {other} itself, or build it with torch.cat, stack or where.",
    ),
    (Cause.CUT, "ends"): Answer(
        verdict="{symptom}: all made from it ends at {cutter}.",
        why="No gradient comes back through that, and nothing else used it.",
        mend="{mend}",
    ),
    (Cause.REBUILT_FROM_VALUE, "left_torch"): Answer(
        verdict="{symptom}: its value left torch before {loss}.",
        why="{what} came from {code}, and nothing else used it.",
        mend="{mend}",
    ),
    (Cause.REBUILT_FROM_VALUE, "left_torch_likely"): Answer(
        verdict="{symptom}: its value left torch before {loss}.",
        why="Likely, not proven: {what} came from {code}; nothing else used it.",
        mend="{mend}",
    ),
    (Cause.NOT_IN_LOSS, "only_copied"): Answer(
        verdict="{symptom}: it was only copied (deepcopy), and a copy is a leaf of its own.",
        why="No call that leads to {loss} used {it} itself; what was computed from a copy gives the gradient to the copy.",
        mend="compute {loss} from {it}, or read the copy's .grad.",
    ),
    (Cause.CUT, "part_goes_on"): Answer(
        verdict="{symptom}: of {function}() only {parts:few} goes on to {loss}.",
        why="{parts:few} has no gradient ({dtype}), unlike what {function}() returned beside it.",
        mend="let the loss use that too, e.g. the values that were chosen.",
    ),
    (Cause.NOT_IN_LOSS, "twin_used"): Answer(
        verdict="{symptom}: no call used {it}, but {other}, which shares its memory.",
        why="Memory is shared between them, history is not: no gradient path (nn.Parameter(x), .data, numpy).",
        mend="use {it} itself.",
    ),
    (Cause.NOT_IN_LOSS, "base_used"): Answer(
        verdict="{symptom}: no call used {it}, but {other}, which shares its memory.",
        why="{it} is a view made under no_grad: it says requires_grad, and no gradient ever reaches it.",
        mend="read {other}.grad; or make {it} outside of no_grad.",
    ),
    (Cause.BRANCH_NOT_TAKEN, "never_read"): NO_CALL_USED_IT,
    (Cause.NOT_IN_LOSS, "never_read"): NO_CALL_USED_IT,
    (Cause.CUT, "made_a_leaf"): Answer(
        verdict="{symptom}: its value goes on, likely, only as {new}.",
        why="Likely, not proven: {code} was wrapped, as in nn.Parameter(...): that has its shape and no history, and no call used the result itself.",
        mend="use {code} itself, without nn.Parameter().",
    ),
    (Cause.NOT_IN_LOSS, "leads_elsewhere"): Answer(
        verdict="{symptom}: no recorded call takes it to {loss}.",
        why="{it} was used, but nothing made from it goes into {loss}.",
        mend="add what was made from it to the loss, or call backward on its own loss.",
    ),
    # it is a result
    (Cause.REBOUND, "named_anew"): NAMED_ANEW,
    (Cause.REBOUND, "updated"): NAMED_ANEW._replace(
        mend="with torch.no_grad(): {it} -= lr * {it}.grad (in place, so {it} stays the leaf); or detach() the result and requires_grad_() it.",
    ),
    (Cause.REBOUND, "added_to"): NAMED_ANEW._replace(
        mend="with torch.no_grad(): {it} += … (in place, so {it} stays the leaf); or detach() the result and requires_grad_() it.",
    ),
    (Cause.MADE_NON_LEAF, "made_a_result"): Answer(
        verdict="{symptom}: {function} made {it} a result; the leaf is its input.",
        why="Its input asked for the gradient before this call, so .grad is kept there, and nothing holds that tensor by this name.",
        mend="move, cast or scale first, then {it}.requires_grad_() (or detach() and that).",
    ),
    (Cause.NON_LEAF, "result"): A_RESULT,
    (Cause.NON_LEAF, "result_like_leaf"): A_RESULT._replace(
        more=(
            "A leaf of the same shape is directly above it: after w = w - lr * w.grad, .to() or * 0.01 a name holds such a result.",
        ),
    ),
    # it would get a gradient, and none has come
    (Cause.NO_BACKWARD_YET, "cleared"): Answer(
        verdict="{symptom}: it was cleared after the last backward.",
        why="backward had stored {stored}; this took it away.",
        mend="read .grad, and step, before zero_grad(); or call backward again.",
    ),
    (Cause.NO_BACKWARD_YET, "given_back"): Answer(
        verdict="{symptom}: autograd.grad returns gradients, it fills no .grad.",
        mend="use what it returned, or call backward().",
    ),
    (Cause.CUT, "returned_none"): Answer(
        verdict="{symptom}: the backward of {node} returned None towards it.",
        mend="return its gradient there.",
    ),
    (Cause.NOT_KNOWN, "used_up"): Answer(
        verdict="{symptom}, and {loss} reaches it; {spent}.",
        why="Its .grad was cleared since, or that backward did not fill it: it raised, was autograd.grad, or a custom Function gave None.",
        mend="compute {loss} anew before the next backward().",
    ),
    (Cause.NOT_KNOWN, "saved_written"): Answer(
        verdict="{symptom}, and {loss} reaches it; {spent}.",
        mend="compute {loss} anew before the next backward().",
    ),
    (Cause.NO_BACKWARD_YET, "not_from_loss"): Answer(
        verdict="{symptom}: no backward has run from {loss} yet.",
        why="A gradient path leads from {loss} to {it}.",
        mend="call backward().",
    ),
    (Cause.NO_BACKWARD_YET, "not_from_loss_unsure"): Answer(
        verdict="{symptom}: no backward has run from {loss} yet.",
        why="A gradient path leads from {loss} to {it}; {unsure}.",
        mend="call backward().",
    ),
    (Cause.NO_BACKWARD_YET, "none_recorded"): Answer(
        verdict="{symptom}: no backward has run in this recording.",
    ),
    (Cause.NO_BACKWARD_YET, "not_run_or_cleared"): Answer(
        verdict="{symptom}, and {loss} reaches it: backward has not run, or .grad was cleared since.",
        mend="call backward() and look again.",
    ),
    (Cause.NO_BACKWARD_YET, "not_run_or_cleared_unsure"): Answer(
        verdict="{symptom}, and {loss} reaches it: backward has not run, or .grad was cleared since.",
        why="{unsure:cap}.",
        mend="call backward() and look again.",
    ),
}

# of a gradient of zeros: why/zeros.py
ZERO: dict[tuple[Cause, str], Answer] = {
    (Cause.ZERO_GRADIENT, "zeroed"): Answer(
        verdict="{symptom}: they were written after the last backward.",
        why="backward had stored {stored}; this call wrote zeros over it.",
        mend="step before zero_grad(): the order is zero_grad, backward, step.",
    ),
    (Cause.ZERO_GRADIENT, "zero"): Answer(
        verdict="{grad} is {zeros}.",
        why="{why}",
    ),
    (Cause.ZERO_GRADIENT, "cancels"): Answer(
        verdict="{grad} is exactly 0 everywhere: {how}.",
        why="{why}",
    ),
    (Cause.UNDERFLOW, "zero"): Answer(
        verdict="{grad} is exactly 0 everywhere: {how}.",
        why="{why}",
        mend="scale the loss up, e.g. with torch.amp.GradScaler.",
    ),
    (Cause.NOT_KNOWN, "zero"): Answer(
        verdict="{grad} is there, and it is exactly 0 everywhere.",
        why="{why}",
    ),
    (Cause.HEALTHY, "zero_factor"): Answer(
        verdict="{health}: {it}'s gradient is exactly 0 because {factors:few} {n:is|are} all zeros (it is multiplied by it).",
        why="{factors:few} {n:gets a gradient|get gradients} too, so {it}'s starts after the first step.",
    ),
}

# of a call that raised: why/raised.py and why/messages.py
RAISED: dict[tuple[Cause, str], Answer] = {}

# of faults that nothing shows: why/silent.py
SILENT: dict[tuple[Cause, str], Answer] = {}

# of gradients that shrink, grow or are NaN: why/small.py
SMALL: dict[tuple[Cause, str], Answer] = {}

# of parameters that stay or move, and of many subjects at once: why/moving.py, why/entry.py
MANY: dict[tuple[Cause, str], Answer] = {}


SECTIONS = {
    "label": LABEL,
    "list": LIST,
    "symptom": SYMPTOM,
    "doubt": DOUBT,
    "cut_reason": CUT_REASON,
    "group": GROUP,
    "ruled_out": RULED_OUT,
    "path": PATH,
    "gradient": GRADIENT_PHRASE,
    "zero": ZERO_PHRASE,
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
