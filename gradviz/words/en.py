"""Every sentence that gradviz says, in English. How a field is told: NOTE [whole sentences] in
``words/speech.py``.

A table is a section; a sentence's key is "section.key". Findings have a table of their own, by
cause and form. In it ``{grad}`` and ``{it}`` are the ``.grad`` and the name of the tensor that was
asked about, and ``{symptom}`` is what there is to explain, in words; a group of tensors is told by
the same sentences.
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
    "cut_recorded": "a cut in this recording",
    "known_error": "the known errors of backward, of in-place writes, leaves, views and inference tensors",
}

# what to write instead of a call that cuts, by the name of the cut's reason, and instead of other
# calls: why/messages.py
MEND = {
    "detach": "leave detach() out where the gradient is wanted; clone() copies and stays connected.",
    "detach_in_place": "leave detach_() out where the gradient is wanted.",
    "data": "use the tensor itself instead of .data.",
    "no_grad": "make this call outside of no_grad (or after set_grad_enabled(True)), if it is to learn.",
    "inference_mode": "make this call outside of inference_mode, if it is to learn.",
    "not_differentiable": "use a function with a derivative (softmax for argmax, sigmoid for a comparison).",
    "integer_dtype": "stay in a floating-point dtype on the way to the loss.",
    "copied_out": "stay in torch: no item(), numpy() or torch.tensor(t) on the way to the loss.",
    "no_grad_write": "write outside of no_grad, or build the tensor with torch.stack, cat or where.",
    "flag_off": "leave requires_grad on until the forward has run.",
    "unknown": "use the tensor from before this call.",
    "custom_non_differentiable": "do not mark that output of the Function non-differentiable.",
    # a no_grad that is not the user's own is none that he can leave
    "reentrant": "use_reentrant=False, or let the input require grad (model.enable_input_require_grads()).",
    "sample": "rsample() where the distribution has it; else the sample's log_prob in the loss (sample() has no_grad).",
    # of a write in place: of any, of an item, by a module, by another call
    "write_unseen": "write out of place (y = x + 1 for x += 1); step the optimizer after every backward.",
    "write_item": "collect the parts in a list and torch.stack() them, or write into a clone().",
    "write_by_module": "inplace=False there.",
    "write": "write out of place under a new name (y = x + 1 for x += 1), or give the later step x.clone().",
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

# of a call that raised: why/raised.py
RAISED: dict[tuple[Cause, str], Answer] = {
    # {it} is the short name of {name}
    (Cause.LEAF_IN_PLACE, "raised"): Answer(
        verdict="{code:begin} writes {name} in place, and {name} is a leaf that requires grad.",
        why="autograd forbids this while it records: a leaf has no grad_fn that could hold the change.",
        mend="with torch.no_grad(): around the write (or torch.nn.init); or make a new tensor instead.",
    ),
    (Cause.VIEW_OF_LEAF_IN_PLACE, "raised"): Answer(
        verdict="{code:begin} writes in place through a view of {base}, a leaf that requires grad.",
        why="the write would change the leaf itself, and autograd forbids that while it records.",
        mend="with torch.no_grad(): around the write; or write into a clone().",
    ),
    (Cause.NOT_SCALAR, "raised"): Answer(
        verdict="Backward needs one number to start from, and {name} has {numbers}.",
        why="for a single number the gradient to start with is 1; for more it is not defined.",
        mend="reduce first: .sum() or .mean(); or pass the gradient to start with, of the same shape.",
    ),
    (Cause.NEVER_TRACKED, "raised"): Answer(
        verdict="autograd.grad was asked for the gradient of {name}, which does not require grad.",
        why="no gradient is computed for what does not require grad.",
        mend="{it}.requires_grad_() before the forward, and not on a copy made afterwards.",
    ),
    (Cause.INFERENCE_TENSOR, "raised"): Answer(
        verdict="{name:begin} was made in inference_mode; {code} needs an ordinary tensor.",
        why="inference tensors have no version counter, so autograd can neither save nor change them.",
        mend="torch.no_grad() instead of inference_mode where it is made; or {it}.clone() outside of inference_mode.",
    ),
    (Cause.NUMPY_ON_TRACKED, "raised"): Answer(
        verdict="{name:begin} requires grad, and numpy would leave autograd without a word.",
        why="an array has no grad_fn: nothing that is computed from it sends a gradient back.",
        mend="to print or plot, {it}.detach().numpy(); where the result goes into the loss, stay in torch.",
    ),
    (Cause.DEEPCOPY_NON_LEAF, "raised"): Answer(
        verdict="{name:begin} is a result with a graph behind it, and only leaves can be deep-copied.",
        why="a deep copy would have to copy the graph too.",
        mend="{it}.detach().clone(); on a module, keep no tracked result as an attribute, or delete it first.",
    ),
    (Cause.REQUIRES_GRAD_NON_FLOAT, "raised"): Answer(
        verdict="Only floating point and complex tensors can require grad.",
        why="a derivative needs values that can change by a little; whole numbers and bools cannot.",
        mend="dtype=torch.float32, or .float() first.",
    ),
    (Cause.REQUIRES_GRAD_NON_FLOAT, "dtype"): Answer(
        verdict="Only floating point and complex tensors can require grad, and {name} is {dtype}.",
        why="a derivative needs values that can change by a little; whole numbers and bools cannot.",
        mend="dtype=torch.float32, or .float() first.",
    ),
    (Cause.REQUIRES_GRAD_NON_LEAF, "raised"): Answer(
        verdict="{name:begin} is a result, and only a leaf's requires_grad can be switched.",
        why="a result requires grad because of what it was computed from.",
        mend="{it}.detach() for a value without gradient; {it}.retain_grad() to keep its .grad.",
    ),
    (Cause.DETACH_VIEW_IN_PLACE, "raised"): Answer(
        verdict="{name:begin} is {view}, and a view cannot be detached in place.",
        why="detach_() would cut the view off while it shares its memory with a tensor that stays in the graph.",
        mend="take {it}.detach() under a new name instead.",
    ),
    (Cause.VIEW_IN_PLACE, "raised"): Answer(
        verdict="{code:begin} writes in place through a view that autograd cannot follow: {part}.",
        why="a view made under no_grad, or one of several that one call returned, has no history that could be rewritten.",
        mend="compute a new tensor instead; or make the view on the same side of no_grad as the write.",
    ),
    (Cause.NON_LEAF_IN_OPTIMIZER, "raised"): Answer(
        verdict="An optimizer was given a result instead of a leaf.",
        why="a result (of .to(), * 0.01, .double()) gets no .grad, so no step could move it.",
        mend="move and scale first, then ask for gradients: torch.randn(3).mul(0.01).requires_grad_().",
    ),
    (Cause.NON_LEAF_IN_OPTIMIZER, "likely"): Answer(
        verdict="An optimizer was given a result instead of a leaf.",
        why="a result (of .to(), * 0.01, .double()) gets no .grad, so no step could move it. Likely, not proven: {names:few}.",
        mend="move and scale first, then ask for gradients: torch.randn(3).mul(0.01).requires_grad_().",
    ),
    # {start} says that nothing can train
    (Cause.NO_GRAD_FN, "unseen"): Answer(
        verdict="{start}",
        why="it was cut off from what requires grad, or nothing that it was computed from does.",
    ),
    (Cause.NO_GRAD_FN, "cut"): Answer(
        verdict="{start}",
        why="{reasons:sentences}",
        mend="{mends:sentences}",
    ),
    (Cause.NO_GRAD_FN, "left_likely"): Answer(
        verdict="{start}",
        why="{source} was cut off there; {entry} came in later with no recorded origin. Likely, not proven: it was made from that value.",
        mend="{mend}",
    ),
    (Cause.NO_GRAD_FN, "left_possibly"): Answer(
        verdict="{start}",
        why="{source} was cut off there; {entry} came in later with no recorded origin. Possible, not proven: it was made from that value.",
        mend="{mend}",
    ),
    (Cause.NO_GRAD_FN, "from_grad"): Answer(
        verdict="{start}",
        why="{names:few} came from autograd.grad without create_graph=True, so {names:it has|they have} no graph.",
        mend="create_graph=True there.",
    ),
    (Cause.NO_GRAD_FN, "untracked"): Answer(
        verdict="{start}",
        why="{reasons:sentences}",
        mend="requires_grad_() on what is to learn, before the forward.",
    ),
    (Cause.MODIFIED_IN_PLACE, "stepped"): Answer(
        verdict="{writer} changed {name} between the forward and this backward.",
        why="{reasons:sentences}",
        mend="run every backward before the step, or compute the loss anew after it.",
    ),
    (Cause.MODIFIED_IN_PLACE, "written"): Answer(
        verdict="{writer:begin} wrote {name} in place after {saver} had saved it.",
        why="{reasons:sentences}",
        mend="{mend}",
    ),
    (Cause.SECOND_BACKWARD, "unseen"): Answer(
        verdict="An earlier backward has gone through part of this graph already.",
        why="{node} has no saved tensors any more.",
        mend="add the losses and call backward once; or detach what is carried over from the last iteration.",
    ),
    (Cause.SECOND_BACKWARD, "same_graph"): Answer(
        verdict="What {name} had saved was freed by an earlier backward: {first}.",
        why="{node} gave up what it had saved in that backward; {second} needs it. Both go through the same graph.",
        mend="compute the loss anew before each backward, or retain_graph=True in the first.",
    ),
    (Cause.SECOND_BACKWARD, "shared"): Answer(
        verdict="What {name} had saved was freed by an earlier backward: {first}.",
        why="{node} gave up what it had saved in that backward; {second} needs it. Both losses go through {shared}.",
        mend="add the losses and call backward once, or retain_graph=True in the first. Or compute {shared} anew for the second; or detach it, where no second gradient is meant to pass.",
    ),
    (Cause.SECOND_BACKWARD, "twice"): Answer(
        verdict="What {name} had saved was freed by an earlier backward: {first}.",
        why="{node} gave up what it had saved in that backward; {second} needs it.",
        mend="add the losses and call backward once, or retain_graph=True in the first.",
    ),
    # {targets} = {values} is an assignment
    (Cause.SECOND_BACKWARD, "carried"): Answer(
        verdict="{names:few} {names:carries|carry} an earlier iteration's graph into this backward, and it was freed there.",
        why="{node} gave up what it had saved in that iteration's {first}.",
        mend="{targets} = {values} after each backward: the next iteration starts from the value only.",
    ),
    (Cause.SECOND_BACKWARD, "carried_by_module"): Answer(
        verdict="{names:few} {names:carries|carry} an earlier iteration's graph into this backward, and it was freed there.",
        why="{node} gave up what it had saved in that iteration's {first}.",
        mend="{targets} = {values} before that line reads it: the next iteration starts from the value only.",
    ),
    (Cause.SECOND_BACKWARD, "carried_elsewhere"): Answer(
        verdict="{names:few} {names:carries|carry} an earlier iteration's graph into this backward, and it was freed there.",
        why="{node} gave up what it had saved in that iteration's {first}.",
        mend="keep {kept} for the next iteration, once backward has run.",
    ),
    (Cause.SECOND_BACKWARD, "carried_unnamed"): Answer(
        verdict="{code} carries an earlier iteration's graph into this backward, and it was freed there.",
        why="{node} gave up what it had saved in that iteration's {first}.",
        mend="detach() what is kept of it, once backward has run.",
    ),
    (Cause.UNUSED_INPUT, "unseen"): Answer(
        verdict="One of the inputs of autograd.grad is not in the graph of its output.",
        why="no gradient path leads to it: it was cut off, or the forward used another tensor.",
        mend="ask for the tensor that the forward used, or allow_unused=True.",
    ),
    (Cause.UNUSED_INPUT, "unseen_numbered"): Answer(
        verdict="Input {index} of autograd.grad is not in the graph of its output.",
        why="no gradient path leads to it: it was cut off, or the forward used another tensor.",
        mend="ask for the tensor that the forward used, or allow_unused=True.",
    ),
    (Cause.UNUSED_INPUT, "cut"): Answer(
        verdict="{name:begin} is not in the graph of {root}.",
        why="the path from {root} back to {name} was cut there: {reason}.",
        mend="{mend}",
    ),
    (Cause.UNUSED_INPUT, "copied"): Answer(
        verdict="{name:begin} is not in the graph of {root}.",
        why="{root} was not computed from {name} but from {twin}, of which {name} is a copy.",
        mend="ask for {twin} if that is meant; else compute {root} from {name}, or allow_unused=True.",
    ),
    (Cause.UNUSED_INPUT, "same_values"): Answer(
        verdict="{name:begin} is not in the graph of {root}.",
        why="{root} was not computed from {name} but from {twin}, which has the same values {values}.",
        mend="ask for {twin} if that is meant; else compute {root} from {name}, or allow_unused=True.",
    ),
    (Cause.UNUSED_INPUT, "unused"): Answer(
        verdict="{name:begin} is not in the graph of {root}.",
        why="{root} was not computed from {name}.",
        mend="compute {root} from {name}, or allow_unused=True.",
    ),
    # {error} is torch's own text, or another library's
    (Cause.NOT_KNOWN, "raised"): Answer(
        verdict="{error}",
        why="not known: this is none of the errors of autograd that can be told apart here.",
    ),
}

# the same where the call is known that made the tensor
RAISED |= {
    (cause, f"{form}_made"): answer._replace(why=f"{{name}} was made by {{maker}}; {answer.why}")
    for (cause, form), answer in RAISED.items()
    if (form == "raised" and cause not in (Cause.NON_LEAF_IN_OPTIMIZER, Cause.NOT_KNOWN))
    or form == "dtype"
}

# phrases of the sentences above, and sentences that stand in several of them
IN_RAISED = {
    # tensors
    "tensor": "the tensor",
    "a_tensor": "a tensor",
    "tensor_of_shape": "a tensor of shape {shape}",
    "one_of": "one of {names:few}",
    "input": "input {index}",
    "it": "it",
    "shape": "shape {shape}",
    "many_numbers": "more than one element",
    "view": "a view",
    "view_of": "a view of {base}",
    "part_of": "{name} of {base}",
    "root": "what backward was called on",
    # calls and nodes
    "call": "the call",
    "written": "{code} ({line})",
    "module_call": "{module} ({function})",
    "something": "something",
    "forward": "the forward",
    "node": "a node",
    "some_node": "at least one node",
    "node_of": "{node} of {code}",
    # nothing can train, and why
    "no_start": "Nothing can train: {root} has no grad_fn.",
    "no_start_frozen": "Nothing can train: {root} has no grad_fn, and {n:the only parameter is|all # parameters are} frozen.",
    "untracked_checkpoint": "no tensor input asks for gradient, so reentrant checkpoint ran without recording.",
    "cut_there": "{names:few} {names:requires|require} grad, and the path was cut there: {reasons:few}.",
    "frozen_besides": "Frozen besides: {names:few}.",
    "frozen_there": "frozen there: {names:few}; nothing else behind it requires grad.",
    "cut_before": "Before that, {n} more calls cut it too.",
    "nothing_tracked": "nothing that {root} was computed from requires grad.",
    "nothing_tracked_of": "nothing that {root} was computed from requires grad: {names:few}.",
    "older": "{root} is like this since before the recording; what made it was not recorded.",
    "incomplete": "The recording is not complete: a cut before it is possible.",
    # what was saved and is written
    "saved": "{node} saved {name} for its gradient.",
    "saved_at": "{node} saved {name} for its gradient at version {saved}; it is at version {now} now.",
    "written_besides": "It was written at {n} more places.",
    "write_unrecorded": "The write was not recorded.",
}

# what a recording would have told of an error
UNRECORDED = {
    "call": "No recorded call raised this error.",
    "line": "This error was not recorded: %%gradviz on its cell would add the line and the variable.",
    "cut": "This error was not recorded: %%gradviz on its cell would add where it was cut, or that nothing was tracked.",
    "writer": "This error was not recorded: %%gradviz on its cell would add the variable, and the line that wrote it.",
    "freed": "This error was not recorded: %%gradviz on its cell would add which backward freed it, and the tensor to detach.",
    "input": "This error was not recorded: %%gradviz on its cell would add its name, and where the path was cut.",
}

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
    "group": GROUP,
    "ruled_out": RULED_OUT,
    "mend": MEND,
    "raised": IN_RAISED,
    "unrecorded": UNRECORDED,
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
