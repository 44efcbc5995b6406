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
    "grad_of": ".grad of {name}",
    "called": "{function}()",
    "call": "a call",
    "earlier_call": "An earlier call",
    "at_line": "Line {line}: {code}",
    "in_line": "{code} in line {line}",
    "node_of": "{node} of {leaf}",
    "node_made": "{node} ({code})",
    "at_version": "{saved} at version {version}",
    "given_name": "{attribute} = {name}",
    "output": "output {n}",
    "shape": "shape {shape}",
    "shape_unknown": "shape unknown",
    "leaf": "leaf",
}

LIST = {
    "times": "{place}, {n} times",
    "more_places": "and {n} more places",
}

# the word for why a gradient path ends, wherever one is shown or told
CUT = {
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

# the same as what cuts: "… cuts b from a"
CUTTER = {
    "detach": "detach()",
    "detach_in_place": "detach_()",
    "data": ".data",
    "no_grad": "no_grad",
    "inference_mode": "inference_mode",
    "not_differentiable": "{call}, which has no derivative,",
    "integer_dtype": "an integer or bool result of {call}",
    "copied_out": "{call}, which copies the value out of the graph,",
    "no_grad_write": "an in-place write under no_grad",
    "flag_off": "requires_grad switched off",
    "custom_non_differentiable": "{function}, which marks it non-differentiable,",
    "unknown": "{function}, it is not known why,",
}

# what became of a gradient on its way
CHANGE = {
    "way": "{before} → {hooks:unknown change|hook|# hooks} → {after}",
    "to": "{before} → {after}",
    "nothing": "nothing",
    "by": "{hooks:something unknown|a hook|# hooks}",
    "set_to_none": "set to None by {hooks:something unknown|a hook|# hooks}",
}

# what backward does with a saved tensor that was overwritten
WRONG_USE = {
    "used": "backward used wrong numbers",
    "may_have_used": "backward may have used wrong numbers",
    "would_now_use": "backward would now use wrong numbers",
    "would_use": "backward would use wrong numbers",
}

# what has become of a saved tensor
SAVED = {
    "available": "available",
    "stale": "stale",
    "freed": "freed",
    "overwritten": "overwritten",
    "unknown": "unknown",
}

# --- pictures -------------------------------------------------------------------------------------

# the lines of a card: picture/rows.py
ROW = {
    # its code
    "unnamed": "unnamed",
    "writes": "# {n} writes",
    "times": "# {n} times",
    "line": "# line {line}",
    "line_writes": "# line {line}, {n} writes",
    # its values
    "shape_not_known": "shape not known",
    "new_memory": "{values} in new memory",
    "version": "{values} · version {version}",
    "same_tensor": "{values} · version {version} · the same tensor",
    "plain_value": "a plain value, outside of torch",
    # whether it is tracked
    "tracked_not_known": "whether it is tracked is not known",
    "not_tracked": "not tracked",
    "not_tracked_no_grad_fn": "not tracked · grad_fn None",
    "not_tracked_yet_flag": "not tracked, yet requires_grad",
    "no_gradient_comes": "no gradient comes to it",
    "leaf": "leaf · requires_grad",
    # its nodes and what they saved
    "grad_fn_anew": "grad_fn is made anew at its next use",
    "grad_fn_earlier": "earlier grad_fn: {nodes}",
    "node_starts": "{nodes} · {start}",
    "nodes_in_all": "{node} ({n} nodes)",
    "saved": "{node} saved {saved}",
    "saved_unsure": "{node} saved {saved:list}: not known whether written since",
    "freed": "FREED: an earlier backward released what {node} saved",
    "overwritten": "OVERWRITTEN, and its version did not move: {wrong_use}",
    "stale": "STALE: it was written since",
    "stale_now": "STALE: it is at version {version} now",
    # where a backward began
    "starts": "{run} starts here",
    "starts_twice": "{run} starts here both times",
    "starts_always": "{run} starts here all {n} times",
    "starts_often": "{run} starts here {n} times",
    "starts_with": "{run} starts with {value}",
    "starts_with_twice": "{run} starts with {value} both times",
    "starts_with_always": "{run} starts with {value} all {n} times",
    "starts_with_last": "{run} starts here {n} times, last with {value}",
    "raises": "{run} raises here: {why}",
    "raises_one_of": "{run} of this and {others:one more tensor|## more tensors} raises: {why}",
    "no_grad_fn": "no grad_fn",
    # its gradients
    "engine_adds": "engine adds {sum}",
    "engine_adds_changed": "engine adds {sum} · {change}",
    "changed_before": "{change} before {node}",
    "gradients": "{n} gradients",
    "gradients_listed": "{n} gradients: {sum}",
    "never_reached": "AccumulateGrad · never reached",
    "not_reached_yet": "AccumulateGrad · not reached yet",
    "arrives": "AccumulateGrad · arrives {gradient}",
    "arrives_once": "AccumulateGrad · arrives once: {gradient}",
    "adds": "AccumulateGrad adds to what is stored",
    "backwards": "AccumulateGrad · {n:one backward|## backwards}",
    "backward": "backward {n}: arrives {gradient} · .grad {stored}",
    "more_backwards": "… {n} more …",
    "grad": ".grad: {grad}",
    "grad_still": ".grad is still {grad}",
    "grad_kept": ".grad kept by retain_grad: {grad}",
    "returns": "autograd.grad returns {values}",
    "then": "{first}, then {second}",
}

# the picture in words: picture/text.py
TEXT = {
    "empty": "An empty graph: no tensor, no node.",
    "cut_line": "cut: {line}",
    "frozen_line": "frozen: {line}",
    "memory_line": "memory: {line}",
    "region_line": "not recorded: {line}",
    "backward_line": "backward {line}",
    "raised_line": "raised: {line}",
    "note_line": "note: {line}",
    "more": "… and {n} more, not listed",
    "more_cards": "… and {n} more cards, not listed",
    "then": "then {code}",
    # how it was made of another card
    "output_of": "{card} ({output})",
    "from": "from {card}",
    "from_gradient": "from {card} · gradient {gradient} goes back to it",
    "from_label": "from {card} · {label}",
    "from_raise": "from {card} · {label}: no gradient goes back to it",
    "edge": "its gradient edge leads to {card}",
    "edge_sends": "sends {gradient} to {card}",
    "of": "belongs to {card}",
    "of_label": "{label} of {card}",
    # its nodes
    "saved": "{node} saved {saved:commas}",
    "saved_state": "{saved} ({state})",
    "empty_slots": "{node} next_functions {slots:commas}: None, no gradient needed there",
    "stub": "{node} was made earlier; what is behind it is not listed",
    # cuts
    "at_line": "line {line}: {text}",
    "cut": "{source} ✂ {result} · {reason} · no gradient back",
    "cut_by": "{source} ✂ {result} · {reason} by {code} · no gradient back",
    "frozen": "{source} · {reason} · {then}",
    "frozen_by": "{source} · {reason} by {code} · {then}",
    "on_again": "switched on again since",
    "no_gradient_later": "what uses it later brings it no gradient",
    "box": "{cards:commas} · {label}",
    # backwards and errors
    "run": "{run} · {line}",
    "run_raised": "{run} · raised {error}",
    "raised": "{call} · {error}",
    "not_watched": "{call} · not watched, so its gradients are not known",
    "nodes_ran": "{call} · nodes ran: {nodes}",
    "no_node_ran": "{call} · nodes ran: none",
    "returned": "returned {value} for {name}, .grad unchanged",
    # for screen readers
    "alt": "{title}: {boxes:# box|# boxes}, {shown}.",
    "alt_more": "{title}: {boxes:# box|# boxes}, {shown} and {more} more.",
    "alt_nothing": "{title}: nothing yet.",
    "alt_facts": "{picture} {facts}.",
    "alt_and": "{first}; {second}",
    "alt_nodes": "Picture of a gradient graph",
    "alt_cards": "Picture of a computation and its gradients",
    "alt_cut": "{source} ✂ {result} · {reason}",
    "alt_frozen": "{source} · {reason}",
    "alt_grad": "{name}.grad is {grad}",
    "alt_error": "{error} is raised",
}

# the tensor table: picture/table.py
TABLE = {
    "unknown": "unknown",
    "not_tracked": "not tracked",
    "none_not_leaf": "None (not a leaf)",
    "shared": "shared with {names:commas}",
    "shared_more": "shared with {names:commas}, {n} more",
    "not_shared": "not shared here",
    "more": "… and {n} more, not listed",
}

# the heads of its columns
COLUMN = {
    "name": "name",
    "value": "value",
    "grad": "grad",
    "requires_grad": "requires_grad",
    "is_leaf": "is_leaf",
    "grad_fn": "grad_fn",
    "version": "version",
    "storage": "storage",
}

# one event of a recording: picture/telling.py
EVENT = {
    "none": "Nothing has happened yet.",
    # a call returned: the call did one thing or several
    "did": "{call} {deeds:list}.",
    "ran": "{call} ran.",
    "made": "made {tensors:list}",
    "writes": "writes {name}",
    "writes_grad_fn": "writes {name}, whose grad_fn is {grad_fn} now",
    "changed": "changed {name}",
    "changed_grad_fn": "changed {name}, whose grad_fn is {grad_fn} now",
    "switched_on": "switches requires_grad of {name} on",
    "switched_off": "switches requires_grad of {name} off",
    "starts": "starts at {nodes:list}",
    "ran_unwatched": "ran unwatched at {nodes:list}",
    "no_node": "no node",
    # what it made
    "a_tensor": "a tensor",
    "made_tracked": "{name}, whose grad_fn is {grad_fn}",
    "made_leaf": "{name}, a leaf that requires grad",
    "made_view": "{name}, which requires grad, and yet no gradient comes to it",
    "made_untracked": "{name}, not tracked",
    "made_unknown": "{name}, tracked or not",
    "cut": "✂ {reason}: no gradient goes back from {result} to {source}.",
    "cut_through": "✂ {reason}: no gradient goes back through {result}.",
    "frozen": "{name} is frozen: what uses it later brings it no gradient.",
    # it wrote
    "wrote": "{call} changed {name}: {changes:commas}.",
    "wrote_shared": "{call} changed {name}, which shares that memory: {changes:commas}.",
    "nothing_visible": "nothing visible",
    "version": "version {was} → {now}",
    "grad": ".grad {was} → {now}",
    "requires_grad": "requires_grad {was} → {now}",
    "retains_grad": "retains_grad {was} → {now}",
    "grad_fn": "grad_fn {was} → {now}",
    "values": "values {was} → {now}",
    # hooks
    "hooked": "{call} puts a hook on {name}.",
    "hooked_after": "{call} puts a hook on {name}, to run when {grad} is filled.",
    "changed_by_hook": "The {hooks:hook|# hooks} on {name} changed the gradient: {change}.",
    "through_hook": "The gradient went through the {hooks:hook|# hooks} on {name}: {change}.",
    "changed_unseen": "On its way to {node} the gradient was changed, it is not known by what: {change}.",
    # a backward
    "node_ran": "{node} ran: {arrived} arrived.",
    "node_sent": "{node} ran: {arrived} arrived, sent {sent:list}.",
    "sent": "{gradient} to {node}",
    "stored": "{node}: arrives {incoming}, was {before}, stored {stored}.",
    "stored_changed": "{node}: arrives {incoming}, was {before}, stored {stored}: {change}.",
    "freed": "{call} freed what {nodes} had saved.",
    "more_nodes": "{n:# more node|# more nodes}",
    "raised": "{call} raised {error}.",
    "raised_while": "{call} raised {error} while {node} ran.",
}

# what happened to the gradient: picture/explaining.py
SUMMARY = {
    "at_line": "Line {line}: {sentence}",
    "nothing": "Nothing was recorded.",
    "no_grad_fn": "No recorded tensor has a grad_fn.",
    "no_gradient": "No recorded gradient came back.",
    "note": "{note:cap}.",
    # errors
    "stops": "The code stops with {error}.",
    "raises": "{call} raises {error}.",
    "raises_no_grad_fn": "{call} raises {error}, because {name} has no grad_fn.",
    "raises_freed": "{call} raises {error}: an earlier backward freed what {node} of {code} had saved.",
    "nothing_behind": "Nothing that it was computed from requires grad.",
    # saved tensors
    "overwritten": "{saved} was overwritten after {code} saved it: {wrong_use}.",
    "stale": "{code} saved {saved} and it was written since: {end}.",
    "stale_by": "{code} saved {saved} and {writer} wrote it since: {end}.",
    "stale_raised": "backward raises {error}",
    "stale_would_raise": "a backward through it would raise",
    "unsure": "What {codes} saved may have been written since: its state cannot be read.",
    # cuts and frozen leaves
    "cut_mark": "✂ {sentence}",
    "cut": "{cutter} cuts {result} from {source}: no gradient goes back to {leaves} this way.",
    "cut_one_of": "{cutter} cuts {result} from {source} (1 of {n} cuts): no gradient goes back to {leaves} this way.",
    "cut_off": "{cutter} cuts {result} off: no gradient goes back to {leaves} this way.",
    "cut_off_one_of": "{cutter} cuts {result} off (1 of {n} cuts): no gradient goes back to {leaves} this way.",
    "frozen": "{names:few} {names:is|are} frozen: requires_grad is switched off, and what uses {names:it|them} later brings {names:it|them} no gradient.",
    # gradients that did not come
    "none": "{grads:few} {grads:is|are} None: no gradient path leads there from {starts:few}.",
    "waiting": "No gradient has arrived at {names:few}, though a path leads there.",
    # gradients that came
    "came": "{n:One gradient|# gradients} came.",
    "received": "{got} of the {n} leaves that require grad received a gradient.",
    "received_now": "{got} of the {n} leaves that require grad received a gradient; {now} have a .grad now.",
    "gradients": "{clauses}.",
    "and": "{first}; {second}",
    "grad": "{grad} is {stored}",
    "grad_since": "{grad} was {stored} after backward and is {now} now",
    "grad_not_tracked": "{grad} is {stored}: {incoming} arrived, but {name} does not require grad any more",
    "grad_set_to_none": "{grad} is {stored}: {incoming} arrived, and {by} set it to None",
    "grad_added": "{grad} is {stored}: {incoming} arrived and was added to {before} from before",
    "grad_added_changed": "{grad} is {stored}: {by} made {sent} {incoming}, which was added to {before} from before",
    "grad_sum_of": "{grad} is {stored}: {n} gradients came back",
    "grad_came_back": "{grad} is {stored}: it came back through {code}",
    "grad_ways": "{grad} is {stored}: {ways:list}",
    "first_way": "{gradients:list} came back through {code}",
    "other_way": "{gradients:list} through {code}",
    "made_that": "{clause}, and {by} made that {gradient}",
    "changed": "The gradient of {name} was changed from {before} to {after} by {by}.",
    "changed_one_of": "The gradient of {name} was changed from {before} to {after} by {by} (1 of {n} changes).",
    "changed_unseen": "The gradient of {name} was changed from {before} to {after} on its way, it is not known by what.",
    "changed_unseen_one_of": "The gradient of {name} was changed from {before} to {after} on its way, it is not known by what (1 of {n} changes).",
    "returned": "autograd.grad returned {gradients} and filled no .grad.",
    "returned_for": "{gradient} for {name}",
    "kept": "{grad} is {value}: it is not a leaf, and retain_grad() kept it.",
    "kept_by_flag": "{grad} is {value}: it is not a leaf, and its retains_grad is True.",
    "passed": "{name} is not a leaf: its gradient {gradient} passed through and was not kept.",
    # before backward
    "nothing_tracked": "Nothing here requires grad, so autograd records nothing.",
    "can_send": "{name} can send gradients to {leaves:few}.",
    "can_send_not_run": "{name} can send gradients to {leaves:few}; no backward has run here.",
    "path": "A gradient path leads from {name} to {leaves:few}.",
    "path_not_run": "A gradient path leads from {name} to {leaves:few}; no backward has run here.",
    # memory
    "changed_too": "{writer} changed {name} too, which shares that memory.",
    "shared": "{one} and {other} share one block of memory.",
    "shared_same": "{one} and {other} share one block of memory: an in-place write to one shows in the other.",
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
MANY: dict[tuple[Cause, str], Answer] = {}


SECTIONS = {
    "label": LABEL,
    "list": LIST,
    "cut": CUT,
    "cutter": CUTTER,
    "change": CHANGE,
    "wrong_use": WRONG_USE,
    "saved": SAVED,
    "row": ROW,
    "text": TEXT,
    "table": TABLE,
    "column": COLUMN,
    "event": EVENT,
    "summary": SUMMARY,
    "symptom": SYMPTOM,
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
