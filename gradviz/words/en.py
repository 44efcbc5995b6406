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
    "nth_input_of": "input {n} of {code}",
    "rows": "rows",
    "columns": "columns",
    "steps_by_positions": "{code} adds what is the same for each along dimension 0, and another along dimension 1, as positions are",
    "steps_by_rows": "{code} leaves one row for each along dimension 0",
    "the_factor": "the factor",
    "line": "line {line}",
    # a tensor whose variable is another one by now: known by the line where it was it, or not
    "former": "{name} (line {line})",
    "another": "another {name}",
    "in_module": ", in module {module}",
    "grad": "{name}.grad",
    "grad_of": ".grad of {name}",
    "called": "{function}()",
    "call": "a call",
    "earlier_call": "An earlier call",
    "at_line": "Line {line}: {code}",
    "in_line": "{code} in line {line}",
    "code_at": "{code} ({place})",
    "at_version": "{saved} at version {version}",
    "given_name": "{attribute} = {name}",
    "output": "output {n}",
    "shape": "shape {shape}",
    "shape_unknown": "shape unknown",
    "leaf": "leaf",
    "node_of": "{node} of {code}",
}

LIST = {
    "times": "{place}, {n} times",
    "more_places": "and {n:# more place|# more places}",
    "at_least": "at least {what}",  # a number of times, of a recording that has not kept all
}

# the values of a tensor that were not read: words/speech.py
VALUES = {
    "one": "1 value",
    "many": "{shape} values",
    "unknown": "values not known",
    "of_norm": "{values:values} of norm {norm}",
}

# how the numbers of a large tensor are spread: words/spread.py
SPREAD = {
    "mean": "{mean} ± {std}",
    "range": "{low} … {high}",
    "all_are": "all are {value}",
    "others_are": "the others are {value}",
    "zeros": "{n:# zero|# zeros}",
    "true": "{n} True",
    "false": "{n} False",
    "nan": "{n} NaN",
    "inf": "{n} inf",
    "and": "{first} · {second}",
    "drawn": "{blocks} {line}",
    # for screen readers
    "mean_spoken": "mean {mean}, standard deviation {std}",
    "range_spoken": "from {low} to {high}",
}

# how far it is, of what takes longer than a second: words/progress.py
PROGRESS = {
    "pictures": "gradviz: {done} of {total} pictures …",
    "states_run": "gradviz: {done} of {total} states run …",
    "steps_read": "gradviz: {done} of {total} steps read …",
    "steps_drawn": "gradviz: {done} of {total} steps drawn …",
    "openings": "gradviz: {done:# picture|# pictures} of what opens …",
    "layout": "gradviz: laying out a large picture …",
    "reading": "gradviz: reading a graph of {n:# node|# nodes} …",
}

# what a graph lacks, or what was out of the ordinary when it was recorded: by NoteKind
NOTE = {
    "dropped": "the oldest {dropped} events were dropped: this recording keeps at most {kept} (record(max_events=...) keeps more)",
    "failed": "not recorded, {times:# time|# times}: {error}",
    "transformed": "inside torch.func transforms nothing is recorded",
    "elsewhere": "not recorded: {calls:# call|# calls} that other asyncio tasks, or other contexts, ran meanwhile on this thread",
    "compiled": 'torch.compile: the inside of a compiled function is one call (CompiledFunction.apply) or is not recorded; only backend="eager" runs ordinary calls',
    "profiled": "a profiler was active: it counts gradviz's own operations, too",
    "begun_in_backward": "this recording began inside a backward, in a hook for example: torch puts the function modes back when such a hook returns, which switched the recording off early: what ran from then on is not recorded",
    "other_mode_left": "another function mode was left while this recording stood above it, which switched the recording off early: what ran from then on is not recorded",
    "ended_elsewhere": "this recording was ended by another thread than the one that began it: what its own thread ran after that is not recorded",
    "not_watched": "backward {backward} was not watched: its graph is too large, so its gradients are not known",
    "node_limit": "The graph has more than {limit:# node|# nodes}. The nearest {limit:#|#} were read; of the nodes next to them only the names, and the rest is left out.",
    "grad_fn_unreadable": "The grad_fn of {name} cannot be read: torch raises {error}.",
    "grad_fn_of_unnamed": "The grad_fn of tensor {tensor} cannot be read: torch raises {error}.",
    "unknown_shapes": "{n} of {tensors:# tensor|# tensors} {n:does not tell its|do not tell their} shape.",
    "left_out": "shown is what the explanation points at; {n:## more tensor is|## more tensors are} left out",
    "iterations": "{told}; the loss went {trend}",
}

# what cuts, as the subject of a sentence: "… cuts b from a"
CUTTER = {
    "detach": "`detach()`",
    "detach_in_place": "`detach_()`",
    "data": "`.data`",
    "no_grad": "`no_grad`",
    "inference_mode": "`inference_mode`",
    "not_differentiable": "{call}, which has no derivative,",
    "integer_dtype": "an integer or bool result of {call}",
    "copied_out": "{call}, which copies the value out of the graph,",
    "no_grad_write": "an in-place write under `no_grad`",
    "flag_off": "`requires_grad` switched off",
    "custom_non_differentiable": "{function}, which returns it without a gradient,",
    "unknown": "{function}, it is not known why,",
}

# what became of a gradient on its way
CHANGE = {
    "way": "{before:values} → {hooks:unknown change|hook|# hooks} → {after:values}",
    "to": "{before:values} → {after:values}",
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

# the lines of a card: picture/rows.py, live/steps.py
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
    "leaf_brief": "leaf",
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
    "start": "◀ {start}",
    "starts": "{run} starts here",
    "starts_twice": "{run} starts here both times",
    "starts_always": "{run} starts here all {n} times",
    "starts_often": "{run} starts here {n} times",
    "starts_with": "{run} starts with {value:values}",
    "starts_with_twice": "{run} starts with {value:values} both times",
    "starts_with_always": "{run} starts with {value:values} all {n} times",
    "starts_with_last": "{run} starts here {n} times, last with {value:values}",
    "raises": "{run} raises here: {why}",
    "raises_brief": "✕ {run}\nstops here",
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
    "arrives": "AccumulateGrad · arrives {gradient:values}",
    "arrives_once": "AccumulateGrad · arrives once: {gradient:values}",
    "adds": "AccumulateGrad adds to what is stored",
    "backwards": "AccumulateGrad · {n:one backward|## backwards}",
    "backward": "backward {n}: arrives {gradient:values} · .grad {stored:values}",
    "more_backwards": "… {n} more …",
    "grad": ".grad: {grad:values}",
    # the same on its card, in the engine's order, in as many lines as it needs
    "grad_of": "{tensor}.grad: {grad:values}",
    "engine": "{gradient}\n→ AccumulateGrad\n→ {tensor}.grad: {stored:values}",
    "run": "{gradient}\n→ {tensor}.grad: {stored:values}",
    "sums_to": "{sum} = {total}",
    "grad_still": ".grad is still {grad:values}",
    "grad_kept": ".grad kept by retain_grad: {grad:values}",
    "returns": "autograd.grad returns {values:values}",
    "then": "{first:values}, then {second:values}",
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
    "returned": "returned {value:values} for {name}, .grad unchanged",
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
    "alt_grad": "{name}.grad is {grad:values}",
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

# the table of a model's parameters, by groups: picture/outline/parameters.py
PARAMS = {
    "lost": "✗ {n:# parameter gets|# parameters get} no gradient",
    "unreached": "✗ {n:# parameter|# parameters} cannot be reached",
    "nan": "! {n:# parameter gets|# parameters get} NaN",
    "zero": "! {n:# parameter gets|# parameters get} only zeros",
    "vanished": "! {n:# parameter gets|# parameters get} next to nothing",
    "unheld": "! {n:# parameter gets|# parameters get} a gradient, and no optimizer has {n:it|them}",
    "gets": "✓ {n:# parameter gets|# parameters get} a gradient",
    "reached": "{n:# parameter|# parameters} can be reached",
    "off": "– {n:# parameter gets|# parameters get} no gradient",
    "in_no_optimizer": "– {n:# parameter|# parameters}, in no optimizer",
    "frozen": "{n:# parameter is|# parameters are} frozen: requires_grad False",
    "why": "{what}: {why}",
    "more": "Tensor by tensor: gv.Figure(rec.graph, fold=False)",
    "more_of_finished": "Tensor by tensor: gv.Figure(figure.graph, fold=False)",
}
PARAM_STATE = {
    "lost": "✗ none",
    "unreached": "✗ not reached",
    "nan": "! NaN",
    "zero": "! only zeros",
    "vanished": "! next to nothing",
    "unheld": "! in no optimizer",
    "gets": "✓ gets one",
    "reached": "can be reached",
    "off": "– none",
    "in_no_optimizer": "– in no optimizer",
    "frozen": "frozen",
}
PARAM_COLUMN = {
    "parameters": "parameters",
    "number": "number",
    "elements": "elements",
    "norm": "norm of the gradient",
    "state": "state",
}

# one event of a recording: picture/telling.py
EVENT = {
    "none": "Nothing has happened yet.",
    # a call returned: the call did one thing or several
    "did": "{call} {deeds:list}.",
    "ran": "{call} ran.",
    "made": "made {tensors:list}",
    "writes": "writes {name}",
    "writes_grad_fn": "writes {name}, whose `grad_fn` is {grad_fn} now",
    "changed": "changed {name}",
    "changed_grad_fn": "changed {name}, whose `grad_fn` is {grad_fn} now",
    "switched_on": "switches `requires_grad` of {name} on",
    "switched_off": "switches `requires_grad` of {name} off",
    "starts": "starts at {nodes:list}",
    "ran_unwatched": "ran unwatched at {nodes:list}",
    "no_node": "no node",
    # what it made
    "a_tensor": "a tensor",
    "made_tracked": "{name}, whose `grad_fn` is {grad_fn}",
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
    "grad": "`.grad` {was:values} → {now:values}",
    "requires_grad": "`requires_grad` {was} → {now}",
    "retains_grad": "`retains_grad` {was} → {now}",
    "grad_fn": "`grad_fn` {was} → {now}",
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
    "sent": "{gradient:values} to {node}",
    "stored": "{node}: arrives {incoming:values}, was {before:values}, stored {stored:values}.",
    "stored_changed": "{node}: arrives {incoming:values}, was {before:values}, stored {stored:values}: {change}.",
    "freed": "{call} freed what {nodes} had saved.",
    "more_nodes": "{n:# more node|# more nodes}",
    "raised": "{call} raised {error}.",
    "raised_while": "{call} raised {error} while {node} ran.",
}

# what happened to the gradient: picture/explaining.py
SUMMARY = {
    "at_line": "Line {line}: {sentence}",
    "nothing": "Nothing was recorded.",
    "no_grad_fn": "No recorded tensor has a `grad_fn`.",
    "no_gradient": "No recorded gradient came back.",
    "note": "{note:cap}.",
    # errors
    "stops": "The code stops with {error}.",
    "raises": "{call} raises {error}.",
    "raises_no_grad_fn": "{call} raises {error}, because {name} has no `grad_fn`.",
    "raises_freed": "{call} raises {error}: an earlier backward freed what {node} of {code} had saved.",
    "nothing_behind": "Nothing that it was computed from requires grad.",
    # saved tensors
    "overwritten": "{saved} was overwritten after {code} saved it: {wrong_use}.",
    "stale": "{code} saved {saved} and it was written since: {end}.",
    "stale_by": "{code} saved {saved} and {writer} wrote it since: {end}.",
    "stale_raised": "`backward` raises {error}",
    "stale_would_raise": "a backward through it would raise",
    "unsure": "What {codes} saved may have been written since: its state cannot be read.",
    # cuts and frozen leaves
    "cut_mark": "✂ {sentence}",
    "cut": "{cutter} cuts {result} from {source}: no gradient goes back to {leaves} this way.",
    "cut_one_of": "{cutter} cuts {result} from {source} (1 of {n} cuts): no gradient goes back to {leaves} this way.",
    "cut_off": "{cutter} cuts {result} off: no gradient goes back to {leaves} this way.",
    "cut_off_one_of": "{cutter} cuts {result} off (1 of {n} cuts): no gradient goes back to {leaves} this way.",
    "frozen": "{names:few} {names:is|are} frozen: `requires_grad` is switched off, and what uses {names:it|them} later brings {names:it|them} no gradient.",
    # gradients that did not come
    "none": "{grads:few} {grads:is|are} None: no gradient path leads there from {starts:few}.",
    "waiting": "No gradient has arrived at {names:few}, though a path leads there.",
    # gradients that came
    "came": "{n:One gradient|# gradients} came.",
    "received": "{got} of the {n} {n:leaf that requires|leaves that require} grad received a gradient.",
    "received_now": "{got} of the {n} {n:leaf that requires|leaves that require} grad received a gradient; {now} {now:has|have} a `.grad` now.",
    "gradients": "{clauses}.",
    "and": "{first}; {second}",
    "grad": "{grad} is {stored:values}",
    "grad_since": "{grad} was {stored:values} after backward and is {now:values} now",
    "grad_not_tracked": "{grad} is {stored:values}: {incoming:values} arrived, but {name} does not require grad any more",
    "grad_set_to_none": "{grad} is {stored:values}: {incoming:values} arrived, and {by} set it to None",
    "grad_added": "{grad} is {stored:values}: {incoming:values} arrived and was added to {before:values} from before",
    "grad_added_changed": "{grad} is {stored:values}: {by} made {sent:values} {incoming:values}, which was added to {before:values} from before",
    "grad_sum_of": "{grad} is {stored:values}: {n} gradients came back",
    "grad_came_back": "{grad} is {stored:values}: it came back through {code}",
    "grad_ways": "{grad} is {stored:values}: {ways:list}",
    "first_way": "{gradients:values} came back through {code}",
    "other_way": "{gradients:values} through {code}",
    "made_that": "{clause}, and {by} made that {gradient:values}",
    "changed": "The gradient of {name} was changed from {before:values} to {after:values} by {by}.",
    "changed_one_of": "The gradient of {name} was changed from {before:values} to {after:values} by {by} (1 of {n} changes).",
    "changed_unseen": "The gradient of {name} was changed from {before:values} to {after:values} on its way, it is not known by what.",
    "changed_unseen_one_of": "The gradient of {name} was changed from {before:values} to {after:values} on its way, it is not known by what (1 of {n} changes).",
    "returned": "`autograd.grad` returned {gradients} and filled no `.grad`.",
    "returned_for": "{gradient:values} for {name}",
    "kept": "{grad} is {value:values}: it is not a leaf, and `retain_grad()` kept it.",
    "kept_by_flag": "{grad} is {value:values}: it is not a leaf, and its `retains_grad` is True.",
    "passed": "{name} is not a leaf: its gradient {gradient:values} passed through and was not kept.",
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
    "none": "{grad} is None",
    "unreadable": "{grad} cannot be read",
    "elsewhere": "{grad} is not from {loss}",
    "zero": "{grad} is all zeros",
    "nan": "{grad} holds NaN or inf",
    "some": "{grad} is there",
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
    "kept_off": "kept off",
    "constant_summand": "constant summand",
    "extra_gradient": "extra gradient",
    "first_order": "first order only",
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
    "gradients_pile_up": "gradients pile up",
    "cleared_too_often": "cleared too often",
    "clipped_wrong": "clipped at the wrong time",
    "read_too_early": "read too early",
    "changed_by_hook": "changed by a hook",
    "eval_mode": "eval mode",
    "freeze_without_effect": "freeze without effect",
    "partly_zero": "partly zero",
    "not_logits": "not logits",
    "changed_before_read": "changed before read",
    "result_unused": "result not used",
    "not_moved": "not moved",
    "buffer": "a buffer",
    "left_out": "left out",
    "non_leaf_in_optimizer": "non leaf in optimizer",
    "not_a_parameter": "not a parameter",
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
    "custom_backward": "custom backward",
    "hook_refused": "hook refused",
    "dtypes_differ": "dtypes differ",
    "gradient_shape": "gradient shape",
    "not_a_tensor": "not a tensor",
    "checkpoint_differs": "checkpoint differs",
    "in_transform": "in transform",
    "no_derivative": "no derivative",
    "misused": "misused",
    "healthy": "not judged",
    "not_known": "not known",
}

# one answer as it is shown, beside what was found: why/shown/explanation.py, why/shown/focus.py
EXPLANATION = {
    # the tag of an answer that leads with what was seen, where nothing is wrong by itself
    "observed": "observed",
    "tag": "{cause}: {reasons}",
    "where": "Where",
    "switched_off": "{where} switches gradients off ({block}); {places}",
    "why": "Why",
    "mend": "Fix",
    "ruled_out": "Ruled out",
    "all_ruled_out": "{all}.",
}

# of tables: why/shown/tables.py
ANSWER_TABLE = {
    "section": "{mark} {verdict}: {why}",
    "bare": "{mark} {verdict}",
    "section_of": "{mark} {of}: {verdict}: {why}",
    "bare_of": "{mark} {of}: {verdict}",
    "full": "Every parameter in a row of its own: .full",
    "more_rows": "… and {n} more, not listed",
}

# the titles of their columns
ANSWER_COLUMN = {
    "parameters": "parameters",
    "number": "number",
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

# what the next step of an optimizer does: why/survey/moving.py, why/survey/trial.py
MOVING = {
    "verdict": "{optimizer}: of {all} {all:parameter|parameters} the next step() moves {moved}; {stay} stay.",
    "verdict_frozen": "{optimizer}: of {all} {all:parameter|parameters} the next step() moves {moved} ({frozen} of them with requires_grad False); {stay} stay.",
    "verdict_unknown": "{optimizer}: of {all} {all:parameter|parameters} the next step() moves {moved}; {stay} stay, {unknown} not known.",
    "verdict_frozen_unknown": "{optimizer}: of {all} {all:parameter|parameters} the next step() moves {moved} ({frozen} of them with requires_grad False); {stay} stay, {unknown} not known.",
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

# what is told of many subjects, and beside an answer: why/question/subjects.py, why/rules/optimizers/optimizers.py, why/rules/many.py, why/answering/answer.py
ENTRY = {
    "passed_over": "{kinds:few} {n:holds|hold} no gradient: what {n:it works|they work} on is looked at.",
    # names of what has none
    "this_tensor": "this tensor",
    "this_optimizer": "this {kind}",
    "a_parameter": "a parameter",
    "nth_parameter": "parameter {n}",
    "nth_tensor": "tensor {n}",
    "nth_of_name": "{name} #{n}",
    "in_all": "{names:few} ({n} in all)",
    # {what} is fine
    "all_have": "{n} of {n} trainable {count:parameter has|parameters have} a gradient{frozen:|, # frozen|, # frozen}; none is None, all zeros or NaN",
    "frozen_by_turns": "{n} of {n} {count:parameter that is|parameters that are} trained {count:has|have} a gradient, {frozen} of them switched off again by now{others:|, # more frozen|, # more frozen}; none is None, all zeros or NaN",
    "frozen_by_turns_zeros": "{n} of {n} {count:parameter that is|parameters that are} trained {count:has|have} a gradient, {frozen} of them switched off again by now{others:|, # more frozen|, # more frozen}; {zeros} {zeros:is|are} exactly 0, none is None or NaN",
    "all_have_zeros": "{n} of {n} trainable {count:parameter has|parameters have} a gradient{frozen:|, # frozen|, # frozen}; {zeros} {zeros:is|are} exactly 0 for a known reason, none is None or NaN",
    "some_zeros": "{n} of {n} trainable {count:parameter has|parameters have} a gradient{frozen:|, # frozen|, # frozen}; that of {names} is exactly 0{others:|, that of one more for a known reason|, those of # more for a known reason}, none is None or NaN",
    "not_of_modules": "{what}; not counted: {names:few}, which no module has",
    "in_turn": "{have} of {n} trainable parameters have a gradient{frozen:|, # frozen|, # frozen}; {turns:# is|# are} used in turn, and nothing of {turns:it|them} goes into the last loss",
    "all_had": "{n} of {n} trainable parameters had a gradient; it was cleared after the step{frozen:|, # frozen|, # frozen}",
    "not_counted": "{what}; not counted: {n} kept off by {cutters:list}",
    "others_cleared": "{have} of {n} trainable parameters have a gradient{frozen:|, # frozen|, # frozen}; {cleared:# had its|# had theirs} from another loss until it was cleared",
    "all_have_or_had": "{n} of {n} trainable parameters have a gradient, or had one that was cleared after the step{frozen:|, # frozen|, # frozen}",
    "leaves_have": "{n:the only leaf|all # leaves} behind {loss}, {leaves:few}, {n:has|have} a gradient; none is None, all zeros or NaN",
    "leaves_had": "{n:the only leaf|all # leaves} behind {loss}, {leaves:few}, {rest:had a gradient; it|have a gradient, or had one that|have a gradient, or had one that} was cleared after the step",
    "of_another": "{names}: from {others:few}; {loss} does not use it.",
    "frozen_for": "{names}: from {others:few}; frozen while {loss} was computed.",
    "kept": "{names}: from {others:few}; {cutter} keeps {loss} off.",
    "loss_can_send": "{loss} can send gradients to {leaves:few}",
    "loss_led_to": "the graph of {loss} leads to {leaves:few}; {reason}",
    # how many get a gradient
    "numbers_reached": "{n} trainable {n:parameter|parameters}: {reached} reached, {rest} not{unknown:|, # not known|, # not known}{frozen:|, # frozen|, # frozen}.",
    "numbers_with_gradient": "{n} trainable {n:parameter|parameters}: {reached} with a gradient, {rest} without{unknown:|, # not known|, # not known}{frozen:|, # frozen|, # frozen}.",
    "none_reached": "{n} trainable {n:parameter|parameters} ({names}): 0 reached.",
    # optimizers
    "list_of_modules": "nn.ModuleList",
    "dict_of_modules": "nn.ModuleDict",
    "list_of_parameters": "nn.ParameterList",
    "dict_of_parameters": "nn.ParameterDict",
    "with_str_keys": "{kind} (whose keys are strings: str(key))",
    "of_containers": "{kind}, of {inner} each",
    "as_container": "{path} as {kind}",
    "not_held": "No optimizer that is known here holds {names}.",
    "not_held_by": "No optimizer that is known here holds {names}, so no step moves {n:it|them}. Made without {n:it|them}: {made:list}. If {names} {n:is|are} to learn: hand {n:it|them} to the optimizer there too, or {optimizer}.add_param_group(). If {n:it is|they are} to stay, nothing is wrong.",
    "does_not_hold": "{optimizers} does not hold {names}.",
    "moves_by_zero": "{optimizers}'s next step moves {names}: {reason}.",
    # notes
    "constants": "Of autograd.grad without create_graph=True, a constant in {loss}: {names:few}.",
    "constant_slopes": "Of autograd.grad with create_graph=True, a constant in {loss} (what was differentiated is linear): {names:few}.",
    "loss_not_recorded": "The recording given did not see this loss, so it was not used.",
    "nothing_recorded": "The recording given did not see any of this, so it was not used.",
}

# which parameters a loss reaches: why/survey/reaching.py
REACH = {
    "nth_loss": "loss {n}",
    "of_loss": "{loss}: {counts}",
    "of_last_loss": "{loss}, the last of its line: {counts}; earlier ones reached {names:few}",
    "first_count": "{module}: {reached} of {all} {all:parameter|parameters} reached",
    "first_count_unknown": "{module}: {reached} of {all} {all:parameter|parameters} reached ({unknown} not known)",
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
    "cut_of_lost": "what is cut at {places} is older than the recording, and gone: it may come from here",
    "cut_unproven": "no gradient path; cut off at {places}, but that this came back into this loss is not proven",
    "not_explained": "no gradient path, although its value may have gone into this loss; why is not known",
    "place": "{place} [{reason}]",
    "more_places": "and {n} more",
    "checkpoint": "reentrant checkpoint of an untracked input: use_reentrant=False",
    # not used
    "not_used": "not used by this loss, as far as was recorded",
}

# why a step cannot be tried on a copy: why/survey/moving.py
OBSTACLE = {
    "own_step": "step() of this {optimizer} is not torch's own, and it is not run to find out",
    "replaced_step": "step() of this {optimizer} was replaced, and it is not run to find out",
    "hooks": "step() has hooks, and they are not run to find out",
    "closure": "LBFGS runs a closure, which computes new gradients",
    "differentiable": "differentiable=True: its step is part of a graph, and is not tried",
    "dispatch_mode": "a TorchDispatchMode is active, and would see the trial",
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
    "cut_recorded": "a cut in this recording",
    "known_error": "the known errors of backward, of in-place writes, leaves, views and inference tensors",
    # of the sizes of gradients: why/rules/sizes/
    "all_received": "cut or frozen ({received} of {total} {total:parameter|parameters} received gradient)",
    "not_finite": "NaN or inf",
    "underflow": "underflow ({zeros} exact zeros)",
}

# what to write instead of a call that cuts, by the name of the cut's reason, and instead of other
# calls: why/evidence/messages.py
MEND = {
    "detach": "leave detach() out where the gradient is wanted; clone() copies and stays connected.",
    # where another loss reads the same result
    "detach_elsewhere": "leave detach() out here, and write {name}.detach() in {place}: it belongs only where no gradient is wanted.",
    "detach_in_one": "leave detach() out here, and write {name}.detach() in that one of these lines whose loss is not to train what is behind it: {places:list}.",
    "detach_in_place": "leave detach_() out where the gradient is wanted.",
    "data": "use the tensor itself instead of .data.",
    "data_set": "give the computed tensor to the function itself (F.linear, F.conv2d), or run the module with it by torch.func.functional_call(): a Parameter takes numbers only.",
    "no_grad": "make this call outside of no_grad (or after set_grad_enabled(True)), if it is to learn.",
    # where the line is known that switched gradients off
    "no_grad_at": "take this call, and all that follows it up to the loss, out of the no_grad of line {line}, or put all of that under torch.enable_grad(), if it is to learn.",
    # where the backward stands under the same line
    "backward_out": "Where line {line} is meant so, as for validation, {backward} does not belong there: leave it out.",
    "inference_mode": "make this call outside of inference_mode, if it is to learn.",
    # where the line is known that switched it on: gradients are not on besides, or are
    "inference_mode_at": "take this call, and all that follows it up to the loss, out of the inference_mode of line {line}, if it is to learn; torch.enable_grad() does not lift it.",
    "inference_mode_enabled": "torch.no_grad() in the place of torch.inference_mode() in line {line}: enable_grad, which stands around this call, lifts no_grad, but not inference_mode.",
    "not_differentiable": "use a function with a derivative (softmax for argmax, sigmoid for a comparison).",
    # of a call that gives the numbers of entries
    "index_made": "an index has no gradient: go on with the entries that it picks, entries[index] or F.embedding(index, entries), or with the scores that it was taken from (softmax, cross_entropy).",
    "integer_dtype": "stay in a floating-point dtype on the way to the loss.",
    "copied_out": "stay in torch: no item(), numpy(), torch.tensor(t) or Variable(t) on the way to the loss.",
    # of a list of tensors of one number each
    "join_stacked": "torch.stack({parts}) in the place of {call}, which copies numbers: it joins the tensors themselves.",
    "join_catenated": "torch.cat({parts}) in the place of {call}, which copies numbers: it joins the tensors themselves.",
    "number_taken": "add the tensor itself, computed in torch, without detach() and without item() or numpy().",
    # … by what its statement does with the number
    "number_argument": "{function}() takes {argument} as a plain number, and no gradient comes to that. Write {instead} in the place of that call: {value} as a tensor, without float(), item() or detach(), and no torch.tensor() around it.",
    "number_argument_after": "{function}() takes {argument} as a plain number, and no gradient comes to that. Write {first} above it, and {instead} in the place of that call: {value} as a tensor, without float(), item() or detach(), and no torch.tensor() around it.",
    "number_argument_unknown": "{function}() takes {argument} as a plain number, and no gradient comes to that: write out what it computes with tensors, {value} as one of them, without float(), item() or detach().",
    "stack": "put the tensor itself into {list}, without item(), float() or tolist(), and join the list with torch.stack({list}) or torch.cat({list}), not with torch.tensor.",
    "stack_parts": "stay in torch: torch.stack([…]) of the tensors themselves, without item() or float(), in the place of {made}([…]), which copies numbers.",
    "add_tensors": "add the tensor itself to {total}, without item() or float(), and call backward on that sum: no torch.tensor around it.",
    "no_grad_write": "write outside of no_grad, or build the tensor with torch.stack, cat or where.",
    "flag_off": "leave requires_grad on, until the forward has run, for what is to learn.",
    # where several lines switched it off: one of them may be right
    "flag_off_in_one": "leave requires_grad on in that one of these lines whose parameters are to learn, and only there: {lines:list}.",
    "unknown": "use the tensor from before this call.",
    "custom_non_differentiable": "do not mark that output of the Function non-differentiable, and return it as a tensor of its own: not in a list, a dict or an object.",
    # a no_grad that is not the user's own is none that he can leave
    "reentrant": "use_reentrant=False, or let the input require grad (model.enable_input_require_grads()).",
    "checkpoint_result": "use_reentrant=False, or return the tensors themselves, alone or in a tuple.",
    "sample": "rsample() where the distribution has it; else the sample's log_prob in the loss (sample() has no_grad).",
    # where whole numbers choose entries of a tensor
    "mask": "a comparison has no gradient: weigh the values by a smooth step in its place, e.g. torch.sigmoid(({left} - {right}) / t) * {values}, t a small number.",
    "compared": "a comparison has no gradient: torch.sigmoid(({left} - {right}) / t) in the place of {code}, t a small number.",
    "chosen": "a comparison has no gradient: p * {one} + (1 - p) * {other} in the place of {code}, with p = torch.sigmoid(({left} - {right}) / t), t a small number.",
    "logical": "{anew} in the place of {code}, for numbers from 0 to 1.",
    # of the labels of the largest scores
    "labels": "a label has no gradient: {anew} in the place of {code}, of {scores}, the scores themselves; argmax only where the right ones are counted.",
    "accuracy": "an accuracy has no gradient: {anew} as the loss; argmax and {code} only where the right ones are counted.",
    # where numbers are made whole to choose entries
    "index_cast": "only whole numbers can choose entries, in {code} ({place}), and a choice has no derivative. For a gradient by {name}, what is chosen there has to be a smooth function of {name} itself: a density, as torch.distributions.Normal(mean, std).log_prob({name}); or the sum of all n entries, weighed by torch.softmax(-({name}[..., None] - torch.arange(n)) ** 2 / t, -1), t a small number.",
    "mix": "a comparison has no gradient: mix in the place of {code}, with p = torch.sigmoid(({left} - {right}) / t), t a small number: {whole} = p * {value} + (1 - p) * {whole}.",
    "mix_equal": "{first} A mixed value is equal to none: p itself in the place of the == in {places:list}.",
    "index": "an index has no gradient: weigh the entries with floats instead, e.g. torch.softmax(scores, -1) @ entries.",
    # where one mend alone would give no gradient yet
    "in_series": "{first} That alone gives no gradient yet. {others:sentences}",
    "at": "After it, {place}: {mend}",
    "beside": "Beside it, {place}, which cuts too: {mend}",
    # what raises when it is given floats in the place of truth values
    "besides": "{first} {others:sentences}",
    "refusing": "{place} takes no floats: {mend}",
    "more": "After that, {n:# more call|# more calls} would cut it too.",
    # of a write in place: of any, of an item, by a module, by another call
    "write_unseen": "write out of place (y = x + 1 for x += 1); step the optimizer after every backward.",
    "write_by_module": "inplace=False there.",
}

# of what may be meant: why/rules/whole/meant.py
MEANT = {
    "not_known": "Whether that is meant is not known: the program shows no symptom of it.",
    "steps_in_vain": "{optimizer} steps, and nothing that it holds got a gradient. Whether that is meant is not known.",
    "thrown_away": "The program calls that result _, as one that is not wanted.",
    "siblings": "Of the same list {names} was used: each run may take others, as experts are chosen.",
    "only_if": "only if that is to be trained: {mend}",
    "if": "if ",  # how a mend begins that tells its condition itself
    "if_hinders": "only if the training suffers from it: {mend}",
    "if_stepped": "only if a step is to use it: step before it is cleared.",
    "was_read": "The code computed with it before: {code}.",
    "if_read": "only if that gradient is to be read: {mend}",
    "if_started": "only if a backward is to start from it: {mend}",
    "logged": "No backward was called on it, and steps train others.",
    "over": "The last step moved what it holds.",
    "unread": "No recorded line reads a .grad by that name, and steps train others.",
    "value": "It is no parameter, and steps train others.",
    "others_moved": "Of what it leads to, steps moved all that optimizers hold.",
    "made_once": "It ran once, before the first backward.",
    "anew": "only if that is to be trained: compute it anew before each backward, without {cutter}; it ran once, before the first of them.",
}

# of a question that names nothing: why/answering/bare.py
BARE = {
    # what nobody asked about, behind the .grad that the program shows
    "also": "Also observed: {verdict}",
    "read_in": "Its .grad was read in {place}.",
    "raised": "It raised {error}",
    "raised_at": "{place}: it raised {error}",
    # what the failing line can do where a gradient may well be None
    "if_wanted": "if gradients are wanted: call backward() on the loss.",
    "skip": "where there need not be a gradient yet, or at all, skip it in {places:list}: {conditions:commas}.",
    "not_each_step": "{first} Or, where not each step is to use it: find_unused_parameters=True in DistributedDataParallel(…).",
    "read_before": "read it before it is cleared: after the backward, and above {place}.",
    "frozen_skip": "if it is meant to stay as it is, leave it out in {places:list}: {conditions:commas}. {first:cap}",
    "that_line": "that line",
    "if_there": "if {word}.grad is not None",
    "if_learning": "if {word}.requires_grad",
    "either": "{first} Or, where there need not be a gradient yet, or at all, skip it in {places:list}: {conditions:commas}.",
}

# how well all is, and what nobody looked at: why/evidence/doubts.py
DOUBT = {
    # {health} of an answer that found no fault, where it is not sure
    "so_far": "As far as was looked at: ",
    "open": "Not known whether all is well: ",
    # its reason
    "unread": "Not looked at: {unread}.",
    "why_and_unread": "{why} Not looked at: {unread}.",
    # {unread}
    "state_unread": "whether what {nodes:few} saved was written before backward used it: its state cannot be read",
    "used_or_not": "whether backward used what {nodes:few} saved before or after it was overwritten",
    "changed_unseen": "whether what {nodes:few} saved was written before backward used it: it changed, and no call wrote it",
    "older": "what was written before this recording: no call of it made {nodes:few}",
    "behind_older": "what is behind {nodes:few}, which is older than this recording",
    "written_outside": "whether what {nodes:few} saved was written by way of {ways:few} before backward used it",
    # whether another backward can run
    "unspent": "whether what {nodes:few} saved can still be used is not known: its state cannot be read",
}

# ways of gradients and values: why/evidence/paths.py
PATH = {
    "pass_true": "if it is meant to learn: {function}(…, {parameter}=True); without it {parameter} is False.",
    "pass_false": "if it is meant to learn: {function}(…, {parameter}=False); without it {parameter} is True.",
    "the_loss": "the loss",
    "leaf_made_by": "the leaf that {code} made",
    "same_memory": "{name} (the same memory)",
    "no_origin": "{name}, of no recorded origin,",
    "loss_at": "{loss} (line {line})",
    "record": "Put %%gradviz above the cell, or run it under gv.record(): that tells the call and the line.",
}

# phrases of the answers about a .grad that is None, or a gradient that is there: why/rules/gradients/
GRADIENT_PHRASE = {
    "there": "there",
    "no_grad_fn": "{loss} ({loss} has no grad_fn)",
    "made_unseen": "If it was computed from tracked tensors, it was cut off: a recording tells.",
    "reentrant": "reentrant checkpoint",
    "checkpoint_result": "reentrant checkpoint hands gradients only to tensors that its function returns alone or in a tuple: what is inside of a list, a dict or an object has no grad_fn.",
    "value_only": "{source} goes on to {result} as a value only: no gradient comes back through it.",
    "left_as_value": "{source} left torch there as plain numbers: no gradient comes back through these.",
    "cut_itself": "{name} was cut off itself: no gradient comes back through it.",
    "ran_under": "{code} ran under {block} (a with block, or a decorator of the function): torch recorded nothing there, and no gradient comes back through it.",
    "ran_under_line": "{code} ran under the {block} of line {line}: torch recorded nothing there, and no gradient comes back through it.",
    "two_mends": "{first}; {other}",
    "new_leaf": "a new leaf",
    "named_leaf": "{name}, a new leaf",
    "the_leaves": "the leaves",
    "same_of_its_grad": "{whole}.grad, and take the same part of that",
    "used_up": "a backward has used up the graph of {loss}",
    "steps_without_backward": "{steps:few} ran {n:once|# times}, and no backward: {losses:few} never went back.",
    "backward_before": "{loss}.backward() right before {step}.",
    "backward_of_it_before": "call backward() on {loss} before {step} runs.",
    "saved_written": "what {node} saved was written in place, so backward() raises",
    "saved_written_since": "what {node} saved was written in place since, so another backward() would raise",
}

# phrases of the answers about a gradient of zeros: why/rules/gradients/zeros.py
ZERO_PHRASE = {
    "everywhere": "exactly 0 everywhere: {how}",
    "there": "there, and it is exactly 0 everywhere",
    "sends_zeros": "{nodes:few} {nodes:sends|send} only zeros back",
    "came_as_zeros": "only zeros came of what {node} sent",
    "adds_up": "what reaches it adds up to 0",
    # which node made them
    "parts_cancel": "{parts:few} arrive there, and cancel exactly: at these values the loss does not change with {it}.",
    "empty": "What it sent on is empty: no element of the batch took this way.",
    "flat": "There its slope is 0: all that arrived met a flat part.",
    "module_hook": "A backward hook of that module returned zeros in place of what arrived.",
    "cast": "It casts to fewer bits, and numbers too small for these became 0.",
    "one_of_two": "{function} compares {name} with itself: their difference is 0. What {write} wrote, it wrote into both.",
    "own_target": "{function} compares a result with its own numbers: their difference is 0, whatever the weights are.",
    "by_a_number": "It is multiplied by a plain number there that is 0, or too small for the dtype.",
    "by_literal": "It is multiplied by {number} there.",
    "by_number": "It is multiplied by {name} there, which is 0 ({place}).",
    "stairs": "{function}() is a staircase: its slope is 0 everywhere.",
    "below_zero": "Its slope is 0 there: all that arrived met the flat part, at 0 or below.",
    "at_zero": "What goes in is exactly 0, because {names:few} {n:is|are} all zeros{made}, and at 0 the slope of {function}() is taken as 0: they stay zeros, unless something else moves them.",
    "made_zero": " ({place})",
    "softmax_of_one": "{function}() there runs over a dimension of size 1: its result is the same whatever goes in.",
    "saturated": "The output of {function}() is exactly {ends} where a gradient arrived: it is saturated, and its slope is 0.",
    "saturated_inside": "The softmax inside {function}() is saturated: exactly 0 or 1 in this dtype.",
    "nearest": "With mode='nearest' {function}() takes the element nearest to each place: a small move of the place changes nothing, so its derivative to the places is 0.",
    "mend_nearest": "mode='bilinear': its result changes with the place.",
    "outside": "Its derivative to the places is 0 with mode='nearest', and where the places lie outside of what is looked up.",
    "mend_outside": "mode='bilinear', and places within -1 to 1.",
    "padding": "All indices there are padding_idx, whose row learns nothing.",
    "chose_other": "{function}() took the other value everywhere.",
    "thresholded": "each number of {name} was written over: {lines:list}. What is written there has no history.",
    # what to write instead
    "mend_thresholded": "{soft} in the place of {lines:list}: between 0 and 1, with a derivative; a factor on the difference makes it steeper.",
    "mend_one_of_two": "a second name is no copy: let the target be {name}.detach().clone(), and write into that.",
    "mend_own_target": "compare it with the target of the data.",
    "mend_a_number": "another factor than 0; or leave this summand out, and train what it reaches by a loss of its own.",
    "mend_number": "give {name} a value above 0; or leave this summand out, and train what it reaches by a loss of its own.",
    "mend_stairs": "a straight-through estimate: x + ({function}(x) - x).detach(); or a smooth function.",
    "mend_stairs_of_probability": "leave {function}() out of the loss: it takes the probability that goes in; {function}() only for what is counted, as the accuracy.",
    "mend_below_zero": "LeakyReLU or no activation at the output, or other initial weights and a bias above 0.",
    "recomputed_without_hooks": "{checkpoint} runs its function again in the backward, which goes through that second run, and {removed} comes before it: without what {registered} registered it multiplies by 0 there.",
    "mend_recomputed": "leave {removed} until the backward is over, or let the hooks keep what they hand in as attributes of the modules, where the second run finds it; or no checkpoint there.",
    "mend_at_zero": "begin {name} with other numbers than zeros, e.g. nn.init.xavier_uniform_({name}); or an activation with a slope at 0.",
    "softmax_maybe_of_one": "{function}() there may run over a dimension of size 1: then its result is the same whatever goes in.",
    "softmax_maybe_given": "The softmax that goes in ({place}) may run over a dimension of size 1: then its result is exactly 1 whatever went in.",
    "softmax_given": "The softmax that goes in ({place}) runs over a dimension of size 1: its result is exactly 1 whatever went in.",
    "mend_softmax_of_one": "sigmoid for one output with binary_cross_entropy, or as many outputs as classes; or softmax over another dim.",
    "mend_saturated": "smaller inputs (scale or normalise them, smaller weights), or a loss that takes the raw scores.",
    "mend_padding": "another padding_idx, or inputs that are not all padding.",
    "ways_cancel": "{it} enters the loss on several ways, and what comes back on them cancels exactly: at these values the loss does not change with it.",
    "mend_cancels": "if one of these ways is to be a fixed value (a target, a sample): detach() it there, and the other way has its gradient.",
    "cancels_there": "What arrived there was not zero, and its parts cancel exactly.",
    "times": "What arrived there was not zero; times {factors:few} it is 0.",
    "of_zeros": "What arrived there was not zero; it is multiplied by {name}, which is all zeros: {place} made it, and nothing wrote it since.",
    "dropped_all": "{function}() left nothing of what went through: with p = 1, or close to it, all is dropped.",
    "mend_dropped_all": "a smaller p there, such as 0.1.",
    "mend_flat_exp": "if its bounds are meant for what goes into {function}(): clamp that, and take {function}() of it after; else compute the loss from what goes in there, and bound only what is looked at or used as a result.",
    "mend_flat": "compute the loss from what goes in there, and bound only what is looked at or used as a result.",
    "mend_zero_factors": "other numbers than zeros in {factors:few}.",
    "mend_of_zeros": "use there what was computed, in the place of the zeros with which it began.",
    "first_step": "What arrived there was not zero; it is multiplied by the state with which {layer} begins, which is all zeros: of its steps the first one alone comes to the loss ({places:list}).",
    "first_reverse": "What arrived there was not zero; it is multiplied by the state with which {layer} begins, which is all zeros: of the steps that it makes in reverse, the first of which is the last place, that one alone comes to the loss ({places:list}).",
    "one_step": "What arrived there was not zero; it is multiplied by the state with which {layer} begins, which is all zeros: it was given {sizes}, and makes one step, or only the first one comes to the loss.",
    "mend_first_step": "read the last step (out[:, -1] with batch_first=True, out[-1] without), or the second result, which has the last state of each direction.",
    "mend_first_reverse": "read the second result, which has the last state of each direction.",
    "mend_one_step": "if what goes in is a sequence: give it so that {layer} runs over its steps: (batch, steps, features) with batch_first=True, (steps, batch, features) without.",
    "part_unread": "It puts several results side by side, and only a part of them is read ({places:list}): a gradient comes back to that part alone, and zeros to the rest.",
    "mend_part_unread": "if the rest is to learn: read that too. Of an RNN of several layers h[-1] is the state of the last one, which all layers lead to; h[0] is that of the first.",
    "of_first": "{names:list}: {why} What comes to {others:list} was made of that.",
    "behind_ends": "What arrived there stands behind the ends of the sequences, where nothing but padding is: the loss reads that alone, and none of the steps.",
    "mend_behind_ends": "a mask in the loss that is true at the steps, index < length, and false behind them.",
    "sent_zeros": "What arrived there was not zero; what it sent on was.",
    "zero_factors": "Its gradient is multiplied by {factors:few}, {factors:which is|which are} all zeros.",
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
    "like_lora": "It is multiplied by {factors:few}, which {factors:gets a gradient itself|get gradients themselves}: if {factors:it was|they were} all zeros at that forward (LoRA's B is, in the first step), this is as it should be.",
}

# why no cause is proven
UNPROVEN = {
    "no_cause": "no cause that this explanation knows is proven.",
    "not_shown": "there is one, and torch does not show its values.",
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

IF_LEFT_OUT = "if {n:it is|they are} to learn, give {n:it|them} to the optimizer; if not, all is well: requires_grad_(False) saves the work."

NO_CALL_USED_IT = Answer(
    verdict="{symptom}: no call of this run used {it} for {loss}.",
    why="Its branch was not taken, or forward does not call it.",
)

# of what only calls after the loss used
USED_SINCE = Answer(
    verdict="{symptom}: no call used {it} for {loss}; only later calls did.",
    why="The way to {loss} did not lead through it.",
    mend="if it is to be trained: take the way through it for {loss}, too. If not, nothing is wrong.",
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

# what nobody can check: what a gradient was meant to be
RECORD_IT = "Put %%gradviz above the cell, or run it under gv.record(): that tells what the losses and steps did."
NOT_CHECKED = "Whether this is the gradient that you want was not checked."

# of a .grad that is None, or of a gradient that is there: why/rules/gradients/
GRADIENT: dict[tuple[Cause, str], Answer] = {
    # nothing is proven
    **{
        (Cause.NOT_KNOWN, form): Answer("{symptom}; the cause is not known.", why, "{record}")
        for form, why in UNPROVEN.items()
    },
    (Cause.NOT_KNOWN, "in_checkpoint"): Answer(
        verdict="{grad} is {value:values}; whether {loss} reaches it is not known.",
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
    (Cause.FROZEN, "frozen_since"): Answer(
        verdict="{it} is frozen now; it was not when {loss} was computed: its .grad is from then, and a step has used it.",
        mend="if an optimizer that has it is stepped again: {grad} = None before that, or it moves by the old gradient.",
    ),
    (Cause.HEALTHY, "frozen_in_turns"): Answer(
        verdict="{health}{it} does not require grad now; it did for its own loss, and a step used that gradient ({place}).",
        why=NOT_CHECKED,
    ),
    (Cause.HEALTHY, "done"): Answer(
        verdict="{health}{it} had a gradient; it was cleared after the step.",
        why=NOT_CHECKED,
    ),
    (Cause.HEALTHY, "used_earlier"): Answer(
        verdict="{health}{symptom}: what came last was cleared before a step; one used the gradient from before that ({place}).",
        why=NOT_CHECKED,
    ),
    (Cause.HEALTHY, "arrived"): Answer(
        verdict="{health}{grad} is {values:values}.",
        why=NOT_CHECKED,
    ),
    (Cause.HEALTHY, "arrived_unseen"): Answer(
        verdict="No fault is visible: {grad} is {values:values}. Without a recording no more than that is known.",
        mend=RECORD_IT,
    ),
    (Cause.NAN, "diverged"): Answer(
        verdict="Training diverged: {loss} grew with each step, {values:list}, until it was no number.",
        why="steps that go too far ({step}) do this: each leaves weights whose gradients are larger still. Data that grow or hold NaN do it too, and were not looked at.",
        mend="steps that go less far; and inputs and targets scaled to about 1, or clip_grad_norm_() between backward and step.",
    ),
    (Cause.NAN, "diverged_at"): Answer(
        verdict="Training diverged: {loss} grew with each step, {values:list}, until it was no number.",
        why="steps that go too far ({step}, with a learning rate of {rate}) do this: each leaves weights whose gradients are larger still. Data that grow or hold NaN do it too, and were not looked at.",
        mend="a smaller learning rate, such as a tenth of it; and inputs and targets scaled to about 1, or clip_grad_norm_() between backward and step.",
    ),
    (Cause.NAN, "lost_eps"): Answer(
        verdict="The loss is no number from the first step of {optimizer} on: the weights are float16, in which eps={eps} of {kind} is 0.",
        why="the first loss and its gradients were finite. {step} divides by the root of averaged squared gradients and eps: in float16 small squares are 0, and with eps 0 that is a division by 0.",
        mend="keep the weights in float32 (leave half() out, torch.autocast for the forward), or bfloat16; in float16 an eps that is not 0 there, such as eps=1e-4.",
    ),
    (Cause.NAN, "not_finite"): Answer(
        verdict="{symptom}.",
    ),
    # there is one of another loss
    (Cause.HEALTHY, "of_another"): Answer(
        verdict="{health}{it} gets its gradient from {others:few}; {loss} does not use it.",
        mend="if {loss} is to train it too: use what is computed from it in {loss}.",
    ),
    (Cause.HEALTHY, "frozen_for"): Answer(
        verdict="{health}{it} gets its gradient from {others:few}; it was frozen while {loss} was computed.",
    ),
    (Cause.HEALTHY, "copied_into"): Answer(
        verdict="{health}{it} gets no gradient from {loss}: {cutter} keeps it off, as a target is, and the code writes its values.",
    ),
    (Cause.HEALTHY, "kept_and_trained"): Answer(
        verdict="{health}{it} gets its gradient from {others:few}; {cutter} keeps {loss} off, whose optimizer is another.",
    ),
    (Cause.KEPT_OFF, "part"): Answer(
        verdict="{part} is part of {loss}, and sends no gradient to {names}: {cutter} keeps it off.",
        why="{part} reads {value} as a value only. {names} gets its gradient from the rest of {loss}; that of {part} goes to {others}, and no step was seen that uses it.",
        mend="only if {part} is to train {names} too: {mend}",
    ),
    (Cause.KEPT_OFF, "like_target"): Answer(
        verdict="{it} gets no gradient from {loss}: {cutter} keeps it off, as a target or teacher is kept off.",
        why="{trained}, which is built alike, gets one; no optimizer is known that holds it.",
        mend="only if it is to be trained: {mend}",
    ),
    (Cause.KEPT_OFF, "resting"): Answer(
        verdict="{it} gets no gradient from {loss}: {cutter} keeps it off, and its optimizer is not stepped here, which may be meant.",
        why="of two networks that are trained in turns, one rests while the other learns.",
        mend="only if {loss} is to train it too: {mend}",
    ),
    (Cause.KEPT_OFF, "kept_from"): Answer(
        verdict="{it} gets its gradient from {others:few}, none from {loss}: {cutter} keeps it off, which may be meant.",
        why="{loss} reads its value only: no gradient of {loss} comes back through that.",
        mend="only if {loss} is to train it too: {mend}",
    ),
    # it asks for no gradient
    (Cause.INFERENCE_TENSOR, "none"): Answer(
        verdict="{symptom}: {it} was made in inference_mode.",
        why="inference tensors have no version counter, so autograd can neither save nor change them.",
        mend="torch.no_grad() instead of inference_mode where it is made; or {it}.clone() outside of it.",
    ),
    **{(cause, "not_asking"): answer for cause, answer in NOT_ASKING.items()},
    (Cause.NEVER_TRACKED, "in_module"): NOT_ASKING[Cause.NEVER_TRACKED]._replace(
        mend="if it is to learn: assign it as an nn.Parameter, before the optimizer is made; parameters() lists nothing else.",
    ),
    (Cause.NEVER_TRACKED, "not_held"): NOT_ASKING[Cause.NEVER_TRACKED]._replace(
        mend="{it}.requires_grad_() before the forward; if it is to be stepped, give it to the optimizer too.",
    ),
    **{
        (cause, "no_float"): answer._replace(mend="use a float: {dtype} has no gradients.")
        for cause, answer in NOT_ASKING.items()
    },
    **dict.fromkeys(((cause, "too_late") for cause in NOT_ASKING), ASKED_TOO_LATE),
    # no path leads to it
    **dict.fromkeys(((cause, "severed") for cause in CUTS), SEVERED),
    **dict.fromkeys(((cause, "cut_behind") for cause in CUTS), CUT_BEHIND),
    (Cause.CUT, "read_in_function"): Answer(
        verdict="{symptom}: forward of {function} computes with {value}, and apply() was not given it: {loss} sends it no gradient.",
        why="The node of a custom Function has an edge for each tensor among the arguments of apply() alone: not for what forward takes from an attribute, a closure, a list or a dict.",
        mend="hand {value} to {function}.apply() as an argument of its own, take it in forward, and return its gradient from backward in that place.",
    ),
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
    (Cause.HEALTHY, "given"): Answer(
        verdict="{health}{it} has the gradient that {code} gave it; no backward brought one.",
        why=NOT_CHECKED,
    ),
    (Cause.HEALTHY, "given_and_used"): Answer(
        verdict="{health}{it} was moved by the gradient that {code} gave it; no backward brought one.",
        why=NOT_CHECKED,
    ),
    (Cause.NOT_IN_LOSS, "set_by_code"): Answer(
        verdict="{it}: .grad comes from no backward: {code} set it.",
        why="no gradient of {loss} comes to {it}.",
        mend="if {it} is to stay as it is: leave it alone where its .grad is None.",
    ),
    (Cause.NOT_IN_LOSS, "set_and_moved"): Answer(
        verdict="{it} is moved although no backward brought it a gradient: {code} set its .grad.",
        why="no gradient of {loss} comes to {it}; {moving:list} wrote it all the same: a decay or a momentum moves what has a .grad of 0 too.",
        mend="if {it} is to stay as it is: leave it alone where its .grad is None, in the place of {code}.",
    ),
    (Cause.BRANCH_NOT_TAKEN, "never_read"): NO_CALL_USED_IT,
    (Cause.NOT_IN_LOSS, "never_read"): NO_CALL_USED_IT,
    (Cause.BRANCH_NOT_TAKEN, "read_since"): USED_SINCE,
    (Cause.NOT_IN_LOSS, "read_since"): USED_SINCE,
    (Cause.CUT, "made_a_leaf"): Answer(
        verdict="{symptom}: its value goes on, likely, only as {new}.",
        why="Likely, not proven: {code} was wrapped, as in nn.Parameter(...): that has its shape and no history, and no call used the result itself.",
        mend="use {code} itself, without nn.Parameter().",
    ),
    (Cause.CUT, "in_checkpoint"): Answer(
        verdict="{symptom}: a reentrant checkpoint ran it without recording, so what that returned has no grad_fn.",
        why="checkpoint(use_reentrant=True) looks at its inputs only, and none of these asks for gradient: the parameters inside do not count.",
        mend="{mend}",
    ),
    (Cause.CUT, "in_a_parameter"): Answer(
        verdict="{names} {n:gets|get} no gradient: {code} makes a new parameter of the values alone.",
        why="nn.Parameter(…) is a leaf: it learns by itself, each entry for itself, and no gradient goes back from it to {names}.",
        mend="compute it anew in each forward, by functions of torch (torch.stack([…]) in the place of torch.tensor([…])) and without nn.Parameter(), and hand it to the call that needs it: F.conv2d(x, kernel), F.linear(x, weight).",
    ),
    (Cause.CUT, "in_a_leaf"): Answer(
        verdict="{symptom}: its value goes on only as {new}, without a history.",
        why="{code} was wrapped, as in nn.Parameter(...): that is a leaf in the same memory, and the gradient of {loss} ends there.",
        mend="use {code} itself, without nn.Parameter(): hand it to the call that needs it.",
    ),
    (Cause.NOT_IN_LOSS, "dropped_result"): Answer(
        verdict="{symptom}: what it is used for becomes {name} in {code}, and nothing reads that {name}.",
        why="A name that is bound in a loop or a function keeps its result only until it is bound anew; {loss} was computed from what stood there before.",
        mend="hand the result on: collect it in a list (or write it back, xs[i] = …), and compute {loss} from that.",
    ),
    (Cause.NOT_IN_LOSS, "leads_elsewhere"): Answer(
        verdict="{symptom}: no recorded call takes it to {loss}.",
        why="{it} was used, but nothing made from it goes into {loss}.",
        mend="add what was made from it to the loss, or call backward on its own loss.",
    ),
    (Cause.NOT_IN_LOSS, "in_earlier_loss"): Answer(
        verdict="{symptom}: no recorded call takes it to {loss}.",
        why="{it} was used for {earlier}, on which backward was called before, and nothing made from it goes into {loss}.",
        mend="if it is to learn from {loss} too: use it on the way there; parts that are chosen in turn get no gradient where they are not chosen.",
    ),
    (Cause.CUT, "straight_through"): Answer(
        verdict="{symptom}: {made} hands the gradient on to {to}, and none to {source}.",
        why="{source} stands in detach() there: a straight-through output has the value of {source} and the gradient of {to}.",
        mend="what is to train {it}: compute that part of {loss} from {source} itself, in the place of {result}; {result} as it is for the rest.",
    ),
    (Cause.NOT_IN_LOSS, "only_looked_at"): Answer(
        verdict="{symptom}: {part} is in no loss; only its number is read.",
        why="{loss} was made without {part}, and {read} stands after that backward: it looks at a number, and cuts nothing.",
        mend="add {part} to {loss} before its backward, or call backward on it too.",
    ),
    (Cause.NOT_IN_LOSS, "unread_result"): Answer(
        verdict="{symptom}: no recorded call takes it to {loss}.",
        why="{it} was used for {results:few}, and no call used {results:that|those} afterwards.",
        mend="use {results:few} on the way to {loss}, or add it to the loss, or call backward on its own loss.",
    ),
    # it is a result
    (Cause.REBOUND, "named_anew"): NAMED_ANEW,
    (Cause.REBOUND, "updated"): NAMED_ANEW._replace(
        mend="with torch.no_grad(): {it} -= lr * {it}.grad (in place, so {it} stays the leaf); or detach() the result and requires_grad_() it.",
    ),
    (Cause.REBOUND, "updated_each"): NAMED_ANEW._replace(
        mend="with torch.no_grad(): {updates:list} (in place, so each name stays the leaf), in the place of {codes:list}.",
    ),
    (Cause.REBOUND, "updated_in_lines"): NAMED_ANEW._replace(
        mend="{anew} in the place of {code}: a leaf again, with these values.",
    ),
    (Cause.REBOUND, "added_to"): NAMED_ANEW._replace(
        mend="with torch.no_grad(): {it} += … (in place, so {it} stays the leaf); or detach() the result and requires_grad_() it.",
    ),
    (Cause.REBOUND, "updated_of_another"): NAMED_ANEW._replace(
        why="The leaf is what {it} was before, and has not moved: a new tensor took the variable's name, and .grad is kept on leaves only.",
        mend="with torch.no_grad(): {in_place} in the place of {code} (in place, so {it} stays the leaf, and moves).",
    ),
    (Cause.REBOUND, "updated_unseen"): Answer(
        verdict="{symptom}: the name {it} holds a new tensor now, which does not require grad.",
        why="{code} made it under no_grad and gave it the name of the leaf; requires_grad and .grad stayed with the tensor before.",
        mend="change {it} in place: {it} -= lr * {it}.grad under no_grad, or {it}.copy_(…); then {it} stays the leaf.",
    ),
    (Cause.MADE_NON_LEAF, "parameter_moved"): Answer(
        verdict="{name} is no nn.Parameter any more: {function} made it a result of one, and no module or optimizer holds that Parameter.",
        why="A module registers, and an optimizer takes, only the Parameter itself; a result gets no .grad.",
        mend="nn.Parameter(…) around the moved tensor; or keep the Parameter in a module and move that.",
    ),
    (Cause.MADE_NON_LEAF, "parameters_moved"): Answer(
        verdict="{name} is no nn.Parameter any more: {function} made it a result of one, and no module or optimizer holds that Parameter.",
        why="A module registers, and an optimizer takes, only the Parameter itself; a result gets no .grad. Made alike: {others:few}.",
        mend="nn.Parameter(…) around the moved tensor, of {others:few} too; or keep each Parameter in a module and move that.",
    ),
    (Cause.MADE_NON_LEAF, "made_a_result"): Answer(
        verdict="{symptom}: {function} made {it} a result; the leaf is its input.",
        why="Its input asked for the gradient before this call, so .grad is kept there, and nothing holds that tensor by this name.",
        mend="move, cast or scale first, then {it}.requires_grad_() (or detach() and that).",
    ),
    (Cause.NOT_IN_LOSS, "result_in_no_loss"): Answer(
        verdict="{symptom}: {it} is in no loss; nothing made from it goes into {loss}.",
        why="A backward from {loss} does not come to {it}, with or without retain_grad(). {it} leads to {leaves}.",
        mend="if it is to train them: add it to the loss before backward(), or call backward on it too. If it is only looked at or carried on, nothing is wrong.",
    ),
    (Cause.NOT_IN_LOSS, "made_too_late"): Answer(
        verdict="autograd.grad gives None for {part}: that is a new tensor, made after {root}, and nothing in {root} was computed from it.",
        why="what is made of {whole} there is another tensor than what the forward read; allow_unused=True turns the error into None.",
        mend="{anew} in place of {code}: ask for {whole}, and take the same of its gradient. Or make {part} before the forward, and compute with it.",
    ),
    (Cause.NOT_IN_LOSS, "part_asked"): Answer(
        verdict="The gradient of {root} for {it} is None: {root} was computed from {whole}, and {it} was cut out of {whole} beside that.",
        why="a part is a tensor of its own: nothing made from {it} goes into {root}, with the same numbers or not.",
        mend="ask autograd.grad for {whole}, and take that part of its gradient as {code} takes it of {whole}; or compute {root} from {it}.",
    ),
    (Cause.NON_LEAF, "part_read"): Answer(
        verdict="{symptom}: {it} is a new tensor, made from {whole}; the gradient is kept in {whole}.grad alone.",
        why="indexing, or another view of a leaf, makes a result each time, and nothing computed from this one goes into a loss.",
        mend="read {anew}.",
    ),
    (Cause.NON_LEAF, "result"): A_RESULT,
    (Cause.NON_LEAF, "result_unused_yet"): A_RESULT._replace(
        why="What comes to it in a backward goes on to {leaves} and is not kept on the way; whether a loss uses {it} was not seen.",
        mend="read .grad of {leaves}, or call {it}.retain_grad() before a backward of what is computed from it.",
    ),
    (Cause.NON_LEAF, "result_of_unnamed"): A_RESULT._replace(
        why="Its gradient goes on to {leaves}, and no name holds that tensor.",
        mend="{it}.retain_grad() before backward; or make the leaf in a line of its own, compute {it} from it, and read the leaf's .grad.",
    ),
    (Cause.NON_LEAF, "result_like_leaf"): A_RESULT._replace(
        more=(
            "A leaf of the same shape is directly above it: after w = w - lr * w.grad, .to() or * 0.01 a name holds such a result.",
        ),
    ),
    # it would get a gradient, and none has come
    (Cause.NO_BACKWARD_YET, "cleared_beside_steps"): Answer(
        verdict="No step moved {it}: {code} took its gradient away each time, and {step}, which moved others, passed it over.",
        why="an optimizer moves what it was given when it was made; what is put into a model after that is not among it.",
        mend="make the optimizer after the last change of what the model holds, or hand {it} to it with add_param_group().",
    ),
    (Cause.NO_BACKWARD_YET, "cleared"): Answer(
        verdict="{symptom}: it was cleared after the last backward.",
        why="backward had stored {stored:values}; this took it away.",
        mend="read .grad, and step, before zero_grad(); or call backward again.",
    ),
    (Cause.NO_BACKWARD_YET, "taken_before_step"): Answer(
        verdict="{symptom}: {code} took it away before {step} ({place}), which moved others.",
        why="backward had stored {stored:values}. A step passes by what has no gradient.",
        mend="if {it} is to be stepped too: leave that out for {it}. If not, nothing is wrong.",
    ),
    (Cause.HEALTHY, "trained_in_turn"): Answer(
        verdict="{health}{symptom}: its requires_grad is switched on and off in turn, last off ({code}); a step used the gradient that it got before ({place}).",
    ),
    (Cause.HEALTHY, "set_aside"): Answer(
        verdict="{health}{symptom}: {code} set it to None when it was all zeros; nothing of {it} goes into the last {loss}.",
        why="An earlier {loss} gave it a gradient ({place}), and a step used that. A step passes by what has no gradient; one of zeros is moved by weight_decay and momentum all the same.",
    ),
    (Cause.HEALTHY, "drops_out"): Answer(
        verdict="{health}{symptom}: {loss} is made of a derivative, and that does not depend on {it}: a summand drops out of it.",
    ),
    (Cause.HEALTHY, "derivative_in_loss"): Answer(
        verdict="{health}{symptom}: {loss} is made of derivatives of {it} ({code}), and not of {it} itself.",
    ),
    (Cause.FIRST_ORDER, "of_custom"): Answer(
        verdict="{symptom}: {loss} is made of a derivative that the backward of {node} computed, and that does not depend on {it}.",
        why="what forward kept on ctx by other means than save_for_backward() is a constant in backward. If the true derivative is constant too, nothing is wrong.",
        mend="in forward, save_for_backward() the inputs and outputs that backward computes with; return what lies between as outputs too.",
    ),
    (Cause.REBUILT_FROM_VALUE, "read_as_number"): Answer(
        verdict="{symptom}: only its value was read, as a plain number.",
        why="{code} takes the number, and {user} computes with that: no gradient comes back through it, and no later value of {it} is seen there.",
        mend="compute with the tensor itself, where the loss is made: no float(), item(), numpy() or torch.tensor() of it.",
    ),
    (Cause.REBUILT_FROM_VALUE, "in_own_backward"): Answer(
        verdict="{symptom}: {loss} is made of a derivative whose numbers the backward of {node} computed outside of torch.",
        why="{code} leaves torch: what backward makes of that is a constant, and create_graph=True finds no way through it.",
        mend="compute it in backward with torch functions of the saved tensors, or with another custom Function whose backward gives the second derivative.",
    ),
    (Cause.HEALTHY, "alternative"): Answer(
        verdict="{health}{symptom}: no call used it in this run; others in its place were used, by one iteration and not by the next.",
    ),
    (Cause.HEALTHY, "passes_on"): Answer(
        verdict="{health}{it} is a result: what comes to it in a backward goes on to {leaves}.",
        why="Its own .grad is not kept, and no recorded line reads one.",
        mend="only if its gradient is to be read: {it}.retain_grad() before backward.",
    ),
    (Cause.HEALTHY, "trained_before"): Answer(
        verdict="{health}{symptom}: nothing of {it} goes into the last {loss}; an earlier one gave it a gradient, and a step used that.",
        why="An earlier iteration ({place}) took a way through it, and the last one another.",
    ),
    (Cause.NO_BACKWARD_YET, "given_back"): Answer(
        verdict="{symptom}: autograd.grad returns gradients, it fills no .grad.",
        mend="use what it returned; or, where .grad is wanted, call backward() on the same output.",
    ),
    (Cause.NO_BACKWARD_YET, "not_asked_for"): Answer(
        verdict="{symptom}: autograd.grad was asked for the gradient of {others}, and returned that alone; it fills no .grad.",
        mend="hand {it} to autograd.grad, too, or call backward().",
    ),
    (Cause.CUT, "returned_none"): Answer(
        verdict="{symptom}: the backward of {node} returned None towards it.",
        mend="return its gradient there. If autograd.grad makes it: in a backward grad mode is off, so compute under torch.enable_grad(), from detached inputs that require grad.",
    ),
    (Cause.CUT, "returned_none_at"): Answer(
        verdict="{symptom}: the backward of {node} returned None towards it.",
        why="{returned} has None in its place.",
        mend="return its gradient there: the derivative of what forward computes by it, times what backward is given, summed to its shape. If autograd.grad makes it: in a backward grad mode is off, so compute under torch.enable_grad(), from detached inputs that require grad.",
    ),
    (Cause.CUT, "returned_none_rounded"): Answer(
        verdict="{symptom}: the backward of {node} returned None towards it.",
        why="{returned} has None in its place.",
        mend="return its gradient there. Or no Function, where it was for {method} alone: the lines of forward where it is called, with {given} and {anew}: then autograd makes all gradients.",
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
        mend="call backward() before .grad is read, changed or cleared.",
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

# of a gradient of zeros: why/rules/gradients/zeros.py
ZERO: dict[tuple[Cause, str], Answer] = {
    (Cause.ZERO_GRADIENT, "both_zero"): Answer(
        verdict="{grad} stays exactly 0: {it} and its factor {factors:few} are both all zeros.",
        why="The gradient of one factor of a product is multiplied by the other: with both at zero neither ever gets one, and no step moves them.",
        mend="begin {it} with numbers other than zero, after whatever sets all weights to zero; {factors:few} may begin at zero (LoRA: nn.init.kaiming_uniform_ for A, zeros for B).",
    ),
    (Cause.ZERO_GRADIENT, "zeroed"): Answer(
        verdict="{symptom}: they were written after the last backward.",
        why="backward had stored {stored:values}; this call wrote zeros over it.",
        mend="step before zero_grad(): the order is zero_grad, backward, step.",
    ),
    (Cause.ZERO_GRADIENT, "scaled_to_zeros"): Answer(
        verdict="{symptom}: {code} made zeros of them after the backward.",
        why="backward had stored {stored:values}.",
        mend="a bound, or a factor, above 0 there.",
    ),
    (Cause.ZERO_GRADIENT, "masked"): Answer(
        verdict="{symptom}: {code} made zeros of what the last backward brought.",
        why="that was not zero, and all of it lay in what is set to zero there; what is kept got no gradient from this backward.",
        mend="leave what is to learn out of {code}; an entry that it keeps learns once the loss reads it.",
    ),
    (Cause.ZERO_GRADIENT, "begun_with_zeros"): Answer(
        verdict="{symptom}: backward began with a gradient of zeros.",
        why="the chain rule multiplies what backward begins with, and {code} gives it zeros.",
        mend="begin with ones there; of a loss that is one number backward() does so by itself.",
    ),
    (Cause.ZERO_GRADIENT, "zero"): Answer(
        verdict="{grad} is {zeros}.",
        why="{why:sentences}",
        mend="{mend}",
    ),
    (Cause.CHANGED_BY_HOOK, "to_zeros"): Answer(
        verdict="{grad} is exactly 0 everywhere: a hook on {it} makes it so.",
        why="What {node} sent was not zero; the hook's result takes its place.",
        mend="if that is not meant: handle.remove(), or let the hook return None.",
    ),
    (Cause.HEALTHY, "at_minimum"): Answer(
        verdict="{health}{grad} is exactly 0 because the loss is at its minimum.",
        why="{code} is exactly 0, the least that it can be: there is nothing left to learn from this batch, and zero is the right gradient.",
    ),
    (Cause.HEALTHY, "loss_zero_now"): Answer(
        verdict="{health}{grad} is exactly 0, and so is {loss}, in the last of {n} backwards; before, {loss} was {before}.",
        why="zeros come back where the loss of a batch is 0 because nothing of it counts, or because it is learned.",
    ),
    (Cause.ZERO_GRADIENT, "cancels"): Answer(
        verdict="{grad} is exactly 0 everywhere: {how}.",
        why="{why:sentences}",
        mend="{mend}",
    ),
    (Cause.UNDERFLOW, "zero"): Answer(
        verdict="{grad} is exactly 0 everywhere: {how}.",
        why="{why:sentences}",
        mend="scale the loss up, e.g. with torch.amp.GradScaler.",
    ),
    (Cause.NOT_KNOWN, "zero"): Answer(
        verdict="{grad} is there, and it is exactly 0 everywhere.",
        why="{why:sentences}",
    ),
    (Cause.HEALTHY, "zero_factor"): Answer(
        verdict="{health}{it}'s gradient is exactly 0 because {factors:few} {n:is|are} all zeros (it is multiplied by it).",
        why="{factors:few} {n:gets a gradient|get gradients} too, so {it}'s starts after the first step.",
    ),
}

# of a call that raised, what several answers share
A_LEAF_WRITTEN = Answer(
    verdict="{code:begin} writes {name} in place, and {name} is a leaf that requires grad.",
    why="autograd forbids this while it records: a leaf has no grad_fn that could hold the change.",
)
A_LEAF_WRITTEN_THROUGH_A_VIEW = Answer(
    verdict="{code:begin} writes in place through a view of {base}, a leaf that requires grad.",
    why="the write would change the leaf itself, and autograd forbids that while it records.",
)
NO_SINGLE_NUMBER = Answer(
    verdict="Backward needs one number to start from, and {name} has {numbers}.",
    why="for a single number the gradient to start with is 1; for more it is not defined.",
)
COMPUTED_ONCE = Answer(
    verdict="{codes:list} {codes:was|were} computed once, and every iteration's backward goes through {codes:it|them}; the first one freed {codes:it|them}.",
)
VALUES_SET = "with torch.no_grad(): around {codes:list}: the values are set, and nothing is learned through them. If something is to be learned through what is written there: hand it to the model in its call (torch.func.functional_call)."
COMPUTED_IN_FUNCTION = Answer(
    verdict="{output} has no graph: it was computed inside the {method} of {kind}, a custom Function, and gradients are off there.",
    why="torch runs forward and backward of a custom Function without grad mode, whatever requires grad{off}.",
    mend="{codes:list} under with torch.enable_grad():, and first in that block {anew}.",
)
KEPT_BY_FUNCTION = Answer(
    verdict="{output} has no graph: the forward of {kind} made it, a custom Function, and gradients are off there.",
    why="torch runs forward and backward of a custom Function without grad mode, whatever requires grad.",
    mend="{made} (line {line}) under with torch.enable_grad():, and first in that block {anew}.",
)
SAVED_OTHERS = Answer(
    verdict="{function}.backward() takes other tensors from its context than {method} has saved.",
    why="{saved} keeps {n:one tensor|# tensors}, and {read} takes another number of them.",
)
SAVED_NOTHING = Answer(
    verdict="{function}.backward() takes tensors from its context, and {method} has saved none.",
    why="{read} reads what save_for_backward() kept; the context of a call holds nothing else.",
)
RESULTS_IN_A_MODULE = Answer(
    verdict="An optimizer was given {names:few}, which {names:is a result|are results} instead of {names:a leaf|leaves}.",
    why="{makers:list} put {names:it|them} among the parameters that {code} lists; a result gets no .grad, so no step could move {names:it|them}.",
)
A_PART_TAKEN_OUT = Answer(
    verdict="{name:begin} is not in the graph of {root}.",
    why="{root} was computed from {whole} itself; {name} was taken out of it, and nothing was computed from that.",
)

# of a call that raised: why/rules/errors/
RAISED: dict[tuple[Cause, str], Answer] = {
    (Cause.NAN, "returned"): Answer(
        verdict="The backward of {code:few} made NaN: {node} got ordinary numbers and sent NaN.",
        why="its derivative is infinite at a value of the forward (a root or a power below 1 at 0, a division by 0, a logarithm of 0), and a gradient of 0 times infinity is NaN. Anomaly mode stopped there.",
        mend="keep its input away from that point: eps or clamp inside, before it (sqrt(x + eps), not sqrt(x) + eps; torch.where after it is too late).",
    ),
    (Cause.NAN, "returned_after"): Answer(
        verdict="The backward of {code} made infinity: {first} got finite numbers and sent inf, of which {node} made NaN.",
        why="its derivative is infinite at a value of the forward (a root or a power below 1 at 0, a division by 0, a logarithm of 0), and what is multiplied by infinity later is NaN where it is 0. Anomaly mode looks for NaN alone, and stopped there.",
        mend="keep its input away from that point: eps or clamp inside, before it (sqrt(x + eps), not sqrt(x) + eps; torch.where after it is too late).",
    ),
    (Cause.NAN, "returned_unseen"): Answer(
        verdict="A backward made NaN: {node} got ordinary numbers and sent NaN; which call made that node is not known here.",
        why="{record}",
        mend="keep its input away from that point: eps or clamp inside, before it (sqrt(x + eps), not sqrt(x) + eps; torch.where after it is too late).",
    ),
    # {it} is the short name of {name}
    (Cause.LEAF_IN_PLACE, "filled"): Answer(
        verdict="{code:begin} writes in place into {base}, a leaf that requires grad.",
        why="autograd forbids that while it records. What is written there is tracked, so {base} would be too, without requires_grad.",
        mend="make {base} without requires_grad: leave that out of {made}.",
    ),
    (Cause.LEAF_IN_PLACE, "by_function"): Answer(
        verdict="{function} writes its input in place (mark_dirty), and was given a leaf that requires grad.",
        why="autograd forbids this while it records: a leaf has no grad_fn that could hold the change.",
        mend="{wanted}: a copy, which stays connected.",
    ),
    (Cause.LEAF_IN_PLACE, "raised"): A_LEAF_WRITTEN._replace(
        mend="with torch.no_grad(): around the write (or torch.nn.init), where it sets numbers. Where a gradient is to go through what is written: make a new tensor instead.",
    ),
    (Cause.LEAF_IN_PLACE, "by_module"): A_LEAF_WRITTEN._replace(
        mend="inplace=False in {module}: it makes a new tensor then.",
    ),
    (Cause.LEAF_IN_PLACE, "taken"): A_LEAF_WRITTEN._replace(
        mend="{anew} in the place of {code}: a new tensor.",
    ),
    (Cause.LEAF_IN_PLACE, "numbers"): A_LEAF_WRITTEN._replace(
        why=A_LEAF_WRITTEN.why
        + " What is written there are numbers: nothing is to be learned through them.",
        mend="with torch.no_grad(): around {codes:list}.",
    ),
    (Cause.LEAF_IN_PLACE, "tracked"): A_LEAF_WRITTEN._replace(
        why=A_LEAF_WRITTEN.why
        + " What is written there requires grad: under no_grad it would be cut off.",
        mend="{mend}",
    ),
    (Cause.LEAF_IN_PLACE, "fast_weights"): A_LEAF_WRITTEN._replace(
        why=A_LEAF_WRITTEN.why
        + " What is written there requires grad, and is to be learned through: the moved parameters are results, and a module holds leaves.",
        mend="{made} in the place of {loop}, and {edits:list}: the model is called with the moved ones.",
    ),
    (Cause.LEAF_IN_PLACE, "fast_weights_in_steps"): A_LEAF_WRITTEN._replace(
        why=A_LEAF_WRITTEN.why
        + " What is written there requires grad, and is to be learned through: the moved parameters are results, and a module holds leaves.",
        mend="{begun} above {steps}, {made} in the place of {loop}, and {edits:list}: the model is called with the moved ones.",
    ),
    (Cause.LEAF_IN_PLACE, "fast_weights_elsewhere"): A_LEAF_WRITTEN._replace(
        why=A_LEAF_WRITTEN.why
        + " What is written there requires grad, and is to be learned through: the moved parameters are results, and a module holds leaves.",
        mend="{made} in the place of {loop}, and hand that on: {functional} in the place of each later call of the model that is to go by the moved ones.",
    ),
    (Cause.LEAF_IN_PLACE, "values_set"): A_LEAF_WRITTEN._replace(
        mend=VALUES_SET,
    ),
    (Cause.LEAF_IN_PLACE, "needed"): A_LEAF_WRITTEN._replace(
        why=A_LEAF_WRITTEN.why
        + " A backward that is to come needs {name} as it is: under no_grad the write would make it raise.",
        mend="{mend}",
    ),
    (Cause.VIEW_OF_LEAF_IN_PLACE, "filled"): Answer(
        verdict="{code:begin} writes in place into {base}, a leaf that requires grad.",
        why="autograd forbids that while it records. What is written there is tracked, so {base} would be too, without requires_grad.",
        mend="make {base} without requires_grad: leave that out of {made}.",
    ),
    (Cause.VIEW_OF_LEAF_IN_PLACE, "raised"): A_LEAF_WRITTEN_THROUGH_A_VIEW._replace(
        mend="with torch.no_grad(): around the write, where it sets numbers. Where a gradient is to go through what is written: write into a clone().",
    ),
    (Cause.VIEW_OF_LEAF_IN_PLACE, "by_module"): A_LEAF_WRITTEN_THROUGH_A_VIEW._replace(
        mend="inplace=False in {module}: it makes a new tensor then.",
    ),
    (Cause.VIEW_OF_LEAF_IN_PLACE, "taken"): A_LEAF_WRITTEN_THROUGH_A_VIEW._replace(
        mend="{anew} in the place of {code}: a new tensor.",
    ),
    (Cause.VIEW_OF_LEAF_IN_PLACE, "numbers"): A_LEAF_WRITTEN_THROUGH_A_VIEW._replace(
        why=A_LEAF_WRITTEN_THROUGH_A_VIEW.why
        + " What is written there are numbers: nothing is to be learned through them.",
        mend="with torch.no_grad(): around {codes:list}.",
    ),
    (Cause.VIEW_OF_LEAF_IN_PLACE, "tracked"): A_LEAF_WRITTEN_THROUGH_A_VIEW._replace(
        why=A_LEAF_WRITTEN_THROUGH_A_VIEW.why
        + " What is written there requires grad: under no_grad it would be cut off.",
        mend="{mend}",
    ),
    (Cause.VIEW_OF_LEAF_IN_PLACE, "values_set"): A_LEAF_WRITTEN_THROUGH_A_VIEW._replace(
        mend=VALUES_SET,
    ),
    (Cause.VIEW_OF_LEAF_IN_PLACE, "needed"): A_LEAF_WRITTEN_THROUGH_A_VIEW._replace(
        why=A_LEAF_WRITTEN_THROUGH_A_VIEW.why
        + " A backward that is to come needs it as it is: under no_grad the write would make it raise.",
        mend="{mend}",
    ),
    (Cause.NOT_SCALAR, "raised"): NO_SINGLE_NUMBER._replace(
        mend="reduce it to one number first, above {code}: by .mean(), or by .sum().",
    ),
    (Cause.NOT_SCALAR, "loss"): NO_SINGLE_NUMBER._replace(
        mend="{it} = {it}.{function}() above {backward}.",
    ),
    (Cause.NOT_SCALAR, "read_since"): NO_SINGLE_NUMBER._replace(
        mend="{it}.{function}() in the place of {it} in {backward}: {it} itself, of which each number is read later, stays as it is.",
    ),
    (Cause.NOT_SCALAR, "differentiated"): Answer(
        verdict="autograd.grad needs one number to start from, and {name} has {numbers}.",
        why="for a single number the gradient to start with is 1; for more it is not defined.",
        mend="{mends:sentences}",
    ),
    (Cause.NOT_SCALAR, "reduced_too_early"): Answer(
        verdict="Backward needs one number to start from, and {name} has {numbers}: .{function}() was taken of {factor} alone, before the product.",
        why="a method binds more strongly than *, so it belongs to the last factor only; the product still has one number for each element.",
        mend="brackets around the product: {anew}.",
    ),
    (Cause.NEVER_TRACKED, "asked_for"): Answer(
        verdict="autograd.grad was asked for the gradient of {root} by {names:few}, which {names:does|do} not require grad.",
        why="{root} was computed from {names:few}, and nothing was recorded of that.",
        mend="{mends:sentences}",
    ),
    (Cause.NEVER_TRACKED, "raised"): Answer(
        verdict="autograd.grad was asked for the gradient of {name}, which does not require grad.",
        why="no gradient is computed for what does not require grad.",
        mend="if {it} is to learn: {it}.requires_grad_() before the forward, and not on a copy made afterwards; if not, ask for the others only, and zip the gradients with these: [p for p in … if p.requires_grad].",
    ),
    (Cause.INFERENCE_TENSOR, "made_under"): Answer(
        verdict="{name:begin} was made in inference_mode, by {head} (line {line}); {code} needs an ordinary tensor.",
        why="inference tensors have no version counter, so autograd can neither save nor change them, whatever their requires_grad is.",
        mend="{anew} in place of {head} makes ordinary tensors{copied}.",
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
        mend="{it}.detach().clone() for its values alone, {it}.clone() where the gradient is to flow back; on a module, keep no tracked result as an attribute.",
    ),
    (Cause.DEEPCOPY_NON_LEAF, "kept_on"): Answer(
        verdict="{attribute} holds a result with a graph behind it, and only leaves can be deep-copied.",
        why="{code:begin} keeps it there; a deep copy would have to copy its graph too.",
        mend="{mends:sentences}",
    ),
    (Cause.DEEPCOPY_NON_LEAF, "set_by_name"): Answer(
        verdict="A part of the module holds a result with a graph behind it, and only leaves can be deep-copied.",
        why="{code:begin} puts it there; a deep copy would have to copy its graph too.",
        mend="{mend}",
    ),
    (Cause.NUMPY_ON_TRACKED, "kept_on"): Answer(
        verdict="{attribute} holds a tensor that requires grad, and numpy would leave autograd without a word.",
        why="{code:begin} keeps it there with its graph; an array has no grad_fn.",
        mend="detach() where the array is made. If only its value is used anywhere: {attribute} = {value}.detach() in that line.",
    ),
    (Cause.NUMPY_ON_TRACKED, "function"): Answer(
        verdict="{code:begin} was given what requires grad, and numpy would leave autograd without a word.",
        why="an array has no grad_fn: nothing that is computed from it sends a gradient back.",
        mend="{torch} in the place of {code}, if the loss is computed from it; only to look at the numbers: {detached}.",
    ),
    (Cause.NUMPY_ON_TRACKED, "function_in_forward"): Answer(
        verdict="{code:begin} was given what requires grad, and numpy would leave autograd without a word.",
        why="an array has no grad_fn: nothing that is computed from it sends a gradient back.",
        mend="{torch} in the place of {code}: torch's own function keeps the graph.",
    ),
    (Cause.NUMPY_ON_TRACKED, "kept_in"): Answer(
        verdict="{code:begin} kept tensors that require grad, and numpy would leave autograd without a word.",
        why="each was kept there with its graph, instead of its number; an array has no grad_fn.",
        mend="{anew} in that line: the values alone; or .detach() where the array is made, each time.",
    ),
    (Cause.NUMPY_ON_TRACKED, "kept_many"): Answer(
        verdict="{code:begin} kept tensors that require grad, and numpy would leave autograd without a word.",
        why="each was kept there with its graph, instead of its values; an array has no grad_fn.",
        mend="{anew} in that line: the values alone; or .detach() where the array is made, each time.",
    ),
    (Cause.REQUIRES_GRAD_NON_FLOAT, "raised"): Answer(
        verdict="Only floating point and complex tensors can require grad.",
        why="a derivative needs values that can change by a little; whole numbers and bools cannot.",
        mend="for measured values: dtype=torch.float32, or .float() first. An index (a token, a class) has no gradient: leave requires_grad out there, and ask for that of the entries that it picks.",
    ),
    (Cause.REQUIRES_GRAD_NON_FLOAT, "dtype"): Answer(
        verdict="Only floating point and complex tensors can require grad, and {name} is {dtype}.",
        why="a derivative needs values that can change by a little; whole numbers and bools cannot.",
        mend="if {it} holds measured values: dtype=torch.float32, or .float() first. If it numbers tokens or classes: leave requires_grad out for it, and ask for the gradient of what it picks: e = embedding({it}), e.retain_grad() in the forward, then e.grad.",
    ),
    (Cause.REQUIRES_GRAD_NON_FLOAT, "index"): Answer(
        verdict="Only floating point and complex tensors can require grad, and {name} is {dtype}.",
        why="a call takes it as indices or as classes, and those have no gradient.",
        mend="leave requires_grad out for {it}; ask for it on what is indexed, or on the scores.",
    ),
    (Cause.REQUIRES_GRAD_NON_LEAF, "raised"): Answer(
        verdict="{name:begin} is a result, and only a leaf's requires_grad can be switched.",
        why="a result requires grad because of what it was computed from.",
        mend="{it} = {it}.detach() for a value without gradient; {it}.retain_grad() to keep its .grad.",
    ),
    (Cause.REQUIRES_GRAD_NON_LEAF, "part_frozen"): Answer(
        verdict="{part:begin} is a part of {whole}, and a parameter has one requires_grad for all of its elements.",
        why="taking a part of it is an operation: what that gives is a result, and its flag cannot be switched.",
        mend="mask the gradient, in the place of {code}: {mask} = torch.ones_like({whole}), {masked} = 0, and {whole}.register_hook(lambda grad, {mask}={mask}: grad * {mask}). Without weight decay, these elements stay as they are.",
    ),
    (Cause.REQUIRES_GRAD_NON_LEAF, "on"): Answer(
        verdict="{name:begin} is a result that requires grad already, and only a leaf's requires_grad can be switched.",
        why="a result requires grad because of what it was computed from.",
        mend="{anew} in the place of {code}: it switches a leaf on, and leaves a result as it is.",
    ),
    (Cause.REQUIRES_GRAD_NON_LEAF, "on_read"): Answer(
        verdict="{name:begin} is a result that requires grad already, and only a leaf's requires_grad can be switched.",
        why="a result requires grad because of what it was computed from, and keeps no .grad unless it is told to.",
        mend="{anew} in the place of {code}, and below it {kept}: so {name}.grad is there for a result, too.",
    ),
    (Cause.REQUIRES_GRAD_NON_LEAF, "on_asked"): Answer(
        verdict="{name:begin} is a result that requires grad already, and only a leaf's requires_grad can be switched.",
        why="a result requires grad because of what it was computed from, and keeps no .grad.",
        mend="{anew} in the place of {code}, and {asked} in the place of {instead:list}: that gives the derivative of a result, too, with its history.",
    ),
    (Cause.DETACH_VIEW_IN_PLACE, "loop"): Answer(
        verdict="{name:begin} is {view}, and a view cannot be detached in place.",
        why="detach_() would cut the view off while it shares its memory with a tensor that stays in the graph.",
        mend="{anew} in the place of {code}: new tensors, and the view stays as it is.",
    ),
    (Cause.DETACH_VIEW_IN_PLACE, "raised"): Answer(
        verdict="{name:begin} is {view}, and a view cannot be detached in place.",
        why="detach_() would cut the view off while it shares its memory with a tensor that stays in the graph.",
        mend="{it} = {it}.detach() instead: a new tensor, and the view stays as it is.",
    ),
    (Cause.VIEW_IN_PLACE, "raised"): Answer(
        verdict="{code:begin} writes in place through a view that autograd cannot follow: {part}.",
        why="a view made under no_grad, or one of several that one call returned, has no history that could be rewritten.",
        mend="{anew}",
    ),
    (Cause.VIEW_IN_PLACE, "several"): Answer(
        verdict="{code:begin} writes in place through a view that autograd cannot follow: {part}.",
        why="{maker} made several views at once, and the history of none of them can be rewritten.",
        mend="{edits:sentences}",
    ),
    (Cause.VIEW_IN_PLACE, "written_beside"): Answer(
        verdict="{code:begin} writes in place into what {view} is a view of, one of several that one call made: {reader} cannot be followed by autograd.",
        why="{maker} ({place}) made several views at once, and the history of none of them can be rewritten by a later write.",
        mend="{maker} once more below {code}: views that are made after the write have its history.",
    ),
    (Cause.VIEW_IN_PLACE, "view_outside"): Answer(
        verdict="{code:begin} writes in place, with gradients on, through a view that was made without them: {part}.",
        why="{maker} ({place}) ran where {off} had switched gradients off, so the view has no history that could be rewritten.",
        mend="take {maker} out of what {off} switches off: made with gradients on, the view can be written.",
    ),
    (Cause.VIEW_IN_PLACE, "write_inside"): Answer(
        verdict="{code:begin} writes in place, with gradients on, through a view that was made without them: {part}.",
        why="{maker} ({place}) ran where {off} had switched gradients off, so the view has no history that could be rewritten.",
        mend="with torch.no_grad(): around {code}, too: what it writes asks for no gradient.",
    ),
    (Cause.VIEW_IN_PLACE, "iterated"): Answer(
        verdict="{code:begin} writes in place into {part}, one of the views of {whole} that the loop makes all at once.",
        why="autograd cannot rewrite the history of one of several views that one call returned; of a single view, made by its index, it can.",
        mend="{head}, and there {indexed:list}.",
    ),
    (Cause.VIEW_IN_PLACE, "iterated_call"): Answer(
        verdict="{code:begin} writes in place into {part}, one of the views that the loop makes all at once.",
        why="autograd cannot rewrite the history of one of several views that one call returned; of a single view, made by its index, it can.",
        mend="{above} above the loop, {head}, and there {indexed:list}.",
    ),
    (Cause.VIEW_IN_PLACE, "of_function"): Answer(
        verdict="{code:begin} writes in place into what {function}, a custom Function, gave back as it came.",
        why="its forward returns an input itself, so the result counts as a view of {input}, and its backward would be lost with that write.",
        mend="{anew} A forward that writes into its input in place marks it: ctx.mark_dirty(…).",
    ),
    (Cause.VIEW_IN_PLACE, "of_hook"): Answer(
        verdict="{code:begin} writes in place into what the backward hook of a module handed on.",
        why="register_full_backward_hook puts a Function of torch's before and behind the module: what that gives counts as a view of {input}, and its backward would be lost with the write.",
        mend="{anew} So for each write into what goes into a module with such a hook, or comes out of it.",
    ),
    (Cause.NON_LEAF_IN_OPTIMIZER, "raised"): Answer(
        verdict="An optimizer was given a result instead of a leaf.",
        why="a result (of .to(), * 0.01, .double()) gets no .grad, so no step could move it.",
        mend="move and scale first, then ask for gradients: torch.randn(3).mul(0.01).requires_grad_().",
    ),
    # what a module holds is no parameter
    (Cause.NOT_A_PARAMETER, "buffer_stays"): Answer(
        verdict="{name} is a buffer: it gets no gradient, and no optimizer moves it.",
        why="register_buffer keeps a tensor with the module and out of parameters().",
        mend="if it is to learn: self.{attribute} = nn.Parameter(…) in place of register_buffer.",
    ),
    (Cause.NOT_A_PARAMETER, "tensor_stays"): Answer(
        verdict="{name} is a plain tensor, no Parameter: parameters() does not give it, and no optimizer moves it.",
        mend="if it is to learn: self.{attribute} = nn.Parameter(…) around what is assigned there.",
    ),
    # an optimizer was handed no parameters
    (Cause.NOT_A_PARAMETER, "tensor"): Answer(
        verdict="{module}.parameters() is empty: {names:few} {n:is a plain tensor, no Parameter|are plain tensors, no Parameters}.",
        why="A module registers what is an nn.Parameter when it is assigned; a tensor stays an ordinary attribute of {kind}.",
        mend="self.{attribute} = nn.Parameter(…) in __init__, around what is assigned there.",
    ),
    (Cause.NOT_A_PARAMETER, "result"): Answer(
        verdict="{module}.parameters() is empty: {names:few} {n:is the result of a call, no Parameter|are results of calls, no Parameters}.",
        why="What cuda(), to(), view() or arithmetic returns of an nn.Parameter is a plain tensor computed from it; a module registers only the Parameter itself.",
        mend="self.{attribute} = nn.Parameter(…) around the whole: move and compute inside of it, as in nn.Parameter(torch.randn(3).cuda()).",
    ),
    (Cause.NOT_A_PARAMETER, "list"): Answer(
        verdict="{module}.parameters() is empty: {names:few} {n:is a plain list or dict|are plain lists or dicts}, where parameters() does not look.",
        mend="self.{attribute} = nn.ModuleList(…) of layers, nn.ParameterList(…) of parameters, or ModuleDict and ParameterDict.",
    ),
    (Cause.NOT_A_PARAMETER, "buffer"): Answer(
        verdict="{module}.parameters() is empty: {names:few} {n:is a buffer|are buffers}, which no optimizer is given.",
        mend="self.{attribute} = nn.Parameter(…) in place of register_buffer.",
    ),
    (Cause.NOT_A_PARAMETER, "init"): Answer(
        verdict="{module}.parameters() is empty: the constructor of {kind} is called {name}, so Python never ran it.",
        why="Python runs __init__, with two underscores before and behind; the module was made without its layers.",
        mend="def __init__(self, …) and super().__init__() in it.",
    ),
    (Cause.NOT_A_PARAMETER, "local"): Answer(
        verdict="{module}.parameters() is empty: {names:few} {n:is a variable|are variables} of __init__, no {n:attribute|attributes} of the module.",
        why="A module registers what is assigned to self; what stands under another name is gone when __init__ ends.",
        mend="self.{attribute} = … in __init__ of {kind}.",
    ),
    # a module was to take a plain tensor as a parameter
    (Cause.NOT_A_PARAMETER, "result_assigned"): Answer(
        verdict="{name} is registered as a parameter, and a computed tensor cannot take its place.",
        why="Only an nn.Parameter or None may stand under that name; one around the result would be a new leaf, and nothing before it would learn.",
        mend="keep the result under another name, and leave the parameter as it is.",
    ),
    (Cause.NOT_A_PARAMETER, "result_of_another"): Answer(
        verdict="{name} is registered as a parameter, and a computed tensor cannot take its place.",
        why="Only an nn.Parameter or None may stand under that name; one around the result would be a new leaf, and nothing before it would learn.",
        mend="{deletes:list} right above {lines:list}: the name is free then, and the gradient goes on to what computes the tensor. If the parameter is to learn itself: keep the result under another name.",
    ),
    (Cause.NOT_A_PARAMETER, "result_set"): Answer(
        verdict="{name} is registered as a parameter of a {kind}, and a computed tensor cannot take its place.",
        why="Only an nn.Parameter or None may stand under that name; one around the result would be a new leaf, and nothing before it would learn.",
        mend="{mends:sentences}",
    ),
    (Cause.NOT_A_PARAMETER, "tensor_assigned"): Answer(
        verdict="{name} is to be a parameter, and what was assigned is none.",
        why="Only an nn.Parameter or None may stand under that name.",
        mend="nn.Parameter(…) around the tensor; numbers alone go into a parameter by copy_() under torch.no_grad().",
    ),
    (Cause.NOT_A_PARAMETER, "spent"): Answer(
        verdict="The optimizer found nothing left in {name}: a statement had read it before.",
        why="{name} is a {kind}: it gives each parameter once.",
        mend="make it a list where it is made: list(…).",
    ),
    (Cause.NOT_A_PARAMETER, "frozen"): Answer(
        verdict="{module} has {n:one parameter, and it is|# parameters, and all are} frozen: none was left for the optimizer.",
        mend="requires_grad_() on what is to learn, before the optimizer is made.",
    ),
    (Cause.NOT_A_PARAMETER, "frozen_at"): Answer(
        verdict="{module} has {n:one parameter, and it is|# parameters, and all are} frozen: none was left for the optimizer.",
        why="{lines:list} switched requires_grad off, of all of them.",
        mend="{edits:list}, for what is to learn; or requires_grad_() on that, before the optimizer is made.",
    ),
    (Cause.NOT_A_PARAMETER, "each_call"): Answer(
        verdict="{module}.parameters() is empty: {kind} makes {codes:few} anew in each call, and keeps none of them.",
        why="A layer that is made in a call has new random weights each time, and is gone after it; a module registers what is assigned to self.",
        mend="in __init__: {made:list}; and {names:list} in the place of {n:that call|these calls}.",
    ),
    (Cause.NOT_A_PARAMETER, "read_before"): Answer(
        verdict="{module} has {n} {n:parameter|parameters}, and none of them came to the optimizer.",
        why="parameters() gives each of them once: a generator that was read before, by another optimizer or a list, is empty. A filter may have left none too.",
        mend="call {module}.parameters() anew where the optimizer is made.",
    ),
    (Cause.NOT_A_PARAMETER, "none"): Answer(
        verdict="{module}.parameters() is empty: {kind} holds no parameter, and no module that has one.",
        why="Perhaps its layers are made elsewhere than in its __init__, or not yet.",
        mend="make the layers and nn.Parameters in __init__, as attributes of the module, before the optimizer.",
    ),
    (Cause.NOT_A_PARAMETER, "unknown"): Answer(
        verdict="The optimizer was given no parameters.",
        why="A module hands over its nn.Parameters and those of the modules that are its attributes: no plain tensors, and nothing from a plain list or dict. A generator gives them once.",
        mend="nn.Parameter(…), nn.ModuleList(…), and parameters() called where the optimizer is made.",
    ),
    (Cause.NON_LEAF_IN_OPTIMIZER, "handed"): Answer(
        verdict="An optimizer was given {names:few}, which {names:is a result|are results} instead of {names:a leaf|leaves}.",
        why="a result (of a call, of .to(), * 0.01) gets no .grad, so no step could move it.",
        mend="{leaves:list} in {places:list}: the values are what they were, and the step moves {leaves:it|them}.",
    ),
    (Cause.NON_LEAF_IN_OPTIMIZER, "in_module"): RESULTS_IN_A_MODULE._replace(
        mend="{anew} in the place of {code}: the leaves alone. {leaves:list}, from which {names:it is|they are} computed, {leaves:is|are} among these.",
    ),
    (Cause.NON_LEAF_IN_OPTIMIZER, "in_module_beside"): RESULTS_IN_A_MODULE._replace(
        mend="{anew} in the place of {code}: the leaves alone. If what {names:it is|they are} computed from is to learn: add that, too, which is no parameter of the module.",
    ),
    (Cause.NON_LEAF_IN_OPTIMIZER, "returned"): Answer(
        verdict="An optimizer was given what {code} returned, a result instead of a leaf.",
        why="{maker} computes it from {leaves:few}; a result gets no .grad, so no step could move it.",
        mend="hand over the {leaves:leaf itself|leaves themselves} in the place of {code}: {leaves:few}, which {leaves:is|are} read there, and which the rest of the program computes with.",
    ),
    (Cause.NON_LEAF_IN_OPTIMIZER, "returned_fresh"): Answer(
        verdict="An optimizer was given what {code} returned, a result instead of a leaf.",
        why="{maker} computes it; a result gets no .grad, so no step could move it.",
        mend="{anew} in the place of {code}, under a name, and that name wherever it is used.",
    ),
    (Cause.NON_LEAF_IN_OPTIMIZER, "likely"): Answer(
        verdict="An optimizer was given a result instead of a leaf.",
        why="a result (of .to(), * 0.01, .double()) gets no .grad, so no step could move it. Likely, not proven: {names:few}.",
        mend="move and scale first, then ask for gradients: torch.randn(3).mul(0.01).requires_grad_().",
    ),
    (Cause.NON_LEAF_IN_OPTIMIZER, "likely_part"): Answer(
        verdict="An optimizer was given a result instead of a leaf: likely {name}, a part of {whole:few}.",
        why="{code} gives a view that is computed from {whole:few}, which {whole:requires|require} grad: it gets no .grad of its own, so no step could move it.",
        mend="detach().clone().requires_grad_() of that part, in {code}, if it alone is to learn; or hand {whole:few} to the optimizer.",
    ),
    # what torch refuses: dtypes, shapes, hooks, a backward of the user's own
    (Cause.DTYPES_DIFFER, "raised"): Answer(
        verdict="One call was given tensors of several dtypes, and torch does not convert them.",
        why="numpy and Python data become float64 or int64; parameters are float32.",
        mend="convert the data where it is made: .float(), or .to(p.dtype) with a parameter p.",
    ),
    (Cause.DTYPES_DIFFER, "cast"): Answer(
        verdict="{code:begin} was given {name} as {dtype}, and the rest as {other}.",
        why="torch does not convert between them here; numpy and Python data become float64 or int64.",
        mend="{data}.to(torch.{other}) before that line, or where it is made.",
    ),
    (Cause.DTYPES_DIFFER, "classes"): Answer(
        verdict="{code:begin} takes {name} as indices or classes, and it is {dtype}.",
        why="indices and classes are whole numbers.",
        mend="{data}.long() before that line, or where it is made.",
    ),
    (Cause.CUSTOM_BACKWARD, "raised"): Answer(
        verdict="The backward of a custom Function returned gradients that do not fit its inputs.",
        why="it has to return one for each argument of forward, each of that argument's shape.",
        mend="return one gradient for each argument of forward, in their order; None for those that need none.",
    ),
    (Cause.CUSTOM_BACKWARD, "count"): Answer(
        verdict="{name}.backward() returned {got:one gradient|# gradients}; forward has {expected:one argument|# arguments}.",
        why="backward has to return one gradient for each argument of forward (ctx apart), in their order.",
        mend="return {expected:one value|# values} there: None for each argument that needs no gradient.",
    ),
    (Cause.CUSTOM_BACKWARD, "no_return"): Answer(
        verdict="{name}.backward() has no return, so it gives None; forward has {expected:one argument|# arguments}.",
        why="backward has to return one gradient for each argument of forward (ctx apart), in their order.",
        mend="return {expected:the gradient|# gradients} at its end, in the order of forward's arguments ({arguments:commas}): None for each argument that needs no gradient.",
    ),
    (Cause.CUSTOM_BACKWARD, "shape_of"): Answer(
        verdict="{name}.backward() returned {value} of shape {got} for {argument}, which has the shape {expected}.",
        why="the gradient of a tensor has that tensor's shape, whatever shape the output has.",
        mend="give {value} the shape {expected}: zeros where {argument} has no effect, a sum over what was broadcast; or hand in {argument} of shape {got}.",
    ),
    (Cause.CUSTOM_BACKWARD, "transposed"): Answer(
        verdict="{name}.backward() returned {value} of shape {got} for {argument}, which has the shape {expected}.",
        why="the gradient of a tensor has that tensor's shape: the two dimensions stand the other way round here.",
        mend="{value}.t() in the place of {value} in what it returns.",
    ),
    (Cause.CUSTOM_BACKWARD, "summed_over_other"): Answer(
        verdict="{name}.backward() returned {value} of shape {got} for {argument}, which has the shape {expected}.",
        why="the gradient of what was broadcast is the sum over the dimensions that it does not have.",
        mend="{anew} in the place of {summed}.",
    ),
    (Cause.CUSTOM_BACKWARD, "joined"): Answer(
        verdict="{name}.backward() returned {value} of shape {got} for {argument}, which has the shape {expected}.",
        why="the gradient of a tensor has that tensor's shape, whatever shape the output has; cat() joined its parts end to end.",
        mend="put the parts as {argument} has them: torch.stack([…], dim=1) in the place of cat() where they are columns, dim=0 where they are rows. view() would mix the columns up.",
    ),
    (Cause.CUSTOM_BACKWARD, "shape"): Answer(
        verdict="{name}.backward() returned a gradient that does not have the shape of its input.",
        why="the gradient of a tensor has that tensor's shape, whatever shape the output has.",
        mend="return a gradient of the input's shape there; of what was broadcast, sum over the broadcast dimensions.",
    ),
    (Cause.HOOK_REFUSED, "raised"): Answer(
        verdict="{name:begin} gets no gradient, so no hook and no retain_grad() can be had there.",
        why="it does not require grad.",
        mend="{it}.requires_grad_() before that, and before anything is computed from it; or let what it is made from require grad.",
    ),
    (Cause.HOOK_REFUSED, "cut"): Answer(
        verdict="{name:begin} gets no gradient, so no hook and no retain_grad() can be had there.",
        why="{maker} made it, and what requires grad ends at {cutter} ({place}).",
        mend="{mends:sentences}",
    ),
    (Cause.HOOK_REFUSED, "switched_off"): Answer(
        verdict="{name:begin} gets no gradient, so no hook and no retain_grad() can be had there.",
        why="it was made by {maker}, where gradients are off ({off}, no_grad or the like).",
        mend="make {name} outside of what {off} switches off, if a gradient is wanted there; else leave the hook out.",
    ),
    (Cause.HOOK_REFUSED, "changed"): Answer(
        verdict="A hook returned a gradient of another shape or type than it was given.",
        why="what a hook returns takes the place of the gradient.",
        mend="return a gradient of the shape and type of the one that the hook is given, of a module's hook a tuple of these: (grad,); or None, which leaves it as it is.",
    ),
    (Cause.GRADIENT_SHAPE, "raised"): Answer(
        verdict="The gradient that backward was given does not have the shape of what it was called on.",
        why="it holds one number for each element of the output.",
        mend="torch.ones_like(y) of the output y has the right shape; or reduce first, with .sum() or .mean().",
    ),
    (Cause.GRADIENT_SHAPE, "start"): Answer(
        verdict="Backward was given a gradient of shape {given}, and {name} has shape {shape}.",
        why="it holds one number for each element of the output.",
        mend="torch.ones_like({it}) has the right shape; or reduce first, with .sum() or .mean(), and give none.",
    ),
    (Cause.GRADIENT_SHAPE, "one_number"): Answer(
        verdict="Backward was given a gradient of shape {given}, and {name} has shape {shape}.",
        why="it holds one number for each element of the output.",
        mend="call backward() without a gradient: for one number it is 1.",
    ),
    (Cause.GRADIENT_SHAPE, "same_numbers"): Answer(
        verdict="Backward was given a gradient of shape {given}, and {name} has shape {shape}.",
        why="it holds one number for each element of the output; these are as many, in another shape.",
        mend="{anew} in the place of {start}.",
    ),
    # it is one number too, in another shape
    (Cause.GRADIENT_SHAPE, "one_reshaped"): Answer(
        verdict="Backward was given a gradient of shape {given}, and {name} has shape {shape}.",
        why="it holds one number for each element of the output.",
        mend="{start}.reshape({wanted}), the same number in the right shape; without any, backward() starts from 1.",
    ),
    (Cause.NO_GRAD_FN, "computed_in_function"): COMPUTED_IN_FUNCTION,
    (Cause.NEVER_TRACKED, "computed_in_function"): COMPUTED_IN_FUNCTION,
    (Cause.NO_GRAD_FN, "kept_by_function"): KEPT_BY_FUNCTION,
    (Cause.NEVER_TRACKED, "kept_by_function"): KEPT_BY_FUNCTION,
    # {start} says that nothing can train
    (Cause.NO_GRAD_FN, "unseen"): Answer(
        verdict="{start}",
        why="it was cut off from what requires grad, or nothing that it was computed from does.",
    ),
    (Cause.NO_GRAD_FN, "compared_with_itself"): Answer(
        verdict="{start}",
        why="{part} compares {names:list} with itself, and nothing reads {made}, which the model made.",
        mend="{anew} in its place.",
    ),
    (Cause.NO_GRAD_FN, "without_prediction"): Answer(
        verdict="{start}",
        why="{part} compares {names:list}, of which none requires grad, and nothing reads {made}, which the model made.",
        mend="the prediction has to stand there: {anew}, if {first} is none.",
    ),
    (Cause.NO_GRAD_FN, "cut"): Answer(
        verdict="{start}",
        why="{reasons:sentences}",
        mend="{mends:sentences}",
    ),
    (Cause.NO_GRAD_FN, "held_read"): Answer(
        verdict="{start}",
        why="an optimizer holds {names:few}, and {codes:few} {n:reads|read} what was computed from that as plain numbers: no gradient comes back through them. What is frozen besides is in no optimizer, so it may be meant.",
        mend="compute with the tensor itself there. Where its number chooses places (an index, a slice): weigh all places by it, as torch.sigmoid(k * (position - border)) does, in the place of int().",
    ),
    (Cause.NO_GRAD_FN, "kept_without_graph"): Answer(
        verdict="{start}",
        why="{reader} takes {kept} as {keeper} left it while gradients were off: it has no history.",
        mend="{kept} = None once gradients are on again, {again}: then it is computed anew.",
    ),
    (Cause.NO_GRAD_FN, "rebound"): Answer(
        verdict="{start}",
        why="{code} makes a new tensor without a history and gives it the name {name}: the leaf that required grad is left behind.",
        mend="write into it, under torch.no_grad(): {update}; and {name}.grad = None after that, if nothing clears it yet.",
    ),
    (Cause.NO_GRAD_FN, "beside_new"): Answer(
        verdict="{start}",
        why="{names:few} {names:requires|require} grad alone, and forward never calls {layer}: it ends with {used}, which is frozen.",
        mend="{mend} in the place of {layer}: under the name that forward calls.",
    ),
    (Cause.NO_GRAD_FN, "untracked_named"): Answer(
        verdict="{start}",
        why="{reasons:sentences}",
        mend="{first}.requires_grad_() before that line, or requires_grad=True where it is made: so for each of {wanted:few} that is to learn.",
    ),
    (Cause.NO_GRAD_FN, "untracked_one"): Answer(
        verdict="{start}",
        why="{reasons:sentences}",
        mend="{first}.requires_grad_() before that line, or requires_grad=True where it is made.",
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
    (Cause.NO_GRAD_FN, "from_grad_constant"): Answer(
        verdict="{start}",
        why="{names:few} came from autograd.grad with create_graph=True and {names:has|have} no graph all the same: what was differentiated there is linear, so its derivative is constant.",
        mend="the derivative of that is 0: take zeros (torch.zeros_like) where it does not require grad.",
    ),
    (Cause.NO_GRAD_FN, "from_grad_own"): Answer(
        verdict="{start}",
        why="{names:few} came from autograd.grad with create_graph=True and {names:has|have} no graph all the same: the backward of {functions:few} gave what is not tracked.",
        mend="compute the backward of {functions:few} by torch's functions of ctx.saved_tensors, without once_differentiable, no_grad, detach() or .data. If its derivative is constant: the derivative of that is 0.",
    ),
    (Cause.NO_GRAD_FN, "untracked"): Answer(
        verdict="{start}",
        why="{reasons:sentences}",
        mend="requires_grad_() on what is to learn, before the forward.",
    ),
    (Cause.MODIFIED_IN_PLACE, "rebound_leaf"): Answer(
        verdict="{code} gives the name {name} to a result: the optimizer still moves the leaf that had it, and each iteration goes on from the graph of the one before.",
        mend="under torch.no_grad(), write into it, in the place of that: {update}.",
    ),
    (Cause.MODIFIED_IN_PLACE, "stepped_let_in"): Answer(
        verdict="{values:few} {values:goes|go} with {values:its|their} history into losses that are to train others, and {writer} has changed {name} behind {values:it|them}.",
        why="{reasons:sentences}",
        mend="{mends:sentences}",
    ),
    (Cause.MODIFIED_IN_PLACE, "stepped_carried"): Answer(
        verdict="{writer} changed {name}, and this loss still uses {value}, made with it before that step ({place}).",
        why="{reasons:sentences}",
        mend="make {value} anew after each step, before the next loss is computed from it.",
    ),
    (Cause.MODIFIED_IN_PLACE, "stepped_over"): Answer(
        verdict="{writer} changed {name}, and this loss still goes back through {value} of the iteration before, made with it before that step ({place}).",
        why="{reasons:sentences}",
        mend="{kept} after each step: the next iteration starts from the value only, and retain_graph=True is not needed.",
    ),
    (Cause.MODIFIED_IN_PLACE, "stepped_over_module"): Answer(
        verdict="{writer} changed {name}, and this loss still goes back through {value} of the iteration before, made with it before that step ({place}).",
        why="{reasons:sentences}",
        mend="{kept} right above {code} ({place}): each iteration starts from the value only, and retain_graph=True is not needed.",
    ),
    (Cause.MODIFIED_IN_PLACE, "stepped_handed_on"): Answer(
        verdict="{writer} changed {name}, and this loss still goes back through {value} of the iteration before: {handed} hands it on, and all that stands beside it.",
        why="{reasons:sentences}",
        mend="{kept} in the place of {handed}: the next iteration starts from the values only, and retain_graph=True is not needed.",
    ),
    (Cause.MODIFIED_IN_PLACE, "stepped_between"): Answer(
        verdict="{writer} changed {name}, and this loss still uses {value}, made with it before that step ({place}).",
        why="{reasons:sentences}",
        mend="{code} again after {step}, before this loss is computed from it.",
    ),
    (Cause.MODIFIED_IN_PLACE, "stepped_between_lines"): Answer(
        verdict="{writer} changed {name}, and this loss still uses {value}, made with it before that step ({place}).",
        why="{reasons:sentences}",
        mend="{lines:list} again after {step}, in this order, before this loss is computed from it.",
    ),
    (Cause.MODIFIED_IN_PLACE, "stepped_between_freed"): Answer(
        verdict="{writer} changed {name}, and this loss still uses {value}, made with it before that step ({place}).",
        why="{reasons:sentences}",
        mend="{code} again after {step}, before this loss is computed from it. {detached:list} in {freed_in} besides: {first} has freed what is behind {shared:few}.",
    ),
    (Cause.MODIFIED_IN_PLACE, "stepped_lines"): Answer(
        verdict="{writer} changed {name} between the forward and this backward.",
        why="{reasons:sentences}",
        mend="compute it with the new weights: move {lines:list} below {step}. Or call {second} before that step, if the step is to use its gradient too.",
    ),
    (Cause.MODIFIED_IN_PLACE, "stepped_moved"): Answer(
        verdict="{writer} changed {name} between the forward and this backward.",
        why="{reasons:sentences}",
        mend="compute it with the new weights: move {lines:list} below {step}.",
    ),
    (Cause.MODIFIED_IN_PLACE, "stepped_lines_alone"): Answer(
        verdict="{writer} changed {name} between the forward of {root} and its backward.",
        why="{reasons:sentences}",
        mend="compute it with the new weights: move {lines:list} below {below}.",
    ),
    (Cause.MODIFIED_IN_PLACE, "stepped_lines_freed"): Answer(
        verdict="{writer} changed {name} between the forward and this backward.",
        why="{reasons:sentences}",
        mend="compute it with the new weights: move {lines:list} below {step}. Or call {second} before that step, if the step is to use its gradient too. {detached:list} in {freed_in} besides: {first} has freed what is behind {shared:few}.",
    ),
    (Cause.MODIFIED_IN_PLACE, "stepped_added"): Answer(
        verdict="{writer} changed {name} between the forward and this backward.",
        why="{reasons:sentences}",
        mend="{again} Before that step, {second} would add to the gradients of {first}, which the step uses.",
    ),
    (Cause.MODIFIED_IN_PLACE, "stepped"): Answer(
        verdict="{writer} changed {name} between the forward and this backward.",
        why="{reasons:sentences}",
        mend="call {second} before {step}.",
    ),
    (Cause.MODIFIED_IN_PLACE, "stepped_again"): Answer(
        verdict="{writer} changed {name} between the forward and this backward.",
        why="{reasons:sentences}",
        mend="{again}",
    ),
    (Cause.MODIFIED_IN_PLACE, "stepped_dropped"): Answer(
        verdict="{writer} changed {name} between the forward and this backward, and the loss that was computed after it was dropped: {dropped}.",
        why="{reasons:sentences}",
        mend="{wanted} there: so {second} goes back through the new loss.",
    ),
    (Cause.MODIFIED_IN_PLACE, "written"): Answer(
        verdict="{writer:begin} wrote {name} in place after {saver} had saved it.",
        why="{reasons:sentences}",
        mend="{mends:sentences}",
    ),
    (Cause.SECOND_BACKWARD, "rebound_leaf"): Answer(
        verdict="{code} gives the name {name} to a result: the optimizer still moves the leaf that had it, and each iteration goes on from the graph of the one before.",
        mend="under torch.no_grad(), write into it, in the place of that: {update}.",
    ),
    (Cause.SECOND_BACKWARD, "kept_in_place"): Answer(
        verdict="{names:few} {names:keeps|keep} the history of all that was written into {names:it|them}, and {first} has freed that.",
        why="a tensor that results are written into keeps the history of all of them, so a loss of one part goes back through the others.",
        mend="{targets} = {values} after each backward: the numbers stay, without their history. Or compute the loss from the result itself, and write its .detach() there.",
    ),
    (Cause.SECOND_BACKWARD, "kept_in_place_once"): Answer(
        verdict="{names:few} {names:keeps|keep} the history of all that was written into {names:it|them}, and {first} has freed that.",
        why="a tensor that results are written into keeps the history of all of them, so a loss of one part goes back through the others.",
        mend="{targets} = {values} above {code}: the numbers stay, without their history.",
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
    (Cause.SECOND_BACKWARD, "same_loss"): Answer(
        verdict="backward() ran twice from the same {loss}: {first}, then {second}.",
        why="one backward gives the whole gradient of {loss}, and frees its graph; the second would add the same once more.",
        mend="leave one of the two out. If the gradient is to be there twice: compute the loss anew before each backward, or retain_graph=True in the first.",
    ),
    (Cause.SECOND_BACKWARD, "shared"): Answer(
        verdict="What {name} had saved was freed by an earlier backward: {first}.",
        why="{node} gave up what it had saved in that backward; {second} needs it. Both losses go through {shared}.",
        mend="{sum} in the place of both: the gradients are the same. If both are to stay: retain_graph=True in the first. If one of the losses is not to train what is behind {shared}: detach there.",
    ),
    (Cause.SECOND_BACKWARD, "twice"): Answer(
        verdict="What {name} had saved was freed by an earlier backward: {first}.",
        why="{node} gave up what it had saved in that backward; {second} needs it.",
        mend="{sum} in the place of both: the gradients are the same. If both are to stay: retain_graph=True in the first.",
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
        mend="{begun} right above {reader}: the next iteration starts from the value only.",
    ),
    (Cause.SECOND_BACKWARD, "carried_read"): Answer(
        verdict="{names:few} {names:carries|carry} an earlier iteration's graph into this backward, and it was freed there.",
        why="{node} gave up what it had saved in that iteration's {first}.",
        mend="{edits:list}: what an earlier iteration left counts as a number.",
    ),
    (Cause.SECOND_BACKWARD, "carried_in_attribute"): Answer(
        verdict="{name} still holds what an earlier iteration put there, with its graph, and that iteration's backward freed it.",
        why="{node} gave up what it had saved in that iteration's {first}. {keeper} keeps it, and the next iteration reads it.",
        mend="{mends:sentences}",
    ),
    (Cause.SECOND_BACKWARD, "carried_in_list"): Answer(
        verdict="{list} still holds what an earlier iteration put there, with its graph, and that iteration's backward freed it.",
        why="{node} gave up what it had saved in that iteration's {first}. Each iteration adds to {list} ({place}), and nothing empties it.",
        mend="{mends:sentences}",
    ),
    (Cause.SECOND_BACKWARD, "carried_in_memory"): Answer(
        verdict="{list} still holds what an earlier iteration put there, with its graph, and that iteration's backward freed it.",
        why="{node} gave up what it had saved in that iteration's {first}. Each iteration adds to {list} ({place}), and this one took the old ones from it, too.",
        mend="{mends:sentences}",
    ),
    (Cause.SECOND_BACKWARD, "carried_in_steps"): Answer(
        verdict="{names:few} {names:carries|carry} an earlier iteration's graph into this backward, and it was freed there.",
        why="{node} gave up what it had saved in that iteration's {first}. {owner} computes in several steps before each backward, so a detach in there would cut between these steps too.",
        mend="after each backward: for m in {owner}.modules(): if hasattr(m, '{attribute}'): {own_targets} = {own_values}. If nothing is to come over from one iteration to the next: begin each with new ones.",
    ),
    (Cause.SECOND_BACKWARD, "carried_kept"): Answer(
        verdict="{names:few} {names:carries|carry} an earlier iteration's graph into this backward, and it was freed there.",
        why="{node} gave up what it had saved in that iteration's {first}.",
        mend="{anew}: the next iteration starts from the value only.",
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
    (Cause.SECOND_BACKWARD, "carried_between"): Answer(
        verdict="{name} carries the graph of an earlier call into {second}, and {first} freed it.",
        why="{node} gave up what it had saved in {first}; {keeper} had kept its result.",
        mend="{anew} in the place of {keeper}: the next call starts from the value only.",
    ),
    (Cause.SECOND_BACKWARD, "carried_between_itself"): Answer(
        verdict="{name} carries the graph of an earlier call into {second}, and {first} freed it.",
        why="{node} gave up what it had saved in {first}; {keeper} had kept its result.",
        mend="{anew} right above {keeper}: that call starts from the value only.",
    ),
    (Cause.SECOND_BACKWARD, "dropped"): Answer(
        verdict="{names:few} {names:carries|carry} an earlier iteration's graph into this backward: the result of detach() was dropped.",
        why="{dropped} changes nothing: detach() returns a new tensor, and nothing takes it. {node} gave up what it had saved in that iteration's {first}.",
        mend="{on}.detach_() there, which detaches in place; or assign what detach() returns to the name that the next iteration reads.",
    ),
    (Cause.SECOND_BACKWARD, "dropped_view"): Answer(
        verdict="{names:few} {names:carries|carry} an earlier iteration's graph into this backward: the result of detach() was dropped.",
        why="{dropped} changes nothing: detach() returns a new tensor, and nothing takes it. {node} gave up what it had saved in that iteration's {first}.",
        mend="assign what detach() returns to the name that the next iteration reads.",
    ),
    (Cause.SECOND_BACKWARD, "once_kept"): Answer(
        verdict="{kept} was computed for an earlier loss and kept with its graph, which {first} freed: {reader} uses it again.",
        why="{name} gave up what it had saved there. The function that computes it ({place}) has run again since, and did not come by that line.",
        mend="compute it anew in each call: {code}, whatever was kept. Keep its detach() only if nothing is to learn through it.",
    ),
    (Cause.SECOND_BACKWARD, "once_kept_unread"): Answer(
        verdict="{kept} was computed for an earlier loss and kept with its graph, which {first} freed: this loss goes through it again.",
        why="{name} gave up what it had saved there. What leads to that line ({place}) has run again since, and did not come by it.",
        mend="compute it anew in each call: {code}, whatever was kept. Keep its detach() only if nothing is to learn through it.",
    ),
    (Cause.SECOND_BACKWARD, "once_learning"): COMPUTED_ONCE._replace(
        why="{name} gave up what it had saved in {first}. {codes:It was|They were} computed from {leaves:few}, which {leaves:has|have} been updated since.",
        mend="compute {codes:it|them} anew in each iteration: in the loop, or in what the loop calls (forward).",
    ),
    (Cause.SECOND_BACKWARD, "once_learning_above"): COMPUTED_ONCE._replace(
        why="{name} gave up what it had saved in {first}. {codes:It was|They were} computed from {leaves:few}, which {leaves:has|have} been updated since.",
        mend="compute {codes:it|them} anew in each iteration: {anew:list} once more, right above {above}.",
    ),
    (Cause.SECOND_BACKWARD, "once_beside"): COMPUTED_ONCE._replace(
        why="{name} gave up what it had saved in {first}. {codes:It was|They were} computed from {leaves:few}, with the values of before; this loss leads there by what it computes anew, too.",
        mend="{edits:list}: what was computed once counts as a number. If something is to be learned through {codes:it|them} as well: compute {codes:it|them} anew in each iteration.",
    ),
    (Cause.SECOND_BACKWARD, "once"): COMPUTED_ONCE._replace(
        why="{name} gave up what it had saved in {first}. It was tracked for the sake of {leaves:few}, and nothing here updates {leaves:that|those}.",
        mend="make {every:few} without requires_grad before that line runs: nothing here updates {leaves:it|them}. If what is behind it is to learn: compute {codes:it|them} anew in each iteration, with all that is made of {codes:it|them}.",
    ),
    (Cause.SECOND_BACKWARD, "once_unmoved"): COMPUTED_ONCE._replace(
        why="{name} gave up what it had saved in {first}. It was computed from {leaves:few}.",
        mend="compute {codes:it|them} anew in each iteration, or add the losses and call backward once. If nothing is to learn through {codes:it|them}: detach() what {codes:that line computes|those lines compute}.",
    ),
    (Cause.SECOND_BACKWARD, "once_result"): COMPUTED_ONCE._replace(
        why="{name} gave up what it had saved in {first}. What that line binds is a result, no leaf: it gets no .grad, and no step can move it.",
        mend="if it is to learn, move and scale first, then ask for gradients: torch.randn(3).mul(0.01).requires_grad_(). If not, leave requires_grad out there.",
    ),
    (Cause.SECOND_BACKWARD, "once_alone"): COMPUTED_ONCE._replace(
        why="{name} gave up what it had saved in {first}. It was computed from {leaves:few}.",
        mend="compute {codes:it|them} anew in each iteration. If the iterations make up one loss: add up the losses, and call backward once, below the loop.",
    ),
    (Cause.SECOND_BACKWARD, "once_alone_above"): COMPUTED_ONCE._replace(
        why="{name} gave up what it had saved in {first}. It was computed from {leaves:few}.",
        mend="compute {codes:it|them} anew in each iteration: {anew:list} once more, right above {above}. If the iterations make up one loss: add up the losses, and call backward once, below the loop.",
    ),
    (Cause.SECOND_BACKWARD, "wiped_in_place"): Answer(
        verdict="{code} wipes the numbers of {name}, and not its history: the graph of the iteration before hangs on it.",
        why="an in-place call is one more operation on that graph. {node} gave up what it had saved in {first}; {second} needs it.",
        mend="detach_() on it before {code}; or put a new tensor in its place (torch.zeros_like).",
    ),
    # another name was meant: what the model has made since stands unused
    (Cause.SECOND_BACKWARD, "made_in_vain"): Answer(
        verdict="{code} reads {value} again, whose graph {first} freed; {made}, which the same model made since, is read by nothing.",
        why="{name} gave up what it had saved in that backward, and {second} needs it.",
        mend="{anew} in the place of {code}, if {made} is meant there.",
    ),
    (Cause.SECOND_BACKWARD, "let_in"): Answer(
        verdict="{values:few} {values:goes|go} in with {values:its|their} history, so {first} went on into {leaves:few} and freed the graph there.",
        why="{name} gave up what it had saved in that backward, and {second} needs it. The step between them moved {others:few}, and nothing behind {values:few}.",
        mend="{edits:list}: that loss is then for {others:few} alone.",
    ),
    (Cause.SECOND_BACKWARD, "not_meant"): Answer(
        verdict="{shared:few} {shared:was|were} freed by an earlier backward, and the step after it moved nothing behind {shared:it|them}: {first}.",
        why="{node} gave up what it had saved in that backward; {second} needs it.",
        mend="{detached:list} in {code}, where that loss is to train only what was stepped; else {sum}, before the steps.",
    ),
    (Cause.SECOND_BACKWARD, "let_in_anew"): Answer(
        verdict="{values:few} {values:goes|go} in with {values:its|their} history, so {first} went on into {leaves:few} and freed the graph there.",
        why="{name} gave up what it had saved in that backward, and {second} needs it. The step between them moved {others:few}, and nothing behind {values:few}.",
        mend="{edits:list}: that loss is then for {others:few} alone. For the second loss compute {shared:few} once more after the step, from {values:few} with its history.",
    ),
    (Cause.SECOND_BACKWARD, "stepped_already"): Answer(
        verdict="{shared:few} {shared:leads|lead} into {already:few}, where {first} has freed the graph, and a step came after it.",
        why="{name} gave up what it had saved in that backward. {second} goes there again, beside {own:few}, which that step left alone.",
        mend="{detached:list} in {code}: that loss is then for {own:few} alone. If it is to train {already:few} too: compute {shared:few} anew after the step.",
    ),
    (Cause.SECOND_BACKWARD, "anew_detached"): Answer(
        verdict="{shared:few} {shared:leads|lead} into {already:few}, where {first} has freed the graph, and a step came after it.",
        why="{name} gave up what it had saved in that backward. {second} goes there again, beside {own:few}, which that step left alone.",
        mend="compute {shared:few} once more for the second loss, after the step, with {edits:list}: that loss is then for {own:few} alone.",
    ),
    (Cause.SECOND_BACKWARD, "trained_by_both"): Answer(
        verdict="What {name} had saved was freed by an earlier backward: {first}.",
        why="{node} gave up what it had saved in that backward; {second} needs it. Both losses go through {shared:few}, and what is behind was stepped between them.",
        mend="{mends:sentences}",
    ),
    (Cause.UNUSED_INPUT, "unseen"): Answer(
        verdict="One of the inputs of autograd.grad is not in the graph of its output.",
        why="no gradient path leads to it: it was cut off, or the forward used another tensor.",
        mend="ask for the tensor that the forward used. Where None is meant for it: allow_unused=True.",
    ),
    (Cause.UNUSED_INPUT, "unseen_numbered"): Answer(
        verdict="Input {index} of autograd.grad is not in the graph of its output.",
        why="no gradient path leads to it: it was cut off, or the forward used another tensor.",
        mend="ask for the tensor that the forward used. Where None is meant for it: allow_unused=True.",
    ),
    (Cause.UNUSED_INPUT, "cut"): Answer(
        verdict="{name:begin} is not in the graph of {root}.",
        why="the path from {root} back to {name} was cut there: {reason}.",
        mend="{mends:sentences}",
    ),
    (Cause.UNUSED_INPUT, "made_there"): Answer(
        verdict="{code} is a new tensor, made in this call: {root} was computed from {name}, and not from it.",
        why="a gradient is asked for by a tensor itself; {code} is none of those that {root} was computed from.",
        mend="{name} in the place of {code}: its gradient is what comes back.",
    ),
    (Cause.UNUSED_INPUT, "one_node"): Answer(
        verdict="{name:begin} and what {root} was computed from are results of one node, {node}: no gradient goes from one to the other.",
        why="what was computed inside of {node} is no part of the graph; it knows only the gradients of its inputs.",
        mend="compute {root} from {name} outside of that call (of a compiled module: leave that part uncompiled).",
    ),
    (Cause.UNUSED_INPUT, "one_node_both"): Answer(
        verdict="{name:begin} and {root} are results of one node, {node}: no gradient goes from one to the other.",
        why="what was computed inside of {node} is no part of the graph; it knows only the gradients of its inputs.",
        mend="ask for the gradient of what both were computed from; or compute {root} from {name}.",
    ),
    (Cause.UNUSED_INPUT, "part_of_model"): Answer(
        verdict="{name:begin} is not in the graph of {root}.",
        why="it was asked for along with all parameters, and {root} was computed without {part}.",
        mend="ask for the others alone: {wanted}, and zip the gradients with these. allow_unused=True gives None for each of {part}, which is then to be skipped.",
    ),
    (Cause.UNUSED_INPUT, "part_first"): A_PART_TAKEN_OUT._replace(
        mend="{parts} above {computes}, and {anew} in the place of that: so {root} is computed from the parts.",
    ),
    (Cause.UNUSED_INPUT, "part_joined"): A_PART_TAKEN_OUT._replace(
        mend="{anew} in the place of {computes}: so {root} is computed from the parts.",
    ),
    (Cause.UNUSED_INPUT, "part_of_whole"): A_PART_TAKEN_OUT._replace(
        mend="{mends:sentences}",
    ),
    (Cause.UNUSED_INPUT, "part_of_used"): A_PART_TAKEN_OUT._replace(
        mend="{asked}, and of that the same part.",
    ),
    (Cause.UNUSED_INPUT, "copied"): Answer(
        verdict="{name:begin} is not in the graph of {root}.",
        why="{root} was not computed from {name} but from {twin}, of which {name} is a copy.",
        mend="ask for {twin}. If the gradient of {name} itself is meant: compute {root} from {name}.",
    ),
    (Cause.UNUSED_INPUT, "in_memory"): Answer(
        verdict="{name:begin} is not in the graph of {root}.",
        why="{root} was computed from {twin}; {name} is a new tensor in the memory of {twin}, made beside it (Variable(…), detach()), and nothing was computed from it.",
        mend="ask for {twin} itself.",
    ),
    (Cause.UNUSED_INPUT, "in_memory_of_untracked"): Answer(
        verdict="{name:begin} is not in the graph of {root}.",
        why="{root} was computed from {twin}, which asks for no gradient; {name} is a new tensor in the memory of {twin}, made beside it (Variable(…), detach()), and nothing was computed from it.",
        mend="{twin}.requires_grad_() before {root} is computed from it, and ask for {twin} itself.",
    ),
    (Cause.UNUSED_INPUT, "same_values"): Answer(
        verdict="{name:begin} is not in the graph of {root}.",
        why="{root} was not computed from {name} but from {twin}, which has the same values {values}.",
        mend="ask for {twin}. If the gradient of {name} itself is meant: compute {root} from {name}.",
    ),
    (Cause.UNUSED_INPUT, "unused"): Answer(
        verdict="{name:begin} is not in the graph of {root}.",
        why="{root} was not computed from {name}.",
        mend="compute {root} from {name}.",
    ),
    (Cause.UNUSED_INPUT, "unused_among"): Answer(
        verdict="{name:begin} is not in the graph of {root}.",
        why="{root} was not computed from {name}.",
        mend="compute {root} from {names:few}. If {names:it is|they are} to have no part in it: do not ask for {names:it|them}; allow_unused=True gives None in {names:its|their} place.",
    ),
    (Cause.UNUSED_INPUT, "without_graph"): Answer(
        verdict="{name:begin} is not in the graph of {root}.",
        why="{root} was computed from it through {names:few} alone, which {code} ({place}) gave without a graph: they are numbers.",
        mend="create_graph=True in {code} ({place}).",
    ),
    (Cause.UNUSED_INPUT, "constant_derivative"): Answer(
        verdict="{name:begin} is not in the graph of {root}.",
        why="{root} was computed from it through {names:few} alone, which {code} ({place}) gave with a graph, and nothing of that depends on {name}: what was differentiated there is linear in it.",
        mend="the derivative of that by {name} is 0: allow_unused=True in this call, and torch.zeros_like({it}) for the None that it gives.",
    ),
    (Cause.UNUSED_INPUT, "asked_too_late"): Answer(
        verdict="{name:begin} is not in the graph of {root}.",
        why="{root} was computed from what {code} ({place}) made of {name}, before {switch}: {name} did not require grad yet, so that has no history.",
        mend="{code} once more below {switch}, before {root} is computed from it.",
    ),
    (Cause.UNUSED_INPUT, "handed_in_vain"): Answer(
        verdict="{name:begin} is not in the graph of {root}.",
        why="{given} hands it to {function}, which never reads its argument {parameter}: {code} there is computed without it.",
        mend="compute what {function} returns ({place}) from {parameter}.",
    ),
    (Cause.UNUSED_INPUT, "loop_name"): Answer(
        verdict="{name:begin} is not in the graph of {root}.",
        why="{root} was not computed from {name}: {statement} ({place}) only gives the variable {variable} of the loop another object, and the model keeps its own parameters.",
        mend="hand the tensors to the model in the call: torch.func.functional_call(model, dict(zip(names, {whole})), x) in the place of model(x), with the names that model.named_parameters() gives.",
    ),
    # backward was called on what is no tensor
    (Cause.NOT_A_TENSOR, "copied"): Answer(
        verdict="{loss:begin} is no tensor but a {kind}: {code:few} took the numbers out of torch, so there is nothing to go back through.",
        why="a Python number or an array has no grad_fn: what is computed from it is cut off from every parameter.",
        mend="keep the tensors, without {taken:list}: {mends:list}. Only what is printed is to be a number.",
    ),
    (Cause.NOT_A_TENSOR, "copied_numeric"): Answer(
        verdict="{loss:begin} is no tensor but a {kind}: {code:few} took the numbers out of torch, so there is nothing to go back through.",
        why="a Python number or an array has no grad_fn: what is computed from it is cut off from every parameter.",
        mend="keep the tensors, without {taken:list}: {mends:list}; and torch's own functions for {numeric:list}.",
    ),
    (Cause.NOT_A_TENSOR, "empty_sum"): Answer(
        verdict="{loss:begin} is no tensor but the {kind} that it began as: no tensor was added to it.",
        why="{code} never ran, or added numbers only.",
        mend="let the loop, or the condition around {code}, run at least once; call backward only where it did: {guarded}.",
    ),
    (Cause.NOT_A_TENSOR, "summed_numbers"): Answer(
        verdict="{loss:begin} is no tensor but the {kind} that it began as: no tensor was added to it.",
        why="{code} never ran, or added the number that is written in {returned:few}, where there was nothing to compute a loss of.",
        mend="{guarded}. Such a batch has no gradient.",
    ),
    (Cause.NOT_A_TENSOR, "decided"): Answer(
        verdict="{loss:begin} is no tensor but a {kind}: {code:few} made it of Python numbers alone.",
        why="what the model returned only decides there which number it is ({decided:list}), and a decision has no derivative.",
        mend="let the loss be a smooth function of what the model returned, in torch: torch.sigmoid(…) of what is compared in the place of the decision, and torch's own functions of that.",
    ),
    (Cause.NOT_A_TENSOR, "of_numbers"): Answer(
        verdict="{loss:begin} is no tensor but a {kind}: {code:few} made it of Python numbers alone.",
        why="no tensor has a part in it, so there is nothing to go back through.",
        mend="let the loss be computed in torch, of what the model returned; where there is none, call no backward.",
    ),
    (Cause.NOT_A_TENSOR, "other"): Answer(
        verdict="{loss:begin} is no tensor but a {kind}, and only a tensor has backward().",
        why="backward goes back through the grad_fn of a tensor.",
        mend="let the loss be a tensor: computed by torch's functions from what the model returned.",
    ),
    (Cause.NOT_A_TENSOR, "losses"): Answer(
        verdict="{loss} is a {kind} of losses, and only a tensor has backward().",
        why="the gradients of several losses are those of their sum.",
        mend="{mend}.",
    ),
    (Cause.NOT_A_TENSOR, "among"): Answer(
        verdict="{loss} is a {kind}, and the loss is one of its parts.",
        why="only a tensor has backward().",
        mend="{mend}; or give each part its name where it is bound.",
    ),
    (Cause.NOT_A_TENSOR, "total"): Answer(
        verdict="{loss} is a {kind}: the loss, and terms of it.",
        why="only a tensor has backward(), and the terms are in the loss already.",
        mend="{mend}; or give each part its name where it is bound.",
    ),
    (Cause.NOT_A_TENSOR, "many"): Answer(
        verdict="{loss} is a {kind}, and only a tensor has backward().",
        why="none of its parts, or more than one, is a single number that is tracked.",
        mend="take the one tensor that is to be made small out of it, or reduce its parts to one number first.",
    ),
    (Cause.NOT_A_TENSOR, "module"): Answer(
        verdict="{loss} is the {kind} itself, which computes losses; what has backward() is the tensor that it returns.",
        why="a module is called with the output and the target, and gives the loss back.",
        mend="loss = {loss}(output, target), then loss.backward().",
    ),
    (Cause.NOT_A_TENSOR, "module_made"): Answer(
        verdict="{made} makes a {kind}, and does not call it: {loss} is the layer itself, and not the loss that it returns.",
        why="the class takes the settings, and the layer that it makes the output and the target.",
        mend="criterion = {function} once, before the loop; then {loss} = {given}.",
    ),
    (Cause.NOT_A_TENSOR, "nothing_returned"): Answer(
        verdict="{code} got None: the function that it calls returns nothing.",
        why="a Python function without a return of a value gives None, whatever it computed.",
        mend="return what it computed, at the end of {function}.",
    ),
    (Cause.NOT_A_TENSOR, "nothing_method"): Answer(
        verdict="{code} got None: that call works on what it is called on, and gives nothing back.",
        why="backward(), step(), zero_grad() and append() return None.",
        mend="make two statements of it: the value first, as in loss = …; then loss.backward().",
    ),
    # calls of torch's own
    (Cause.NOT_A_PARAMETER, "one_tensor"): Answer(
        verdict="The optimizer was given one tensor, {given}, where it takes a list of parameters.",
        why="it goes through what it is given, and the items of a tensor are results, no leaves.",
        mend="[{given}] in the place of {given}.",
    ),
    (Cause.NOT_A_PARAMETER, "module_handed"): Answer(
        verdict="The optimizer was given {given}, where it takes parameters.",
        why="a module, or a method that was not called, gives no parameters.",
        mend="{wanted} in the place of {given}.",
    ),
    (Cause.NOT_A_PARAMETER, "no_tensors"): Answer(
        verdict="The optimizer was given a list that holds something else than parameters: {kind}.",
        why="what parameters() gives is a generator: in a list it has to be opened by a star.",
        mend="{wanted} in its place; or one dict of params for each group.",
    ),
    (Cause.MISUSED, "held_twice"): Answer(
        verdict="The optimizer was given a parameter twice, in two of its groups.",
        why="each parameter has the settings of one group.",
        mend="leave what has one group of its own out of the others: [p for name, p in net.named_parameters() if not name.startswith('…')].",
    ),
    (Cause.MISUSED, "state_of_others"): Answer(
        verdict="The saved state is that of an optimizer of other parameters than this one has.",
        why="such a state tells its parameters by their order, group by group: it fits an optimizer that was given as many.",
        mend="leave {code} out: the optimizer begins anew. If it is to go on as it was saved: give it the parameters that it had then, in that order.",
    ),
    (Cause.MISUSED, "state_of_other_groups"): Answer(
        verdict="The saved state is that of an optimizer with {saved} parameters in its groups, and {optimizer} has {has} in its own.",
        why="such a state tells its parameters by their order, group by group: it fits an optimizer that was given as many.",
        mend="make {optimizer} as it was made when it was saved: as many groups, of the same parameters, in that order; else leave {code} out, and it begins anew.",
    ),
    (Cause.MISUSED, "gradients_of_half"): Answer(
        verdict="The parameters of {optimizer} are float16, so their gradients are, and {scaler} unscales float32 alone.",
        why="autocast takes float16 where that is enough; parameters, and the steps that move them, stay float32.",
        mend="leave {made:list} out, and give the model float32: autocast casts what it is given.",
    ),
    (Cause.MISUSED, "gradients_of_half_unseen"): Answer(
        verdict="The parameters of {optimizer} are float16, so their gradients are, and {scaler} unscales float32 alone.",
        why="autocast takes float16 where that is enough; parameters, and the steps that move them, stay float32.",
        mend="float() on the model before the optimizer is made: autocast casts what it is given.",
    ),
    (Cause.MISUSED, "hook_not_run"): Answer(
        verdict="{owner} has no '{key}': only a backward hook fills it, and none ran, as nothing that {key} gives requires grad.",
        why="its parameters are frozen and its input does not require grad, so no gradient comes to it, also where a layer behind it learns.",
        mend="requires_grad_() on the input of the model, before the forward: gradients come through frozen layers then, and their parameters stay as they are.",
    ),
    (Cause.MISUSED, "elements_shared"): Answer(
        verdict="{writes:list} {n:writes|write} in place into {names:list}, of which several elements are one place in memory.",
        why="{makers:list} expanded {n:it|them}: that repeats elements without copying them, and what is written to one of them is written to all.",
        mend="clone() what was expanded there, so that each element gets memory of its own, and write into that.",
    ),
    (Cause.MISUSED, "index_kept"): Answer(
        verdict="{kept} holds the indices of an earlier input: {data} is {shape} here, and was {before} where the same indices were taken.",
        why="{keeper} keeps them, and they are not made for the input that is there now.",
        mend="compute {kept} anew for each input, as with its cache switched off.",
    ),
    (Cause.MISUSED, "checked_in_float32"): Answer(
        verdict="gradcheck was given float32: the small differences that it takes are mostly rounding there.",
        why="it compares backward with differences of 1e-6, and no backward of the program's own has a part in it.",
        mend="double() on what is checked, the layers and the targets included: in float64 the differences are fine enough.",
    ),
    (Cause.MISUSED, "parallel_of_frozen"): Answer(
        verdict="All parameters of {module} are frozen, and DistributedDataParallel has nothing to do for it.",
        why="it sums the gradients of the processes, and a frozen module gets none; it is the same in each process without that.",
        mend="leave {module} as it is, without {call}; if it is to learn, requires_grad_() before that.",
    ),
    (Cause.MISUSED, "saved_as_one"): Answer(
        verdict="{name} is no tensor but the tuple of all that was saved, of {n} {n:tensor|tensors}.",
        why="ctx.saved_tensors is a tuple, also of a single tensor.",
        mend="{anew} in the place of that: a name for each of them.",
    ),
    (Cause.MISUSED, "nothing_to_unscale_frozen"): Answer(
        verdict="All parameters of {optimizer} are frozen, so none has a gradient that {scaler} could look at.",
        why="{step} looks for inf in the gradients of {optimizer} first, and there is none.",
        mend="requires_grad_() on what is to learn, before the forward; if nothing of it is: leave {step} out.",
    ),
    (Cause.MISUSED, "nothing_to_unscale_cleared"): Answer(
        verdict="{clear:begin} cleared the gradients of {optimizer} between the backward and {step}.",
        why="{step} looks for inf in the gradients of {optimizer} first, and there is none any more.",
        mend="move {clear} before the backward, or behind {step}.",
    ),
    (Cause.MISUSED, "nothing_to_unscale_read"): Answer(
        verdict="No parameter of {optimizer} has a gradient here: {reader} computed with them while gradients were off.",
        why="{step} looks for inf in the gradients of {optimizer} first, and there is none.",
        mend="if that is meant: if any(p.grad is not None for group in {optimizer}.param_groups for p in group['params']): {step}; if they are to learn there, {reader} with gradients on.",
    ),
    (Cause.MISUSED, "nothing_to_unscale"): Answer(
        verdict="No parameter of {optimizer} has a gradient here: no backward since the last step or clear reached one.",
        why="{step} looks for inf in the gradients of {optimizer} first, and there is none.",
        mend="if the loss has no part in them there: if any(p.grad is not None for group in {optimizer}.param_groups for p in group['params']): {step}; if they are to learn, the loss has to be computed with them.",
    ),
    (Cause.MISUSED, "state_of_other_shapes"): Answer(
        verdict="{optimizer} has, for a parameter of shape {shape}, a state of shape {kept}: that of another model.",
        why="such a state tells its parameters by their order alone; their shapes are compared with it in the step only.",
        mend="leave {load} out: the optimizer begins anew.",
    ),
    (Cause.MISUSED, "closure_without_loss"): Answer(
        verdict="{closure} computes the loss for a step of LBFGS, and does not return it.",
        why="LBFGS takes the number that the function returns, and got None.",
        mend="return {loss} as its last line.",
    ),
    (Cause.MISUSED, "begun_in_the_middle"): Answer(
        verdict="A schedule with last_epoch={given}, which is not -1, goes on in the middle, and {optimizer} is new.",
        why="it reads initial_lr from the groups of {optimizer}: the first schedule writes that there, and so does a saved state that is loaded.",
        mend="{anew} in the place of {call}: it begins anew. Where training goes on: {load} above it, with the saved state.",
    ),
    (Cause.MISUSED, "settings_of_another"): Answer(
        verdict="{settings} holds more than {kind} takes: {refused:list}.",
        why="its constructor knows no other names; a group of an optimizer holds what a schedule wrote there, too.",
        mend="{mends:list} right above {code}.",
    ),
    (Cause.MISUSED, "without_setting"): Answer(
        verdict="{kind} takes no {name}.",
        why="its constructor has no argument of that name in the torch that runs here.",
        mend="{anew} in the place of {call}.",
    ),
    (Cause.MISUSED, "schedule_over"): Answer(
        verdict="{schedule} was made for {total} steps, and was to make one more.",
        why="it knows from the start how the rate goes over all of them, and ends there.",
        mend="give it as many as there are calls of {schedule}.step(): total_steps, or epochs and steps_per_epoch=len(loader).",
    ),
    (Cause.MISUSED, "nothing_watched"): Answer(
        verdict="{schedule} lowers the rate when a number stops falling, and was given none.",
        why="ReduceLROnPlateau compares what step() is given with the best so far.",
        mend="{schedule}.step(…) with the number that it is to watch, as the loss of the validation.",
    ),
    (Cause.MISUSED, "prefixed"): Answer(
        verdict="All names in {state} begin with {prefix}, and those of the model do not.",
        why="the state was saved from a model that held this one under that name (DataParallel: module).",
        mend="{anew} in the place of {call}.",
    ),
    (Cause.MISUSED, "without_prefix"): Answer(
        verdict="All names of the model begin with {prefix}, and those in {state} do not.",
        why="the state was saved from what this model holds under that name.",
        mend="{anew} in the place of {call}.",
    ),
    (Cause.MISUSED, "one_column_more"): Answer(
        verdict="{target:begin} has the shape {target_shape}, and the scores {shape}: a dimension of size 1 is on one side only.",
        why="each number of one is compared with the number in the same place of the other.",
        mend="{anew} in the place of {target} in {code}.",
    ),
    (Cause.MISUSED, "classes_in_a_column"): Answer(
        verdict="{target:begin} has the shape {shape}, where the loss takes classes without a dimension of their own.",
        why="the dimension of the classes stands in the scores; in the target each class is the place of its score.",
        mend="{anew} in the place of {target} in {code}.",
    ),
    (Cause.MISUSED, "whole_probabilities"): Answer(
        verdict="{target:begin} has a number for each class ({shape}), which the loss takes for probabilities, and is {dtype}.",
        why="probabilities are not whole numbers.",
        mend="{anew} in the place of {target} in {code}; or hand in the place of each class, without one_hot.",
    ),
    (Cause.MISUSED, "one_class_as_a_row"): Answer(
        verdict="{target:begin} is the class of one sample as a row of {n} numbers, one 1 and else 0, as whole numbers.",
        why="for one sample of {n} scores the loss takes the number of its class; a number for each class it takes for probabilities, which are not whole.",
        mend="{target}.argmax() in the place of {target} in {code}, or that number itself, without the row; or {target}.float(), as probabilities.",
    ),
    (Cause.MISUSED, "tensor_of_rows"): Answer(
        verdict="{call} takes numbers, and {given} holds tensors of several.",
        why="a tensor that is made from numbers has no history, either: no gradient would go back to {given}.",
        mend="{anew} in the place of {call}: one tensor, and the history stays.",
    ),
    (Cause.MISUSED, "closure"): Answer(
        verdict="This optimizer computes the loss several times in one step, so step() has to be given a function that does.",
        why="LBFGS searches along a line, and needs the loss and its gradient anew at each point.",
        mend="def closure(): zero_grad(), compute the loss, backward(), return the loss; then step(closure).",
    ),
    (Cause.MISUSED, "unscaled"): Answer(
        verdict="{scaler} was to step, and has never scaled a loss.",
        why="backward was called on the loss as it is, so its gradients are not scaled.",
        mend="{scaler}.scale({loss}).backward() in the place of {loss}.backward().",
    ),
    (Cause.MISUSED, "scaler_unstepped"): Answer(
        verdict="{scaler} was to update, and has not stepped: {step} steps without it.",
        why="{scaler}.step() divides the gradients by the scale and looks for infinities; {step} takes them as they are, {scaler}'s scale times too large.",
        mend="{scaler}.step({optimizer}) in the place of {step}.",
    ),
    (Cause.MISUSED, "unscaled_twice"): Answer(
        verdict="unscale_() was called twice for this optimizer before update().",
        why="the second one would divide the gradients by the scale again.",
        mend="once in each iteration, after the last backward and before clipping; then step() and update().",
    ),
    (Cause.MISUSED, "no_super"): Answer(
        verdict="A module was given a part before nn.Module was set up.",
        why="nn.Module.__init__ makes the places where parameters and layers are kept.",
        mend="super().__init__() as the first line of __init__.",
    ),
    (Cause.MISUSED, "loss_made"): Answer(
        verdict="{made} is a class: it was given the tensors where it takes its settings.",
        why="nn.{made}(…) makes the layer; the layer is called with output and target.",
        mend="{wanted}.",
    ),
    (Cause.MISUSED, "grad_fn_of_a_leaf"): Answer(
        verdict="{tensor} is a leaf: nothing computed it, so its grad_fn is None.",
        why="the history of a result begins at its grad_fn; a leaf stands at the end of it.",
        mend="ask for the grad_fn of what is computed from {tensor}, as of the loss.",
    ),
    (Cause.MISUSED, "out"): Answer(
        verdict="{function}() was to write its result into out=, and one of its inputs requires grad.",
        why="autograd records new results only.",
        mend="{wanted}; or all of it under torch.no_grad(), where no gradient is wanted.",
    ),
    (Cause.MISUSED, "input_not_flat"): Answer(
        verdict="{layer} takes {wanted} numbers of each sample in one dimension, and {given} has the shape {shape}.",
        why="a linear layer goes along the last dimension only.",
        mend="{anew} in the place of {given} in {code}.",
    ),
    (Cause.MISUSED, "rows_of_other_size"): Answer(
        verdict="{code:begin} asks for rows of {wanted} numbers, and each sample of {given} has {own}.",
        why="{given} has the shape {shape}. A number that holds the size of a batch, or is that of other pictures, does not fit one sample.",
        mend="{mends:list}.",
    ),
    (Cause.MISUSED, "rows_of_other_count"): Answer(
        verdict="{code:begin} asks for {rows} samples, and {given} has {samples}.",
        why="the size of a batch is written there, and a batch can have another one: the last one of a loader has what is left.",
        mend="{anew} in the place of {call}: as many as there are.",
    ),
    (Cause.MISUSED, "layer_of_other_size"): Answer(
        verdict="{layer} was made for {wanted} inputs, and it is given {got} here.",
        why="the number of inputs follows from what comes before it: size of the data, layers, flatten.",
        mend="{anew} for {layer}, where it is made.",
    ),
    (Cause.MISUSED, "batch_not_first"): Answer(
        verdict="{layer} takes the batch for the second dimension, and {given} has it as the first.",
        why="without batch_first=True the first dimension is the time; the state {state} has {got} samples.",
        mend="batch_first=True for {layer}, where it is made.",
    ),
    (Cause.MISUSED, "state_of_other_batch"): Answer(
        verdict="{state:begin} is the state of a batch of {got} samples, and this batch has {wanted}.",
        why="a recurrent layer goes on with one state for each sample; the last batch of a loader may be smaller.",
        mend="drop_last=True for the DataLoader; or None in the place of {state} where the batch has another size.",
    ),
    (Cause.MISUSED, "classes_from_one"): Answer(
        verdict="{target:begin} goes up to {highest}, and {scores} has {classes} classes, which are counted from 0.",
        why="a class is the place of its score, and the first has the place 0; the lowest of these is 1 or more.",
        mend="{shifted} in the place of {target} in {code}, if the classes are counted from 1.",
    ),
    (Cause.MISUSED, "classes_below_zero"): Answer(
        verdict="{target:begin} has classes below 0 (from {lowest} to {highest}), and a class is the place of its score.",
        why="the first of the {classes} classes of {scores} has the place 0.",
        mend="{shifted} in the place of {target} in {code}; if {lowest} marks what has no class: ignore_index={lowest} for the loss instead.",
    ),
    (Cause.MISUSED, "too_many_classes"): Answer(
        verdict="{target:begin} goes up to {highest}, and {scores} has {classes} classes, which are counted from 0.",
        why="a class is the place of its score.",
        mend="{needed} outputs, or more, for the layer that makes {scores}.",
    ),
    (Cause.MISUSED, "wrapped_elsewhere"): Answer(
        verdict="The names in {state} are those of the model, but for where {prefix} stands in them.",
        why="DataParallel puts it before the names of the part that it wraps, and another part was wrapped when the state was saved.",
        mend="{anew} in the place of {call}; or wrap the same part in both.",
    ),
    (Cause.MISUSED, "not_only_tensors"): Answer(
        verdict="The file holds a {held}, and torch.load takes tensors, numbers and plain containers alone.",
        why="anything else that is loaded could run code, so weights_only=True, which is the default, refuses it.",
        mend="{anew} in the place of {call}, if the file is your own; or save plain numbers and tensors: float(…), torch.tensor(…).",
    ),
    (Cause.MISUSED, "misspelt"): Answer(
        verdict="{owner} has no {attribute}: torch calls it {wanted}.",
        mend="{anew} in the place of {given}.",
    ),
    (Cause.MISUSED, "outputs_of_other_count"): Answer(
        verdict="{first:begin} has {one} numbers for each sample and {second} has {two}: {layer} gives so many.",
        why="shapes {shape} and {other} do not fit element by element: only a 1 fits any size.",
        mend="{one} outputs for {layer}, where it is made; or {two} numbers for each sample in {first}.",
    ),
    (Cause.MISUSED, "not_of_the_distribution"): Answer(
        verdict="{given:begin} has the shape {shape}, and the distribution is one of the shape {other}.",
        why="{name} takes a value for each place of the distribution: sizes are put side by side from the last one, and have to be the same, or 1.",
        mend="give both the same shape, in the lines that make them.",
    ),
    (Cause.MISUSED, "samples_folded"): Answer(
        verdict="{reshape:begin} makes {rows} rows of {samples} samples: it takes {width} numbers for one, and each sample has {numbers} there.",
        why="what it reshapes has the shape {shape}; the first dimension, of the samples, has to stay.",
        mend="{anew} in its place, and {numbers} inputs for the linear layer after it, where that is made.",
    ),
    (Cause.MISUSED, "positions_as_samples"): Answer(
        verdict="{reshape:begin} makes {rows} rows of {samples} samples: each position of a sample counts as a sample of its own.",
        why="what it reshapes has the shape {shape}, and the target has one value for each sample.",
        mend="one row for each sample, without that reshape: the last position ([:, -1]), or the mean over all (.mean(1)); or a target for each position, flattened alike.",
    ),
    (Cause.MISUSED, "made_for_other_batch"): Answer(
        verdict="{made:begin} is made for {size} samples, and this batch has {samples}.",
        why="the last batch of a loader may be smaller, and {code} does not ask how large the batch is.",
        mend="{wanted} for its first size, in each iteration; or drop_last=True for the DataLoader.",
    ),
    (Cause.MISUSED, "made_for_other_count"): Answer(
        verdict="{made:begin} is made for {size} samples, and this batch has {samples}.",
        why="{code} does not ask how large the batch is.",
        mend="{wanted} for its first size, in each iteration.",
    ),
    (Cause.MISUSED, "pixels_for_probabilities"): Answer(
        verdict="{target:begin} has values from {low} to {high}, and the loss takes targets from 0 to 1.",
        why="these are the whole numbers of an image, as it is stored.",
        mend="{anew} in the place of {target}, for what the model is given, too.",
    ),
    (Cause.MISUSED, "targets_beyond"): Answer(
        verdict="{target:begin} has values from {low} to {high}, and the loss takes targets from 0 to 1.",
        why="it is one of probabilities: a target is the probability of a 1.",
        mend="move the values of {target} to lie between 0 and 1, where they are made; or a loss that takes any values, as mse_loss.",
    ),
    (Cause.MISUSED, "dimension_missing"): Answer(
        verdict="{first:begin} has the shape {shape} and {second} has {other}: they do not fit element by element.",
        why="dimensions are put side by side from the last one, and a dimension that is missing is added in front.",
        mend="{anew} in the place of {given} in {code}: of shape {then}, it goes with {other}.",
    ),
    (Cause.MISUSED, "dimension_missing_somewhere"): Answer(
        verdict="{first:begin} has the shape {shape} and {second} has {other}: they do not fit element by element.",
        why="dimensions are put side by side from the last one, and a dimension that is missing is added in front.",
        mend="one more dimension of size 1 for {given} in {code}, where it is meant: {fitting:list} both fit {other}.",
    ),
    (Cause.MISUSED, "not_alike"): Answer(
        verdict="{first:begin} has the shape {shape} and {second} has {other}: they do not fit element by element.",
        why="dimensions are put side by side from the last one; dimension {dimension} has {one} against {two}, and only a 1 fits any size.",
        mend="give both the same size there, in the lines that make them.",
    ),
    (Cause.MISUSED, "laid_out_otherwise"): Answer(
        verdict="{first:begin} has the shape {shape} and {second} has {other}: as many numbers for each sample, laid out otherwise.",
        why="dimensions are put side by side from the last one; dimension {dimension} has {one} against {two}.",
        mend="{anew} in the place of {given} in {code}.",
    ),
    (Cause.MISUSED, "scores_for_probabilities"): Answer(
        verdict="{loss} takes probabilities, and {scores} has values below 0 or above 1.",
        why="the last layer gives scores; what makes probabilities of them is a sigmoid.",
        mend="{wanted} in the place of {loss}: it takes scores, and has the sigmoid in it.",
    ),
    (Cause.MISUSED, "tanh_for_probabilities"): Answer(
        verdict="{loss} takes probabilities, and {scores} comes out of a tanh, with values down to -1.",
        why="what gives values between 0 and 1 is a sigmoid.",
        mend="a sigmoid in the place of that tanh.",
    ),
    (Cause.MISUSED, "scale_not_positive"): Answer(
        verdict="{parameter} of {kind} has to be above 0, and {given} is not for all of its values.",
        why="what a layer gives, or a step moves, may be of either sign.",
        mend="{anew} in the place of {given} in {code}.",
    ),
    (Cause.MISUSED, "scores_for_a_distribution"): Answer(
        verdict="{parameter} of {kind} has to be probabilities, and {given} holds other values.",
        why="what a layer gives are scores of either sign; {kind} takes these as logits.",
        mend="{anew} in {code}.",
    ),
    (Cause.CUSTOM_BACKWARD, "instance"): Answer(
        verdict="{function} is a Function of the old kind: its forward is no static method, and an instance was called.",
        why="autograd calls forward and backward of the class, with ctx in the place of self.",
        mend="@staticmethod above both, ctx for self, and {wanted} in the place of that call.",
    ),
    (Cause.CUSTOM_BACKWARD, "kept_by_instance"): Answer(
        verdict="{function} keeps {attribute} on an instance, and autograd makes a context of its own for each call, which knows nothing of that instance.",
        why="apply belongs to the class: forward and backward get this context in the place of self.",
        mend="{wanted} in the place of {applied}, @staticmethod above both, {given} as one more argument of forward, ctx.{attribute} = {given} in it, and ctx for self; backward returns one more None.",
    ),
    (Cause.CUSTOM_BACKWARD, "not_kept"): Answer(
        verdict="{function}.backward() reads {attribute} of its context, and forward did not set it.",
        why="the context of a call holds only what forward has put there.",
        mend="ctx.{attribute} = … in forward, before it returns; tensors by ctx.save_for_backward(…).",
    ),
    (Cause.CUSTOM_BACKWARD, "saved_others_named"): SAVED_OTHERS._replace(
        mend="{wanted} in the place of {saved}: as backward takes them, in its order.",
    ),
    (Cause.CUSTOM_BACKWARD, "saved_others"): SAVED_OTHERS._replace(
        mend="save there what backward takes, in its order: tensors alone; other values are kept as attributes of ctx.",
    ),
    (Cause.CUSTOM_BACKWARD, "unsaved_named"): SAVED_NOTHING._replace(
        mend="{wanted} in {method}, right above {place}.",
    ),
    (Cause.CUSTOM_BACKWARD, "unsaved"): SAVED_NOTHING._replace(
        mend="ctx.save_for_backward(…) in {method}, with the tensors that backward takes, in its order; other values are kept as attributes of ctx.",
    ),
    (Cause.CUSTOM_BACKWARD, "missing"): Answer(
        verdict="{function} has no backward, and a gradient came to what it returned.",
        why="autograd does not look into forward: only backward says what the gradient is.",
        mend="@staticmethod def backward(ctx, grad_output): in {function}, returning one gradient for each argument of forward; or compute it by plain torch functions instead.",
    ),
    (Cause.CUSTOM_BACKWARD, "saved"): Answer(
        verdict="save_for_backward was given {value}, a {kind}, and takes tensors only.",
        why="other values are kept as attributes of ctx.",
        mend="ctx.{name} = {value} in forward, and ctx.{name} in backward.",
    ),
    (Cause.CUSTOM_BACKWARD, "once"): Answer(
        verdict="A second derivative goes through a backward that is marked once_differentiable.",
        why="the mark says that this backward is not recorded, so it has no derivative of its own.",
        mend="leave @once_differentiable out, if that backward is made of torch's functions of saved inputs; else take the first derivative only.",
    ),
    (Cause.CUSTOM_BACKWARD, "gradcheck"): Answer(
        verdict="The gradient that backward gives is not the one that the numbers show: its formula is not that of forward.",
        why="gradcheck compares backward with small differences of forward.",
        mend="correct the formula in backward; with inputs in float32 the differences are too coarse: double() them.",
    ),
    (Cause.CHECKPOINT_DIFFERS, "recomputed"): Answer(
        verdict="The checkpoint's function did something else when it ran again for backward.",
        why="a checkpoint throws away what forward saved, and runs it once more; both runs have to save the same tensors.",
        mend="let the function do the same each time: no branch on a counter or a state that it changes itself, no random choice outside of torch; or take that part out of the checkpoint.",
    ),
    (Cause.CHECKPOINT_DIFFERS, "reentrant"): Answer(
        verdict="autograd.grad() and backward(inputs=…) cannot go through a reentrant checkpoint.",
        why="it starts a backward of its own inside, which fills .grad of all that it meets.",
        mend="use_reentrant=False in that checkpoint.",
    ),
    (Cause.CHECKPOINT_DIFFERS, "reentrant_in_parallel"): Answer(
        verdict="A reentrant checkpoint runs in a DistributedDataParallel that looks for unused parameters.",
        why="it does not see into the checkpoint, and counts the parameters there as unused, so as ready; then the checkpoint's own backward makes them ready once more.",
        mend="use_reentrant=False in that checkpoint; or find_unused_parameters=False, where all are used.",
    ),
    (Cause.IN_TRANSFORM, "backward"): Answer(
        verdict="backward() was called in a function that torch.func transforms.",
        why="torch.func.grad gives the gradient as a result; .grad is never filled there.",
        mend="leave that line out: let the function return the loss, and torch.func.grad differentiate it.",
    ),
    (Cause.IN_TRANSFORM, "requires_grad"): Answer(
        verdict="requires_grad_() was called in a function that torch.func transforms.",
        why="what the function is differentiated by are its arguments (argnums), whatever they require.",
        mend="leave that line out, without requires_grad_(); hand the tensor in as an argument, if its gradient is wanted.",
    ),
    (Cause.IN_TRANSFORM, "differentiated"): Answer(
        verdict="{name} was called in a function that vmap runs for all samples at once.",
        why="the tensors that vmap hands in have no history which autograd can go back through.",
        mend="let the function take the weights and return the loss, with torch.func.functional_call(model, params, (x,)) in it, and torch.func.grad differentiate it: vmap(grad(f), in_dims=(None, 0))(params, x).",
    ),
    (Cause.IN_TRANSFORM, "checkpointed"): Answer(
        verdict="A checkpoint runs in a function that torch.func differentiates.",
        why="it works by hooks on saved tensors, and a transform takes none of these.",
        mend="{anew} in the place of {call}.",
    ),
    (Cause.IN_TRANSFORM, "one_sample"): Answer(
        verdict="{given:begin} is one sample here, of shape {shape}: vmap takes the dimension of the samples away.",
        why="the function runs as if for each sample alone, and {code} takes it for a batch.",
        mend="unsqueeze(0) on the sample where the function hands it to the model: a batch of one; or no dimension of a batch in {code}.",
    ),
    (Cause.IN_TRANSFORM, "decided"): Answer(
        verdict="{code:begin} chooses by the value of a tensor, in a function that vmap runs for all samples at once.",
        why="the samples have different values, and the function runs once: it can go one way only.",
        mend="torch.where(condition, one, other) in the place of the choice: both are computed, and each sample takes its own.",
    ),
    (Cause.IN_TRANSFORM, "read"): Answer(
        verdict="{code:begin} asks a tensor for its number, in a function that vmap runs for all samples at once.",
        why="the tensor stands for as many numbers as there are samples.",
        mend="leave the number out and go on with the tensor; what is to be seen of it, let the function return.",
    ),
    (Cause.IN_TRANSFORM, "random"): Answer(
        verdict="Random numbers, as of dropout, are drawn in a function that vmap runs for all samples at once.",
        why="{call} does not say whether each sample is to have its own.",
        mend="{anew} in the place of {call}: each has its own; randomness='same': all have the same.",
    ),
    (Cause.IN_TRANSFORM, "running_statistics"): Answer(
        verdict="A batch norm that trains writes its running statistics, in a function that torch.func transforms.",
        why="there is one running_mean for all: the samples of vmap would each write their own, and grad lets nothing be written that stands outside of the function.",
        mend="eval() on the model before that, where its running statistics are to hold; or a norm of each sample (nn.GroupNorm) in its place.",
    ),
    (Cause.IN_TRANSFORM, "more_returned"): Answer(
        verdict="The function that is differentiated has to return its loss alone, and returned a tuple.",
        why="what else it returns is handed on where {call} is told so.",
        mend="{anew} in the place of {call}, and the function returns (loss, rest): the result is {result} then.",
    ),
    (Cause.NOT_SCALAR, "transformed"): Answer(
        verdict="The function that is differentiated has to return one number, and returned more.",
        why="for a single number the gradient to start with is 1; for more it is not defined.",
        mend=".sum() or .mean() of what it returns; or torch.func.jacrev for all its derivatives.",
    ),
    (Cause.NOT_SCALAR, "complex"): Answer(
        verdict="Backward needs one real number to start from, and {name} is complex.",
        why="only a real number can be made smaller.",
        mend="make it real first: {it}.abs(), or {it}.real.",
    ),
    (Cause.GRADIENT_SHAPE, "plain_number"): Answer(
        verdict="Backward was given the number {given}, where it takes a tensor.",
        why="it holds one number for each element of the output.",
        mend="torch.ones_like({loss}) in the place of {given}; or none, if {loss} is one number.",
    ),
    (Cause.GRADIENT_SHAPE, "assigned"): Answer(
        verdict="{name}.grad was to become a tensor that does not fit {name}.",
        why="a gradient has the shape, dtype and device of its tensor.",
        mend="make it alike: torch.zeros_like({name}), or reshape what is assigned; None clears it.",
    ),
    (Cause.NO_DERIVATIVE, "not_written"): Answer(
        verdict="torch knows no derivative of {function}.",
        why="the forward ran, and no backward is written for that call: no derivative can go through it.",
        mend="compute it by other functions, or detach() its input where no gradient is wanted through it; else write a torch.autograd.Function.",
    ),
    (Cause.HOOK_REFUSED, "count"): Answer(
        verdict="The backward hook {hook} returned {got}, where {expected} gradients are to be replaced.",
        why="what it returns takes the place of {given}, the gradients of the inputs; there are {expected} of these.",
        mend="return one value for each of {given}, None where that is None: tuple(None if g is None else … for g in {given}); or return nothing, which leaves them as they are.",
    ),
    (Cause.HOOK_REFUSED, "non_leaf"): Answer(
        verdict="A hook that runs after accumulation can stand at a leaf only.",
        why="a result accumulates no .grad.",
        mend="register_hook there, which is given the gradient as it passes.",
    ),
    # {error} is torch's own text, or another library's
    (Cause.NOT_KNOWN, "elsewhere"): Answer(
        verdict="{error}",
        why="this is none of autograd's errors: the line itself raised it, and no gradient has a part in it.",
    ),
    (Cause.NOT_KNOWN, "stopped"): Answer(
        verdict="The program was stopped while this line ran ({error}): that is no fault of it.",
        why="a backward that is stopped leaves gradients in some of its leaves only; what ran before it is whole.",
    ),
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
    or (cause is Cause.NOT_SCALAR and form in ("loss", "read_since", "differentiated"))
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
    # what to write instead
    "parameters_but": "[p for name, p in {model}.named_parameters() if not name.startswith('{path}.')]",
    "below_block": "as behind what line {line} switches off",
    "before_training": "before the training goes on",
    "switch_on": "torch.set_grad_enabled(True) again, once what line {line} was meant for is over; with torch.no_grad(): around that alone ends by itself.",
    "enabled_around": "with torch.enable_grad(): around {code}: what is differentiated there is computed there, too; the rest may stay without a graph.",
    "decorator_out": "leave {decorator} in line {line} out: what that function computes is to be learned through.",
    "anew": "{anew} in the place of {code}.",
    "copied_leaf": "{copy} = {name}.clone() above {code}, and {copy} in the place of {name} from there on: a copy can be written, and stays connected.",
    "loop_at": "the loop in {place}",
    "loss_anew": "compute the loss anew after {step}, by a forward of its own.",
    "lines_again": "{lines:list} once more above {second}: so the loss is computed with the new weights.",
    "clone_above": "{name} = {name}.clone() above {code}.",
    "below_it": "{codes:list} below {place}: {codes:a view that is made alone|views that are made alone} can be written.",
    "anew_unknown": "compute a new tensor there (y = y * 2 for y *= 2).",
    "anew_by_module": "inplace=False there.",
    "write_anew": "{anew} in the place of {code}: a new tensor, and the saved one stays as it was.",
    "write_own": "write into a clone: .clone() around what {code} computes, before it is written.",
    "write_own_item": "write into a clone: .clone() behind what {code} computes.",
    "write_input": "{copied} in {n:|each of }{codes:few}: what is saved is a copy then, and the write does not touch it.",
    # of one of several that a call was given
    "write_inputs": "{copied:list} in {code}: what is saved is a copy then, and the write does not touch it.",
    "write_inputs_short": "{copied:list} in {place}",
    "write_input_short": "{copied} in {places:list}",
    "copy_above_short": "{name} = {name}.clone() above {place}",
    "in_line": "{anew} in {place}",
    "instead": "{anew} in the place of {code}",
    # what would raise next for the same reason, mended likewise
    "likewise": "With that alone the next of these raises, so likewise: {others:list}.",
    "copied_view": "{anew} in the place of {code}: what is saved is a copy then, and the write does not touch it.",
    "write_collected": "collect the parts in a list and torch.stack() them, in the place of a tensor that is written item by item.",
    "copy_above": "{name} = {name}.clone() above {code}: what was saved stays as it was.",
    # a list that nothing empties
    "list_cleared": "{clears:list} right after {second}: each iteration begins with an empty list.",
    "list_cleared_elsewhere": "{clears:list} after each backward: each iteration begins with an empty list.",
    "list_of_inputs": "To learn from old ones again: keep in {list} what they were computed from, and compute them anew in each iteration.",
    "list_detached": "If the old ones are to stay, as numbers: {kept} there instead.",
    # what takes the place of a parameter
    "layer_of_tensors": "a layer of your own in the place of {owner}, with register_buffer for what are Parameters there (as in {kinds:list}): a buffer takes a computed tensor.",
    "name_freed": "right above {code}: {anew}. The name is free then, and the gradient goes on through the result.",
    "name_freed_else": "Or, right above {code}: {anew}. The name is free then, and the gradient goes on through the result.",
    "in_the_place_of": "{anew} in the place of {code}",
    "right_above": "right above {code}: {anew}",
    "layer_of_rows": "{anew} for {layer}, where it is made",
    "left_out_there": "leave what is to learn out there",
    # an attribute that keeps a graph
    "kept_detached": "{anew} in the place of {keeper}: the next iteration starts from the value only.",
    "detached_below": "{anew} right below {below}: the next iteration starts from the value only.",
    "detached_of": "detach {name} of the {kind} right below {below}: the next iteration starts from the value only.",
    "forgotten": "If nothing is to come over from one iteration to the next: {anew} at the start of each.",
    "track_above": "{track} right above {reader}",
    "tracked": "{edits:list}.",
    "others_alone": "If {n:it has|they have} no part in what is to be learned: ask for the others alone.",
    "summed": "{it}.sum() in the place of {it} in {code}",
    "start_summed": "{edit}: of numbers that are computed one from each, that is the derivative of each.",
    "sum_first": "{sum} in the place of {first}, before any step, and without {second}.",
    "cleared_above": "Clear the gradients above that line alone.",
    "after_the_step": "If {second} is to come after the step: {anew}",
    "shared_anew": "compute {shared:few} anew after the step, and the second loss from that.",
    "sum_otherwise": "If both can be trained at once: {sum}, before any step.",
    "none_taken": "take it out of {owner} where it is read, as by {owner}.pop(…): nothing with a graph is left there then for {copy}.",
    "none_above": "right above {copy}: for m in {module}.modules(): if torch.is_tensor(getattr(m, '{name}', None)): m.{name} = None.",
    "none_above_all": "right above {copy}: for m in {module}.modules(): for n in [n for n, v in vars(m).items() if torch.is_tensor(v) and v.grad_fn is not None]: setattr(m, n, None); the next forward has to set it again.",
    "none_before": "set it to None before the copy.",
    "value_alone": "If its value is to stay: {anew} in that line.",
    "detached_in": "{value}.detach() in {code}",
    "backward_ends": "{edits:list}: the backward ends there.",
    "step_below": "If these losses are to train that too: {step} below the last of their backwards.",
    "own_call": "{value} in the place of {name} in {code}",
    "copy_of": "a clone() of {name}",
    "frozen_line": "{place} ({names:few})",
    "input_besides": "{name:begin} is cut off too, in {place}: {mend}",
    "input_besides_alike": "The same in {place}, for {name}.",
    "leaf_of_its_own": "Or, where its own gradient is enough: {it}.requires_grad_() before that, and before anything is computed from it.",
    # calls and nodes
    "sum_of_losses": "one backward of the sum of both losses",
    "call": "the call",
    "written": "{code} ({line})",
    "module_call": "{module} ({function})",
    "something": "something",
    "forward": "the forward",
    "node": "a node",
    "some_node": "at least one node",
    # nothing can train, and why
    "no_start": "Nothing can train: {root} has no grad_fn.",
    "no_start_frozen": "Nothing can train: {root} has no grad_fn, and {n:the only parameter is|all # parameters are} frozen.",
    "untracked_checkpoint": "no tensor input asks for gradient, so reentrant checkpoint ran without recording.",
    "copied_outside": "; or {it}.clone() outside of inference_mode",
    "off_once_more": "; {code} (line {line}) switches it off once more",
    "cut_there": "{names:few} {names:requires|require} grad, and the path was cut there: {reasons:few}.",
    "frozen_besides": "Frozen besides: {names:few}.",
    "frozen_there": "frozen there: {names:few}; nothing else behind it requires grad.",
    "cut_before": "Before that, {n:# more call|# more calls} cut it too.",
    "nothing_tracked": "nothing that {root} was computed from requires grad.",
    "nothing_tracked_of": "nothing that {root} was computed from requires grad: {names:few}.",
    "older": "{root} is like this since before the recording; what made it was not recorded.",
    "incomplete": "The recording is not complete: a cut before it is possible.",
    # what was saved and is written
    "saved": "{node} saved {name} for its gradient.",
    "saved_at": "{node} saved {name} for its gradient at version {saved}; it is at version {now} now.",
    "written_besides": "It was written at {n:# more place|# more places}.",
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

# of a training loop: why/rules/training/
TRAINING: dict[tuple[Cause, str], Answer] = {
    (Cause.GRADIENTS_PILE_UP, "between_steps"): Answer(
        verdict="The gradients of {names} pile up: the last step used the sum of {backwards} backwards.",
        why="backward() adds to .grad, and nothing cleared it after the earlier steps, which had used a part of it already.",
        mend="{clear} in each iteration, before {backward} (or right after the step).",
    ),
    # of several micro-batches: before each backward the sum of them would be lost
    (Cause.GRADIENTS_PILE_UP, "between_steps_of_several"): Answer(
        verdict="The gradients of {names} pile up: the last step used the sum of {backwards} backwards.",
        why="backward() adds to .grad, and nothing cleared it after the earlier steps, which had used a part of it already. {of_each} backwards ran since the step before.",
        mend="{clear} right after {step}, and not before each backward: the next step is to use the sum of its own.",
    ),
    # within one step: it calls the closure as often as it likes
    (Cause.GRADIENTS_PILE_UP, "in_a_closure"): Answer(
        verdict="The gradients of {names} pile up: the last step used the sum of {backwards} backwards.",
        why="backward() adds to .grad, and {step} calls {closure} each time that it wants the gradient anew: nothing cleared it in between.",
        mend="{clear} as the first line of {closure}.",
    ),
    # some came from a loss that another optimizer steps for
    (Cause.GRADIENTS_PILE_UP, "values_cleared"): Answer(
        verdict="{codes:list} {codes:sets|set} {names:list} to zeros after each update, and {leaves:the gradient piles|the gradients pile} up.",
        why="what {step} learns is lost there; .grad is what has to be cleared, and the last update used the sum of {backwards} backwards.",
        mend="{grads:list} there, in the place of that.",
    ),
    (Cause.GRADIENTS_PILE_UP, "between_two_losses"): Answer(
        verdict="The gradients of {names} pile up: the last step used the sum of {backwards} backwards.",
        why="backward() adds to .grad, and nothing cleared it after the earlier steps, which had used a part of it already; {other}, for which {other_step} steps, sends gradients there, too.",
        mend="{clear} in each iteration, after {other} and before {backward}.",
    ),
    # another line had moved weights by the first of them
    (Cause.GRADIENTS_PILE_UP, "after_another_step"): Answer(
        verdict="The gradients of {names} pile up: the last step used the sum of {backwards} backwards.",
        why="backward() adds to .grad, and nothing cleared it after {before} had used a part of it already.",
        mend="{clear} right before {backward}.",
    ),
    # the update is the program's own
    (Cause.GRADIENTS_PILE_UP, "between_updates"): Answer(
        verdict="The gradients of {names} pile up: the last update used the sum of {backwards} backwards.",
        why="backward() adds to .grad, and nothing cleared it after the earlier updates, which had used a part of it already.",
        mend="set .grad of {names} to None after each update (or .grad.zero_()), before the next {backward}.",
    ),
    (Cause.GRADIENTS_PILE_UP, "left_by_another"): Answer(
        verdict="The step for {names} used a sum: what {loss} had left there ({first}) and what {other} added to it.",
        why="{step} used the gradient of the first for other parameters, and nothing cleared what it had sent to {names}.",
        mend="zero_grad() of what holds {names} right before the second backward; or set requires_grad_(False) on {names} while the first loss runs.",
    ),
    (Cause.GRADIENTS_PILE_UP, "left_and_cleared_elsewhere"): Answer(
        verdict="The step for {names} used a sum: what {loss} had left there ({first}) and what {other} added to it.",
        why="{step} used the gradient of the first for other parameters, {cleared} cleared those alone, and what was sent to {names} stayed.",
        mend="zero_grad() of what holds {names} right before the second backward; or set requires_grad_(False) on {names} while the first loss runs.",
    ),
    (Cause.GRADIENTS_PILE_UP, "read_between"): Answer(
        verdict="What was read of the gradients of {names} are sums: {backwards} backwards added to the same .grad.",
        why="backward() adds to .grad, and nothing cleared it before the next one: only the first that was read is that of one loss.",
        mend="zero_grad() (or .grad = None) before each backward; or torch.autograd.grad(loss, parameters), which adds to no .grad.",
    ),
    (Cause.CLEARED_TOO_OFTEN, "before_step"): Answer(
        verdict="Of {backwards} backwards before a step only the last one counts: the others were cleared unused.",
        why="{clears:list} cleared what the others had brought, before {steps:list} could use it.",
        mend="{steps:list} in the loop, after each backward; or, if one step of all is meant, clear right after the step only, so that it uses the sum (divide the loss by the number of backwards).",
    ),
    (Cause.CLEARED_TOO_OFTEN, "between_losses"): Answer(
        verdict="{symptom}: {clear} cleared what {other} had brought, before a step could use it.",
        why="{backward} brought its gradient, {clear} took it away, and {loss} brings it none.",
        mend="{clear} before {backward} only, not between the backwards: their gradients add up for one step. Or backward once, on the sum of the losses.",
    ),
    (Cause.BUFFER, "no_parameter"): Answer(
        verdict="{names} {n:is a buffer|are buffers}: no gradient comes to {n:it|them}, and no optimizer moves {n:it|them}.",
        why="a buffer (register_buffer) is saved and moved with the module; parameters() does not list it, and its requires_grad is False.",
        mend="if it is to learn, self.{one} = nn.Parameter(…) instead of register_buffer, before the optimizer is made.",
    ),
    (Cause.READ_TOO_EARLY, "in_module_hook"): Answer(
        verdict="{hook}() reads .grad too early: when the backward hook of {module} runs, the gradients of its parameters need not be there.",
        why="this backward fills .grad of a parameter in an order of its own; until then it is None, or still that of the backward before.",
        mend="parameter.register_post_accumulate_grad_hook(…), or read .grad after loss.backward(); the hook's own arguments are the gradients of the module's inputs and outputs.",
    ),
    (Cause.CHANGED_BY_HOOK, "moved_all_the_same"): Answer(
        verdict="{names}: a hook makes zeros in {n:its gradient|their gradients}, and {step} ({place}) moves {n:it|them} all the same, by weight_decay {decay}.",
        why="weight_decay times the weight is added to the gradient in the step, after the hook has run; momentum goes on from earlier gradients alike.",
        mend="to keep {n:it where it is|them where they are}: weight_decay=0 and momentum=0 for {n:it|them}; or requires_grad_(False) before the forward, and .grad None. For a part of a weight: write the kept numbers back after each step.",
    ),
    (Cause.CHANGED_BY_HOOK, "on_tensor"): Answer(
        verdict="A hook on {it} changed the gradient: {change}.",
        why="what a tensor's hook returns takes the place of the gradient, there and for all that comes after it.",
        mend="if that is not meant: handle.remove(), or let the hook return None.",
    ),
    (Cause.CHANGED_BY_HOOK, "of_module"): Answer(
        verdict="A backward hook of {module} changed the gradient that goes on to its input.",
        why="what register_full_backward_hook's function returns takes the place of the gradients of the module's inputs.",
        mend="if that is not meant: handle.remove() before the forward, or let the hook return None.",
    ),
    (Cause.FROZEN, "only_off"): Answer(
        verdict="{names} are frozen, and an optimizer holds them: {code} can switch requires_grad off, and never on again.",
        why="it stands under if {condition}, which is false of all that is frozen already.",
        mend="leave if {condition} out, so that it is reached for every parameter.",
    ),
    (Cause.FREEZE_WITHOUT_EFFECT, "on_module"): Answer(
        verdict="{names}: {attribute} = {value} has no effect: on a module it is an attribute that autograd does not read.",
        why="only the flags of its parameters count, and these are as they were.",
        mend="{one}.requires_grad_({value}), or p.requires_grad = {value} for each p in {one}.parameters().",
    ),
    (Cause.FREEZE_WITHOUT_EFFECT, "on_parameter"): Answer(
        verdict="{attribute} = {value} has no effect on {names}: it is an attribute that autograd does not read.",
        why="the flag is called requires_grad, and it is as it was.",
        mend="{one}.requires_grad = {value}, or {one}.requires_grad_({value}).",
    ),
    (Cause.FREEZE_WITHOUT_EFFECT, "on_data"): Answer(
        verdict="{names} {n:is|are} not frozen: the flag was switched off on another tensor (.data, detach()).",
        why=".data and detach() give a new tensor that shares the memory and has a flag of its own; the parameter's is still True.",
        mend="p.requires_grad = False on the parameter itself.",
    ),
    (Cause.FREEZE_WITHOUT_EFFECT, "on_part"): Answer(
        verdict="{names} {n:is|are} not frozen, nor is a part of it: the flag was set on what the index gave.",
        why="an index gives a new tensor with a flag of its own, and requires_grad is one flag for the whole parameter.",
        mend="let no gradient come to that part: p.register_hook(lambda grad: grad * mask) with a mask that is 0 where p is to stay, 1 elsewhere (and no weight decay for p).",
    ),
    (Cause.FREEZE_WITHOUT_EFFECT, "on_another"): Answer(
        verdict="{names} {n:is|are} not frozen: requires_grad was switched off in {other}, and {model} is what trains.",
        why="{other} is built like {model}, shares no parameter with it, and nothing used {other} in this run.",
        mend="switch the flags of {model} off there: a function that is given a model has to walk over that one, and over no global.",
    ),
    (Cause.FREEZE_WITHOUT_EFFECT, "wrapped"): Answer(
        verdict="{names} {n:trains|train}: nn.Parameter() makes a new tensor whose requires_grad is True, whatever the flag was before.",
        why="{off} was set on the tensor that went in; the Parameter has a flag of its own.",
        mend="nn.Parameter(…, requires_grad=False), or switch the flag off on the Parameter itself.",
    ),
    (Cause.FREEZE_WITHOUT_EFFECT, "undone"): Answer(
        verdict="{names} {n:was|were} frozen ({off}) and set to train again before any use.",
        why="{code} came later, and the last setting counts.",
        mend="leave that out for what is to stay frozen, or freeze after it.",
    ),
    (Cause.CLEARED_TOO_OFTEN, "never_stepped"): Answer(
        verdict="No step used the gradients of {names}: each of {backwards} backwards was cleared before one.",
        why="{clear} took them away, and nothing moved the parameters in between.",
        mend="optimizer.step() (with its parentheses) after loss.backward(), and before zero_grad().",
    ),
    (Cause.CLEARED_TOO_OFTEN, "only_scheduled"): Answer(
        verdict="No step used the gradients of {names}: {other} steps a scheduler, and no optimizer; each of {backwards} backwards was cleared.",
        why="a scheduler's step changes the learning rate and moves no parameter.",
        mend="{optimizers:few}.step() after loss.backward(), in the place of {other}; the scheduler's step after it, as often as its epochs are meant.",
    ),
    (Cause.CLEARED_TOO_OFTEN, "stepped_another"): Answer(
        verdict="No step used the gradients of {names}: {step}, below the backward that brings them, is a step of {other}.",
        why="{own} holds {names}, and was never stepped; {other} holds none of it.",
        mend="let {step} be a step of {own}: hand that one over.",
    ),
    (Cause.CLEARED_TOO_OFTEN, "step_not_run"): Answer(
        verdict="No step used the gradients of {names}: {step} did not run, and each of {backwards} backwards was cleared.",
        why="it stands in the branch of {condition} that was not taken; nothing else moved the parameters.",
        mend="call {step} in either case, after loss.backward() and before zero_grad().",
    ),
    (Cause.CLEARED_TOO_OFTEN, "other_stepped"): Answer(
        verdict="No step used the gradients of {names}: {other} ran in the place of {step}, and each of {backwards} backwards was cleared.",
        why="{step} stands in the branch of {condition} that was not taken. A scheduler's step changes the learning rate and moves no parameter.",
        mend="call {step} in either case, and {other} after it.",
    ),
    (Cause.EVAL_MODE, "stepped"): Answer(
        verdict="{module} is trained in eval mode: {layers:few} {n:does|do} not work as in training.",
        why="dropout drops nothing there, and batch norm normalises by its running statistics and does not update them.",
        mend="{module}.train() before the training loop, if that is not meant.",
    ),
    (Cause.EVAL_MODE, "stepped_again"): Answer(
        verdict="{module} is trained in eval mode: {layers:few} {n:does|do} not work as in training.",
        why="dropout drops nothing there, and batch norm normalises by its running statistics and does not update them. No forward that was trained came between {train} and {code}.",
        mend="{module}.train() right before {forward} in each iteration, if that is not meant.",
    ),
    (Cause.EVAL_MODE, "left"): Answer(
        verdict="{module} is trained in eval mode{nth:|| from its forward # on}: {layers:few} {n:does|do} not work as in training.",
        why="nothing switched {module} back to train mode after eval().",
        mend="{module}.train() at the start of every epoch, and after each validation.",
    ),
    (Cause.CLIPPED_WRONG, "after_use"): Answer(
        verdict="{clip} comes at the wrong time: it clips gradients of {names} that a step has used already.",
        why="those of the next backward do not exist yet, so the steps use gradients that are not clipped.",
        mend="clip between loss.backward() and optimizer.step().",
    ),
    (Cause.CLIPPED_WRONG, "nothing_there"): Answer(
        verdict="{clip} met no gradient: no backward had run yet. The step used unclipped gradients of {names}.",
        mend="clip between loss.backward() and optimizer.step().",
    ),
    (Cause.CLIPPED_WRONG, "scaled"): Answer(
        verdict="{clip} clips gradients that are still multiplied by the loss scale: after unscaling they are smaller than the limit by that scale.",
        why="the loss was scaled before its backward, and GradScaler.step() divides by the scale only after this.",
        mend="scaler.unscale_(optimizer) before {clip}.",
    ),
    (Cause.CLIPPED_WRONG, "each_backward"): Answer(
        verdict="{clip} clips the gradients of {names} after each backward, and the step uses the sum of {backwards}.",
        why="what the earlier backwards brought is scaled down again and again, so it counts less than the last.",
        mend="clip once, right before optimizer.step().",
    ),
}

# of faults that nothing shows: why/rules/silent/
SILENT: dict[tuple[Cause, str], Answer] = {
    (Cause.FUSED_STEP, "saved_before"): Answer(
        verdict="The gradient is wrong: {it} was overwritten after it was saved, and nothing raised.",
        why="{node} had saved {it}; a fused optimizer step moves no version, so torch could not notice, and backward used the new numbers.",
        mend="step after the last backward, or run the forward again (fused=False would raise).",
    ),
    (Cause.OVERWRITTEN, "through_data"): Answer(
        verdict="The gradient is wrong: {it} was overwritten after it was saved, and nothing raised.",
        why="{node} had saved {it}; a write through .data moves no version, so torch could not notice, and backward used the new numbers.",
        mend="write after backward; under torch.no_grad() instead of .data, torch would have raised.",
    ),
    (Cause.OVERWRITTEN, "through_alias"): Answer(
        verdict="The gradient is wrong: {it} was overwritten after it was saved, and nothing raised.",
        why="{node} had saved {it}; {writer}() through an alias moves no version, so torch could not notice, and backward used the new numbers.",
        mend="write after backward; under torch.no_grad() instead of .data, torch would have raised.",
    ),
    (Cause.SHARED_SNAPSHOT, "shares"): Answer(
        verdict="{it} is no snapshot: it shares its memory with {weight}.",
        why="state_dict(), detach() and .data copy nothing: every in-place update of {weight} shows in {it} too.",
        mend="copy.deepcopy(model.state_dict()), or tensor.detach().clone().",
    ),
    (Cause.SHARED_SNAPSHOT, "followed"): Answer(
        verdict="{it} is no snapshot: it shares its memory with {weight} and followed it.",
        why="{maker} copies nothing, so {writer} wrote both ({writes:# write|# writes}).",
        mend="copy.deepcopy(model.state_dict()), or tensor.detach().clone().",
    ),
    (Cause.SHARED_SNAPSHOT, "frozen_shares"): Answer(
        verdict="{it} is frozen and no copy: it shares its memory with {weight}, which trains.",
        why="every in-place update of {weight} shows in {it} too (p.data = q.data copies nothing).",
        mend="copy the values: p.data.copy_(q.data), or copy.deepcopy(model).",
    ),
    (Cause.LEFTOVER_GRAD_MOVES, "moved"): Answer(
        verdict="{weights:few} moved although frozen: requires_grad is False, but .grad is not None.",
        why="an optimizer skips a parameter only where .grad is None; here {reason}.",
        mend="set .grad = None when freezing (zero_grad(set_to_none=True)), or leave it out of the optimizer.",
    ),
    (Cause.LEFTOVER_GRAD_MOVES, "would_move"): Answer(
        verdict="{weights:few} would move at the next step although frozen: requires_grad is False, but .grad is not None.",
        why="an optimizer skips a parameter only where .grad is None; here {reason}.",
        mend="if a step is to come: set .grad = None when freezing (zero_grad(set_to_none=True)), or leave it out of the optimizer.",
    ),
    (Cause.BATCH_NORM_MOVES, "moved"): Answer(
        verdict="The running statistics of {layers:few} moved, although all weights there are frozen.",
        why="requires_grad does not govern buffers: a layer in train mode normalises by the batch and updates running_mean and running_var.",
        mend="if these are to stay too: eval() on the frozen modules.",
    ),
    (Cause.BATCH_NORM_MOVES, "moved_in_train_mode"): Answer(
        verdict="The running statistics of {layers:few} moved, although all weights there are frozen.",
        why="requires_grad does not govern buffers: a layer in train mode normalises by the batch and updates running_mean and running_var.",
        mend="if these are to stay too: eval() on the frozen modules, after every model.train().",
    ),
    (Cause.BATCH_NORM_MOVES, "moved_by_train"): Answer(
        verdict="The running statistics of {layers:few} moved, although all weights there are frozen.",
        why="requires_grad does not govern buffers: a layer in train mode normalises by the batch and updates running_mean and running_var, and {train:list} puts it there.",
        mend="if these are to stay too: {model}.eval() in the place of {train:list}.",
    ),
    (Cause.BATCH_NORM_MOVES, "will_move"): Answer(
        verdict="The running statistics of {layers:few} move at every forward, although all weights there are frozen.",
        why="requires_grad does not govern buffers: a layer in train mode normalises by the batch and updates running_mean and running_var.",
        mend="if these are to stay too: eval() on the frozen modules, after every model.train().",
    ),
    (Cause.GRAPH_KEPT, "sum"): Answer(
        verdict="{it} keeps the graphs of {iterations} iterations alive: {kept} nodes, and more with every one.",
        why="it was added up from tensors that have a grad_fn, so every iteration's graph hangs on it.",
        mend="add {value}.item(), or {value}.detach().",
    ),
    (Cause.GRAPH_KEPT, "list"): Answer(
        verdict="{results} results of {code} are alive, each with the graph of its iteration, and more with every one.",
        why="something still refers to each of them, as a list does after append(loss).",
        mend="append({value}.item()), or {value}.detach().",
    ),
    (Cause.GRAPH_KEPT, "statistic"): Answer(
        verdict="{names} {n:keeps|keep} the graphs of {iterations} iterations alive: {kept} nodes, and more with every one.",
        why="each iteration adds to {n:it|them} what has a grad_fn, and no backward goes through {n:it|them}: nothing frees these graphs.",
        mend="with torch.no_grad(): around {lines:list}.",
    ),
}

# of numbers that are wrong: why/rules/silent/
SILENT |= {
    (Cause.NOT_LOGITS, "softmax_of_classes"): Answer(
        verdict="softmax is applied twice: {function} gets the output of a softmax, and applies softmax itself.",
        why="what it gets lies between 0 and 1, so with {classes} classes its mean cannot fall below {least}, and gradients are small.",
        mend="give the loss the raw scores: leave this softmax out, and apply it only where probabilities are read.",
    ),
    (Cause.NOT_LOGITS, "softmax_twice"): Answer(
        verdict="softmax is applied twice: {function} gets the output of a softmax, and applies softmax itself.",
        why="what it gets lies between 0 and 1, so the loss cannot come near 0, and gradients are small.",
        mend="give the loss the raw scores: leave this softmax out, and apply it only where probabilities are read.",
    ),
    (Cause.NOT_LOGITS, "sigmoid_twice"): Answer(
        verdict="sigmoid is applied twice: {function} gets the output of a sigmoid, and applies sigmoid itself.",
        why="what it gets lies between 0 and 1: taken as scores these stand for probabilities from 0.5 to 0.73, so the loss cannot come near 0.",
        mend="give the loss the raw scores: leave this sigmoid out (or use binary_cross_entropy, nn.BCELoss, with it).",
    ),
    (Cause.NOT_LOGITS, "other"): Answer(
        verdict="{function} gets the output of a {made} where it expects raw scores: it applies {applied} itself.",
        why="what it gets lies between 0 and 1, so the loss cannot come near 0, and gradients are small.",
        mend="give the loss the raw scores: leave this {made} out.",
    ),
    (Cause.NOT_LOGITS, "no_log_of_two"): Answer(
        verdict="{function} gets probabilities where it expects their logarithms.",
        why="it takes no logarithm of its first argument: the loss is target * (log(target) - input), which is no distance between the two, and its gradient only pushes every probability up.",
        mend="log_softmax in place of this {made}; the target stays as it is, unless log_target=True.",
    ),
    (Cause.NOT_LOGITS, "no_log"): Answer(
        verdict="{function} gets probabilities where it expects their logarithms.",
        why="it takes no logarithm itself: the loss is minus a probability, never above 0, and its gradient is nearly 0 where the model is most wrong.",
        mend="log_softmax in place of this {made}; or leave it out, and use cross_entropy (nn.CrossEntropyLoss).",
    ),
    (Cause.RESULT_UNUSED, "thrown_away"): Answer(
        verdict="Nothing takes what {code} returns: the loss goes on with {name} as it was.",
        why="The call makes a new tensor and leaves the one that it is given as it is.",
        mend="give the result a name and go on with that; or the form that writes in place, where there is one.",
    ),
    (Cause.CHANGED_BEFORE_READ, "second_name"): Answer(
        verdict="{it} is not what it was: {writer}() wrote over it in place before it was read.",
        why="{it} = {first} (line {line}) copies nothing: both names are one tensor. {reader:begin} reads the new numbers.",
        mend="write out of place (inplace=False, y = x + 1 for x += 1), or {it} = {first}.clone().",
    ),
    (Cause.CHANGED_BEFORE_READ, "argument"): Answer(
        verdict="{it} is not what it was: {code} wrote over it in place, by a {function} with inplace=True.",
        why="{reader:begin} reads {it} after that, and gets the new numbers: a skip connection carries these, and sends its gradient through that {function}.",
        mend="if {it} is to be added as it was: inplace=False in that {function}, or {it}.clone() for the call.",
    ),
    (Cause.CHANGED_BEFORE_READ, "past_autograd"): Answer(
        verdict="{it} was written through {way}, past autograd: its values changed, and their gradient knows nothing of it.",
        why="{reader:begin} reads the new numbers, and its gradient goes back as if {writer} had not been there: that has no history.",
        mend="make a new tensor out of place instead (a product, torch.where), or write {it} itself, without {way}.",
    ),
    (Cause.PARTLY_ZERO, "flat"): Answer(
        verdict="{zeros} of {total} elements of {it} get a gradient of exactly 0: {function} is flat there.",
        why="{it} goes straight into {function}; an element on its flat side gets no gradient, so none brings it back.",
        mend="a function that is flat nowhere in its place (softplus, exp), or bring {it} back after each step, under no_grad.",
    ),
}

# what stands in them
SILENT_PARTS = {
    "frozen_weight": "a frozen weight",
    "running_sum": "this running sum",
    "has_gradient": "it is a tensor, zeros or not",
}

# of gradients that shrink, grow or are NaN: why/rules/sizes/
SMALL: dict[tuple[Cause, str], Answer] = {
    (Cause.NOT_KNOWN, "no_gradients"): Answer(
        verdict="No parameter here has a .grad that can be read, so nothing was measured.",
    ),
    (Cause.UNDERFLOW, "on_the_way"): Answer(
        verdict="Underflow: {zeros} of all gradient elements are exactly 0.",
        why="{arrived} arrives at {node}; the smallest normal {dtype} is {least}.",
        mend="scale the loss (torch.amp.GradScaler), or compute in float32 or bfloat16.",
    ),
    (Cause.UNDERFLOW, "in_module"): Answer(
        verdict="Underflow: {zeros} of all gradient elements are exactly 0.",
        why="the largest gradient of {module} is below the smallest normal {dtype}, {least}.",
        mend="scale the loss (torch.amp.GradScaler), or compute in float32 or bfloat16.",
    ),
    (Cause.NOT_KNOWN, "all_zeros"): Answer(
        verdict="{zeros} of all gradient elements are exactly 0; no gradient near the limit of the dtype was seen on the way.",
    ),
    (Cause.VANISHING, "modules"): Answer(
        verdict="The gradient shrinks {fold}-fold from {late} to {early}.",
        why="each of {parts} multiplies it by about {factor}; {blame} (Called vanishing from {limit}-fold.)",
        mend="ReLU or GELU instead of a saturating function, a residual path, or normalisation.",
    ),
    (Cause.EXPLODING, "at_biases"): Answer(
        verdict="The gradient grows {fold}-fold from {late} to {early}, measured at their biases.",
        why="each of {parts} multiplies it by about {factor}; {blame} (Called exploding from {limit}-fold.)",
        mend="smaller initial weights, normalisation, or torch.nn.utils.clip_grad_norm_.",
    ),
    (Cause.EXPLODING, "arriving"): Answer(
        verdict="The gradient grows {fold}-fold from {late} to {early}, measured where it arrives.",
        why="each of {parts} multiplies it by about {factor}; {blame} (Called exploding from {limit}-fold.)",
        mend="smaller initial weights, normalisation, or torch.nn.utils.clip_grad_norm_.",
    ),
    (Cause.EXPLODING, "path"): Answer(
        verdict="The gradient grows {fold}-fold along one path of {nodes_on_path} nodes.",
        why="{node} stands there {times} times; on average a node multiplies it by {factor}. (Called exploding from {limit}-fold.)",
        mend="a smaller weight, fewer steps (detach the state now and then), or torch.nn.utils.clip_grad_norm_.",
    ),
    (Cause.VANISHING, "uses"): Answer(
        verdict="The gradient shrinks {fold}-fold over {uses} of {module}: the first uses hardly count.",
        why="each use multiplies what it contributes to {weight} by about {factor}. (Called vanishing from {limit}-fold.)",
        mend="a gated cell (LSTM, GRU), a residual path, orthogonal weights, or fewer steps.",
    ),
    (Cause.VANISHING, "uses_to_zero"): Answer(
        verdict="The gradient shrinks {fold}-fold over {uses} of {module}: {nothing:the first one contributes|the first # contribute} exactly 0.",
        why="each use multiplies what it contributes to {weight} by about {factor}. (Called vanishing from {limit}-fold.)",
        mend="a gated cell (LSTM, GRU), a residual path, orthogonal weights, or fewer steps.",
    ),
    (Cause.VANISHING, "uses_fade"): Answer(
        verdict="The gradient shrinks {fold}-fold over {uses} of {module}: {nothing:the first one contributes|the first # contribute} exactly 0.",
        why="each use multiplies what it contributes to {weight} by about {factor}, until it is too small for {dtype}. (Called vanishing from {limit}-fold.)",
        mend="a gated cell (LSTM, GRU), a residual path, orthogonal weights, or fewer steps.",
    ),
    (Cause.NOT_KNOWN, "large"): Answer(
        verdict="The gradient of {modules:few} is larger than {limit}.",
        why="whether it grew or was large at once was not measured.",
    ),
    (Cause.NOT_KNOWN, "unreadable"): Answer(
        verdict="The gradients of {unread} of {modules} modules cannot be read; the others show no fault in size.",
    ),
    (Cause.HEALTHY, "size"): Answer(
        verdict="No fault in size: {received} of {total} {total:parameter|parameters} received gradient, and no norm vanishes or explodes ({limit}-fold), none is NaN.",
    ),
}

# the same of NaN and of inf
NOT_FINITE = {
    "forward_call": Answer(
        verdict="{broken}",
        why="{why:sentences}",
        mend="look at what goes into this call (log, sqrt, division, exp, a mean of nothing, data).",
    ),
    "forward": Answer(
        verdict="{broken}",
        why="{why}",
        mend="look for the first result that is not finite, from the data on.",
    ),
    "node": Answer(
        verdict="{broken}",
        why="{why:sentences}",
        mend="keep its input away from that point (eps or clamp before it; torch.where after it is too late).",
    ),
    "masked": Answer(
        verdict="{broken}",
        why="{why:sentences}",
        mend="put a harmless value in before this call, at the elements that {chooser}() leaves out: torch.where(mask, x, 1) as its input. torch.where after it is too late.",
    ),
    "divides": Answer(
        verdict="{broken}",
        why="{why:sentences}",
        mend="keep what it divides by away from 0: x / (y + eps) with an eps above 0, or clamp(min=eps).",
    ),
    "forward_of_nan": Answer(
        verdict="{broken}",
        why="{name} is not finite itself, in {n} of its {all} entries, and {code} computes with it: the loss has it from there.",
    ),
    "weights_have_nan": Answer(
        verdict="{broken}",
        why="{name} was not finite before this forward, in {n} of its {all} entries, and {code} computes with it: blame no derivative.",
        mend="give it numbers where it is made (torch.empty leaves whatever stood in memory), or look at the step that wrote it.",
    ),
    "own_backward": Answer(
        verdict="{broken}",
        why="{node} got {arrived} and sent {sent}: its backward is code of its own, and made it. {parts:list} is not finite at some numbers{grows}.",
        mend="{mends:list}.",
    ),
    "not_traced": Answer(
        verdict="{broken}",
        why="{why}",
        mend="torch.autograd.set_detect_anomaly(True) names the forward of the node.",
    ),
}
SMALL |= {
    (cause, form): answer
    for cause in (Cause.NAN, Cause.EXPLODING)
    for form, answer in NOT_FINITE.items()
}
SMALL |= {
    (Cause.NAN, "came_as_nan"): Answer(
        verdict="{broken}",
        why="{name} has NaN itself, and {code} computes with it: {blamed} is taken at NaN. What masks or leaves that out later sends 0 back there, and 0 times NaN is NaN.",
        mend="take the entries with NaN out of {name}, or put harmless numbers there (torch.nan_to_num({name})), before {code}.",
    ),
    (Cause.NAN, "rows_without_keys"): Answer(
        verdict="{broken}",
        why="{masks:list} {masks:leaves|leave} {n} of {all} rows of {code} no key (sample {sample}, position {position} first): softmax of -inf alone is NaN, and what leaves these rows out later sends 0 back there, and 0 times NaN is NaN.",
    ),
    (Cause.NAN, "data_has_nan"): Answer(
        verdict="{broken}",
        why="{name} has NaN in {n} of {all} entries ({places:list}), and {code} computes with it. What masks or leaves that out later sends 0 back there, and 0 times NaN is NaN.",
    ),
    (Cause.NAN, "data_made_of_nan"): Answer(
        verdict="{broken}",
        why="{code} computes with {name}, which is made of {holder}, and that has NaN in {n} of {all} entries ({places:list}). What masks or leaves that out later sends 0 back there, and 0 times NaN is NaN.",
    ),
    (Cause.NAN, "compared_with_nan"): Answer(
        verdict="{broken}",
        why="the derivative of {code} is finite at all numbers: {names:list} have NaN or inf, one or both. What masks or leaves that out later sends 0 back there, and 0 times NaN is NaN.",
    ),
    (Cause.NAN, "came_as_nan_unread"): Answer(
        verdict="{broken}",
        why="{code} gave NaN, from {name} it seems, whose values were not read (more than 8): {blamed} is taken at NaN. What masks or leaves that out later sends 0 back there, and 0 times NaN is NaN.",
        mend="if {name} has NaN: take these entries out, or put harmless numbers there (torch.nan_to_num), before {code}.",
    ),
}
# torch's anomaly mode raises at NaN, and not at inf
SMALL[Cause.EXPLODING, "not_traced"] = NOT_FINITE["not_traced"]._replace(
    mend="look at the gradients on the way, from the loss on: t.register_hook(print) before backward.",
)

# what keeps a forward finite: why/rules/sizes/advice.py
ADVICE = {
    "mask_before": "{new} in the place of {old}: the mask before the loss, and not after it.",
    "nan_to_num": "torch.nan_to_num({name}) in the place of {name} in {code}: what is left out later may be any finite number.",
    "rows_without_keys": "need_weights=False in that call: the softmax without weights gives 0 in such rows (torch 2.5 and later). Or masks that leave each row at least one key.",
    "masked_row": "-1e9 in the place of the infinity in {code}; or -inf, and a mask that leaves at least one entry of each row.",
    "log_of_softmax": "F.log_softmax(…) in the place of {code}: far from the largest score softmax gives exactly 0 ({maker}, {place}), and the logarithm of 0 is infinite.",
    "log_of_rest": ".clamp(min=1e-6) of what {code} is taken of, before the logarithm: where softmax is sure it gives exactly 1 ({maker}, {place}), 1 minus that is 0, and the logarithm of 0 is infinite.",
    "log_of_sigmoid": "F.logsigmoid(x) in the place of log(sigmoid(x)), F.logsigmoid(-x) in that of log(1 - sigmoid(x)), or F.binary_cross_entropy_with_logits on the scores: far out sigmoid gives exactly 0 or 1 ({maker}, {place}), and the logarithm of 0 is infinite.",
    "clamp_at_one": "{bound} ({place}) is exactly 1 in float32, so that clamp lets a 1 through, and {code} is the logarithm of 0. Clamp further off: an eps of 1e-6.",
    "clamp": "the clamp ({place}) lets 0 through, or 1 where the logarithm is of 1 minus it: its bounds must be apart from 0 and 1 in the dtype (in float32 1 - 1e-8 is 1). An eps of 1e-6, or a loss that takes the raw scores.",
    "log": "{code} is infinite at 0 and NaN below: clamp(min=1e-6) or + eps inside, before the logarithm; or a loss that takes the logarithm or the raw scores itself (torch.where after it is too late).",
    "scores": "F.binary_cross_entropy_with_logits on the raw scores, without the sigmoid.",
    "exp": "{function} overflows (in float32 above 88 for exp): bound what goes into {code}, .clamp(max=…) before it, or go on with the logarithm of it.",
    "exp_of": "{function} overflows (in float32 above 88 for exp), and nothing bounds {name}, of which it is taken ({exponentials:list}): {name} = {name}.clamp(max=…) right after it is made ({made}), or go on with the logarithm.",
    "root": "the derivative of {function} at 0 is infinite: keep its input away from 0, + eps inside, before it (torch.where after it is too late).",
    "power": "{code} has an exponent that is no whole number, or below 0: of a negative number that is NaN, and at 0 it or its derivative is infinite. .clamp(min=1e-6) before it, or x.abs() + eps.",
    "arc": "{function} is for numbers from -1 to 1, and its derivative at both ends is infinite: .clamp(-1 + 1e-6, 1 - 1e-6) before it.",
    "spread": "{function} of one number is NaN, and its derivative is where all are equal: unbiased=False, and + eps.",
    "eigenvectors": "the derivative of an eigenvector divides by the differences between eigenvalues, 0 where two are equal: go on with the eigenvalues alone (torch.linalg.eigvalsh), or make them differ by another eps in each row, + torch.diag(1e-3 * torch.arange(n)); one eps for all leaves them equal.",
    "singular_vectors": "the derivative of a singular vector divides by the differences between squared singular values, 0 where two are equal: go on with these values alone (torch.linalg.svdvals), or make them differ by another eps in each row, + torch.diag(1e-3 * torch.arange(n)).",
    "count": "{count} is 0 there: divide by max({count}, 1), or only where {count} is above 0.",
    "division": "keep what it divides by away from 0: x / (y + eps) with an eps above 0, or clamp(min=eps).",
    "likewise": "The same in {lines:list}: what {lines:it divides|they divide} by is 0, too.",
}

# what a call was given, {values}, and made of it: why/rules/sizes/read_values.py
READ = {
    "power": "{code} is NaN in {n} of {all} elements: a negative number ({values:few}) to a power that is no whole number ({exponent}).",
    "power_of_zero": "{code} is not finite in {n} of {all} elements: 0 to the power of {exponent}, or its derivative: infinite below 0, and below 1.",
    "division": "{code} divides by 0 in {n} of {all} elements.",
    "logarithm": "{code} is not finite in {n} of {all} elements: {function}() is -inf at 0 and NaN below, and was given {values:few}.",
    "root": "{code} is not finite in {n} of {all} elements: {function}() was given a negative number, or 0 to divide by.",
    "arc": "{code} is not finite in {n} of {all} elements: {function}() was given {values:few}, and takes numbers from -1 to 1.",
    "exponential": "{code} overflows in {n} of {all} elements: {function}() was given numbers too large.",
    "derivative": "the derivative of {code} is not finite in {n} of {all} elements, at {values:few}.",
    "overflow": "{code} made it, of finite numbers, in {n} of {all} elements: blame no derivative.",
}

# what stands in them
SMALL_PARTS = {
    "whole_model": "the model",
    "norms_from_loss": "norms of .grad, from the loss to the input:",
    "norms_by_definition": "norms of .grad, in reverse order of definition:",
    "n_modules": "{n} modules",
    "n_tensors": "{n} tensors",
    "norms_of_uses": "norm of what each use contributes, counted from the first:",
    "dies_at_use": "It dies between use {late} and use {early} of {total}: from there on it is more than {limit} times smaller than at the last.",
    "dies_at": "It dies between {late} and {early}: from there on it is more than {limit} times smaller than at {first}.",
    "grows_at": "It passes {limit} times its size at {first} between {late} and {early}.",
    # {broken}
    "modules_broken": "{bad} of {modules} {modules:module|modules} {bad:has|have} {value} in {bad:its|their} .grad: {names:few}.",
    "tensors_broken": "{names:few} have {value} in their .grad.",
    "tensor_broken": "{name}.grad has {value} in {wrong} of its {elements} {elements:element|elements}.",
    "returned_broken": "What autograd.grad returned for {names:few} has {value} in it.",
    "leaves_broken": "{names:few} {names:gets|get} a gradient that holds {value}.",
    "loss_broken": "The loss is {value}, although the gradients are finite.",
    # {why} it is not finite
    "others_too": "So {n:does|do} {others:list}, by itself: mend each place, for one alone leaves it.",
    "in_backward": "in backward {nr} of {all}: {why}",
    "made_by_call": "the forward had {value} already, made by {code}: blame no derivative.",
    "suspects": "Not read, and not finite at some values: {codes:list}.",
    "seen_in_call": "the forward had {value} already, first seen in the result of {code} (larger results were not read, nor what is older): blame no derivative.",
    "made_in_forward": "the loss was {value} already, so the forward made it: blame no derivative.",
    "made_by_own_code": "{node} got {arrived} and sent {sent}: its backward is code of its own, and made it.",
    "overflows": ": an exponential of a large one is inf, and inf / inf is NaN",
    "part_anew": "{anew} in place of {part}",
    "softmax_before": "{code} gives NaN for a row that is -inf throughout, or in which +inf stands: {mask} fills it with an infinity.{seen}",
    "got_and_sent": " {node} got {arrived} and sent {sent}.",
    "made_by_derivative": "{node} got {arrived} and sent {sent}: its derivative does not exist or overflows at the values of the forward.",
    "softmax": "{function}() gives NaN for a row that is -inf throughout: {node} got {arrived} and sent {sent}.",
    "other_factor": "its other factor",
    "made_by_factor": "{node} got {arrived} and multiplied it by {factor}, which is not finite: the forward had it already, blame no derivative.",
    "forward_likely": "the forward had {value} already, likely from here (larger results were not read): {why}",
    "at_point": "{function}() is taken at {values:few}, where its derivative is infinite or does not exist: {node} got {arrived} and sent {sent}.",
    "masked_point": "{function}() is taken at {values:few}, where its derivative is infinite or does not exist; {chooser}() ({line}) sends a gradient of 0 there, and 0 times that is NaN: {node} got {arrived} and sent {sent}.",
    "divides": "it divides by {by}: {node} got {arrived} and sent {sent}.",
    "by_values": "{values:few}",
    "by_zero": "0 somewhere, or by what is not finite",
    "by_named": "{by} ({named:commas})",
    "is_zero": "{name} is 0, {place}",
    "start_broken": "the gradient that backward started with, {arrived}, was not finite.",
    "arrived_broken": "what was sent to {node} is finite, {arrived} arrived: an overflow, or a hook.",
    "first_seen": "first seen at {node}, after gradients that were not measured.",
    "not_on_the_way": "no {value} was on the way in the recorded backward: it was there before, or was written afterwards.",
    "not_measured": "which node made it was not measured: not all gradients on the way were.",
    # {blame} of a factor
    "nodes_unknown": "which node does it is not known without a recording of this backward.",
    "nodes_unmeasured": "which node does it was not measured.",
    "nodes_measured": "measured: {nodes:few}.",
    "nodes_that_ran": "at the largest step ran {nodes:few}; their gradients were not measured.",
    # {uses} of a cell
    "all_uses": "the {total} uses",
    "last_uses": "the last {measured} of the {total} uses",
    "some_uses": "{measured} of the {total} uses",
}

# of several losses, and of the parts of one: why/rules/whole/losses.py
LOSSES: dict[tuple[Cause, str], Answer] = {
    (Cause.CONSTANT_SUMMAND, "without_graph"): Answer(
        verdict="{part} goes into {loss} as a number only: autograd.grad gave {names:few} without a graph.",
        why="without create_graph=True the gradients that {code} returns are constants: nothing can be differentiated through them.",
        mend="create_graph=True in {code}.",
    ),
    (Cause.FIRST_ORDER, "in_loss"): Answer(
        verdict="{names:few}, from autograd.grad, {names:is a constant|are constants} in {loss}: the gradients of {loss} leave out how {names:it changes|they change}.",
        why="{code} has no create_graph=True, so what it returns has no graph: first order only. That may be meant.",
        mend="create_graph=True in {code}, if {loss} is to be differentiated through it too.",
    ),
    (Cause.NOT_IN_LOSS, "part_dropped"): Answer(
        verdict="{parts:list} {parts:sends|send} no gradient: {roots:the backward is that|the backwards are those} of {roots:list}, {roots:a part|parts} of {total}, and not of {total}.",
        why="{total} is computed, and goes into no backward.",
        mend="call backward on {total}; where a function returns {roots:list} as the loss, let it return {total}.",
    ),
    (Cause.ZERO_GRADIENT, "second_slope"): Answer(
        verdict="{name} is exactly 0 everywhere: it is the gradient of {root} for {of}, and the second derivative of {functions:list} is 0.",
        why="{functions:list} {functions:has|have} straight pieces only: the slope of each is a constant, so nothing can be learnt from how it changes.",
        mend="a smooth activation, as torch.tanh, F.silu or F.softplus, where a second derivative is needed.",
    ),
    (Cause.NOT_IN_LOSS, "second_none"): Answer(
        verdict="The gradient of {root} for {of} is None: {root} does not depend on {of}.",
        why="it was made of a gradient for {of}; that of what is linear in {of}, or of straight pieces, is a constant there.",
        mend="compute what is differentiated twice with something that is not linear in {of}, e.g. a smooth activation.",
    ),
    (Cause.CONSTANT_SUMMAND, "summand"): Answer(
        verdict="{part} goes into {loss} as a number only: no gradient of it reaches {trained:few}.",
        why="{codes:list}: {cutter}. What is added without a history changes the value of {loss}, and no gradient.",
        mend="{mend} If only the number of {loss} is to show it, nothing is wrong.",
    ),
    (Cause.CONSTANT_SUMMAND, "of_the_fixed"): Answer(
        verdict="{part} is a constant in {loss}: all of it is made from {source}, behind which nothing is trained.",
        why="{cutter} keeps gradients off {trained:few}, which no optimizer has; and nothing that is trained goes into {part}.",
        mend="{source} alone teaches nothing: compute {part} from an output of what is trained, too. If only the number of {loss} is to show it, nothing is wrong.",
    ),
    (Cause.CONSTANT_SUMMAND, "of_the_fixed_beside"): Answer(
        verdict="{part} is a constant in {loss}: all of it is made from {source}, behind which nothing is trained.",
        why="{cutter} keeps gradients off {trained:few}, which no optimizer has; {ready} has the same shape and is trained, and does not go into {part}.",
        mend="{ready} in the place of one {source} in these lines, if {part} is to train what made {ready}. If only the number of {loss} is to show it, nothing is wrong.",
    ),
    (Cause.CONSTANT_SUMMAND, "new_leaf"): Answer(
        verdict="{part} goes into {loss} without a way to {trained:few}: its gradient ends in {code}.",
        why="{code} is a new leaf, made of numbers; the values that it was made from were let go of before, and requires_grad=True makes no way back to them.",
        mend="compute {part} from the tensors themselves, in torch: no detach(), numpy() or torch.tensor() on the way. If only the number of {loss} is to show it, nothing is wrong.",
    ),
    (Cause.SHARED_SNAPSHOT, "one_network"): Answer(
        verdict="{other} and {one} are one network: whatever trains {one} changes {other} at once.",
        why="both names lead to the same parameters ({parts}); an assignment copies nothing, and neither does copying them onto themselves.",
        mend="{other} = copy.deepcopy({one}), or make a second network and load_state_dict().",
    ),
    (Cause.SHARED_SNAPSHOT, "one_part"): Answer(
        verdict="{other} and {one} have a part in common: whatever trains that in {one} changes {other} at once.",
        why="both hold the same {parts}; what was given to two networks is not copied, and copying it onto itself changes nothing.",
        mend="give {other} a part of its own: make it anew, or copy.deepcopy() it.",
    ),
    (Cause.EXTRA_GRADIENT, "factor"): Answer(
        verdict="{names} gets a gradient from {loss} too, through {factor}; {other} trains it as well.",
        why="{factor} multiplies what leads to {others}, and has a history of its own: it is no mere weight.",
        mend="if only {other} is to train {names}: {factor}.detach() in {code}.",
    ),
    (Cause.EXTRA_GRADIENT, "summed"): Answer(
        verdict="{names} gets a gradient from {others:few} too: it was added to that of {first}, and the step used the sum.",
        why="the graph of {others:few} leads to {names} as well, and nothing cleared .grad in between. Whether that is meant was not checked.",
        mend="if only {first} is to train {names}: detach() what {others:few} reads of it. If all are to, nothing is wrong.",
    ),
    (Cause.EXTRA_GRADIENT, "weight"): Answer(
        verdict="{names} gets a gradient from {loss} too, through {factor}, the weight of a sample's log-probability.",
        why="{factor} multiplies the log-probability of what was drawn from {others}, and has a history of its own: it is no mere weight.",
        mend="if {loss} is to train {others} only: {factor}.detach() in {code}.",
    ),
    (Cause.EXTRA_GRADIENT, "twin_held"): Answer(
        verdict="{target} learns with {other}: {loss} sends it a gradient, and one optimizer holds both.",
        why="{value} is made by {target} alone, and goes on with its history; the code wrote {other} into {target}, which is a target by its name.",
        mend="if it only gives a value: {value}.detach(), or compute it under torch.no_grad(), and leave {target} out of the optimizer.",
    ),
    (Cause.EXTRA_GRADIENT, "added_to_three"): Answer(
        verdict="{loss} sends gradients to {behind} and to {names}: each got the sum with another loss's, {third} and {other}.",
        why="{loss} reaches {others} only through {names}; nothing cleared .grad or used it between these backwards.",
        mend="if {loss} is to train {names} alone, as {other} does: {factor}.detach() where it goes in. If it is to train {others}: requires_grad_(False) on {names} while {loss} is computed.",
    ),
    (Cause.EXTRA_GRADIENT, "added"): Answer(
        verdict="{names}: .grad is the sum of the gradients from {other} and from {loss}.",
        why="{loss} reaches {others} only through {names}; nothing cleared .grad or used it between the two backwards.",
        mend="if only {other} is to train {names}: requires_grad_(False) on it while {loss} is computed, or step its optimizer before {loss} is computed, and clear its .grad before the next backward of {other}.",
    ),
}

# further lines about several losses: why/rules/whole/losses.py
IN_LOSSES = {
    # of a backward on a leaf
    "leaf_root": "{loss} is a leaf, so its backward comes to nothing behind it: {code} ({place}) makes it one, which only silences torch's error.",
    "leaf_root_out": "leave {code} ({place}) out too, which makes a leaf of {loss} and only silences torch's error.",
    "leaf_root_unknown": "{loss} is a leaf, so its backward comes to nothing behind it.",
    "not_alone": "{first} That alone gives no gradient yet: {second}",
    "switched_on": "{names}: trainable, requires_grad was switched on ({place}).",
    "switched_off": "{names}: frozen, requires_grad was switched off ({place}).",
    "value": "{name} ({cutter}, {place})",
    "values": "In a loss as a value: {values:list}. No gradient{of} comes back that way to {leaves:few}. If that is wanted: {mend}",
    "carried": "leave {cutters:list} out there, and call one backward on the sum of all losses that go through it: an earlier backward frees that graph, and a second one through it raises.",
    "leave_out": "leave {cutters:list} out there.",
    "data_given": "{mends:list}: .data takes numbers only.",
    "read_instead": "keep {value} in a variable, and read that in the place of {target}",
    "sample": "sample()",
    "values_of": " of {parts:list}",
    "mode_kept": "{module} ran in train mode where no gradient is recorded ({place}), and its result goes into no loss: {did}. If that is an evaluation: {module}.eval() before it, and {module}.train() before it is trained again.",
    "mode_kept_undone": "{module} ran in train mode where no gradient is recorded ({place}), and its result goes into no loss: {did}. {train} undoes {evaluation} before it. If that is an evaluation: leave {code} out there.",
    "dropped": "{layers:few} dropped values there",
    "normalised": "{layers:few} took mean and variance of that batch, and mixed {n:it|them} into the running ones",
    "twin": "{names} gets a gradient from {loss}, and no step uses it: no optimizer holds {target}. If that is a target of {other}, which is built alike: {value}.detach() ({place}) changes no other gradient, and saves the work.",
    "twin_held": "{target} is in the optimizer of {other}, and the loss trains both: of a target only {other} is to learn.",
    "plain": "{names}: the loss is computed with {n:it; a plain tensor|them; plain tensors} of a module, which nothing trains.",
    "replaced_values": "{names}: .data was set anew ({place}), of which no gradient knows.",
    "step_before": "{step} ({place}) stands before the only backward ({backward}): no step used its gradient.",
    "listed_frozen": "{optimizer} was given {names}, not all that its model has, and its steps pass over what is frozen. If these are to learn: freeze before they are made, or requires_grad_(True) for them after it.",
    "flags_meant": "Whether these are to learn, and those to stay, was not checked.",
    "truncated": "{reached} of {uses} uses get a gradient ({value} is cut off between them, {place}): {names}.",
    "added": "{names}: .grad is the sum of {other}'s gradient and {loss}'s ({place}): clear it before a step for {other} only.",
}

# what the recorded steps and losses did, where nothing is wrong by itself: why/account/
ACCOUNT = {
    "moved": "{step} moved {parts:list}.",
    "grad_mode_unused": "{statement} ({place}) changes nothing by itself: gradients are recorded as before. It holds in the block below with {statement}: alone.",
    "not_called": "{statement} ({place}) only names the method: without parentheses it is not called.",
    "loop_name": "{statement} ({place}) only gives the variable {name} of the loop another object: what {walked} goes through stays as it was. To change that: under no_grad, {name}.copy_(…).",
    "made_in_vain": "{statement} ({place}) changes nothing: {method} is a class method that gives a new object, which is thrown away here; {of} stays as it was. If {of} is to be that one: {of} = {makes}.",
    "argument_beside": "{name} is set ({place}) and then never read in {function}(); {twin} is read in its place ({at:list}). If the argument is to count: {name} there, not {twin}.",
    "dropped_of_memory": "{statement} ({place}) changes nothing: {method}() gives a new tensor, which is thrown away here; {of} stays as it was. To change it: {inplace}.",
    "argument_unread": "{name} is set ({place}) and then never read in {function}().",
    "result_unread": "{name} is computed ({place}) and never read in its function.",
    "result_passed_by": "{name} is computed from {of:list} ({place}) and never read in its function: {other} ({at:list}) reads {read} itself. If {name} is meant there: {name} in the place of {read}.",
    "not_recorded": "{call} was given nothing that requires grad, so {function} was not recorded and its backward never runs there. If it is to run: hand it an input that requires grad, x.requires_grad_().",
    "scores_of_one_sign": "{call} takes scores of either sign, and gets what {function} made ({made}): no score can be below 0, and where it is 0 no gradient comes back through it. If that is not wanted: leave that {function} out.",
    "scale_above_one": "{call} takes the exponential of what {function} made ({made}): it is never below 1, and where {function} gives 0 no gradient comes back through it. If it is to be smaller too, as a standard deviation is: leave that {function} out.",
    "power_of_zero": "{call} has the exponent {exponent}, which is 0: the power is 1 everywhere, and multiplying by it changes nothing. If it is to weigh: another exponent.",
    "minus_itself": "{call} takes from {name} its own detached value: that is 0, with the gradient of {name} (so exp() of it is 1, with that gradient).",
    "divided_by_itself": "{call} divides {name} by its own detached value: that is 1, with the gradient of {name}'s logarithm.",
    "hooks_passed_by": "No hook of {module} runs: {code} ({place}) calls its forward as a method, and hooks run around a call of the module alone. Write {instead} there.",
    "backward_of_a_module": "{module}.backward ({place}) is never called: {module} is a module, and autograd differentiates what its forward computes. If {function}() is to give the gradient: a torch.autograd.Function with static forward(ctx, …) and backward(ctx, …), and {module}.apply(x) in the place of a call.",
    "layer_repeated": "[{layer}] * {times} ({place}) is one layer, {times} times: all share its weights. If they are to have weights of their own: [{layer} for _ in range({times})].",
    "read_by": "what {code} reads",
    "weights_compared": "{call} compares {name} with itself, which tells no change: {kept} keeps the parameters and no copy of their values, and {step} writes into them in place. To see what moves: keep p.detach().clone() there.",
    "flattened_apart": "{loss} meets {scores} of shape [{shape:commas}] and {target} of shape [{other:commas}], both flattened: these go through their places in another order, so a prediction meets the target of another place. Exchange the first two dimensions of one of them before that: {code}.t().",
    "sums_again": "{backward} begins at {total}, to which {adding} adds one loss after the other: each backward sends the gradients of all earlier ones again ({n} times so far), for which it has to keep their graphs (retain_graph=True). Call backward on {new} alone, and add up {new}.item().",
    "wrapped_values": "{code} begins with values alone: each of its {n} entries learns by itself, and no gradient comes to {names:list}. If that shall learn: keep it in the module (self.a = nn.Parameter(…)), and compute the rest of it anew in each forward, by torch.stack([…]) and without nn.Parameter().",
    "unregistered": "{names} {n:gets a gradient|get gradients} that no step uses: {n:it is a plain tensor|they are plain tensors}, no nn.Parameter ({places:list}), so parameters() does not list {n:it|them}, no optimizer that is known here holds {n:it|them}, and zero_grad() leaves what adds up. If {n:it is|they are} to learn: self.{one} = nn.Parameter(…), before the optimizer is made.",
    "listed_twice": "{name} holds one {layer} {n} times: all these places share its weights, and its gradient is the sum of all of them. If each is to have weights of its own: make a new one for each, [… for _ in range({n})].",
    "listed_again": "{name} holds one {layer} {n} times, as {code} gives it again and again: all these places share its weights, and its gradient is the sum of all of them. If each is to have weights of its own: make a new one for each of them, [copy.deepcopy(…) for _ in range({n})].",
    "input_without_gradient": "The backward hook of {module} gets None for its input ({code}, {place}): {input} does not require grad, so no gradient of it is computed. If that is wanted: x.requires_grad_() on the input before the forward.",
    "spread_out": "{call} compares {one} with {other}, one of shape [{n}, 1], one of shape [{n}]: that gives [{n}, {n}], each prediction with every target. Give both one shape: {target}.{shaped}.",
    "spread_prediction": "{call} compares {one} of shape [{shape:commas}] with {other} of shape [{wide:commas}]: both are spread out to [{spread:commas}], so that a number of {one} is compared with several of {other}. If each has one target: give both one shape.",
    "spread_statistic": "{call} compares {rows} of shape [{shape:commas}] with {other} of shape [{small:commas}], which is computed from it and has a number for each row: both are spread out to [{spread:commas}], each row beside the numbers of all rows. If each is to meet its own: {other}.reshape({fitting:commas}) there.",
    "bootstrapped_target": "{call} compares a prediction with {target} ({place}), which holds a prediction of the same weights and gets a gradient, too: a step moves both towards each other. If {target} is to stand still, as in Q-learning: {whole}.detach() there, or compute it under torch.no_grad().",
    "target_of_another": "The target of {call} is {target} ({place}), which gets a gradient there, too: the loss moves {leaves} towards the prediction. If {target} is to be met as it is: {whole}.detach() there.",
    "learning_target": "{call} changes {target} ({place}), too: both sides are computed with {leaves}, and the loss is small where all of them are alike. If {target} is what is to be met: {target}.detach() there.",
    "spread_by_log_prob": "{log_prob} has a number for each entry, not one for all of them together: sum it there, .sum(-1, keepdim=True). As it is, {other} has the shape [{wide:commas}] since {met}, and {call} spreads {one} of shape [{shape:commas}] out to [{spread:commas}]: a number of it is compared with several.",
    "spread_by_another": "{call} compares {one} of shape [{shape:commas}] with {other} of shape [{wide:commas}]: both are spread out to [{spread:commas}], so that a number of {one} is compared with several of {other}. {other} has that shape since {met}, from {by} ({made}). If {by} is to have one number for each of {one}: sum or average it there, .sum(-1, keepdim=True).",
    "masked_too_late": "{call} multiplies one number by all of {mask}: {name} is one number of all samples already ({made}), and {mask} leaves none of them out. If it is to: reduction='none' in {function}, then {mask}, then the sum over {mask}.sum().",
    "own_targets": "{call} asks at each place for the token of {tokens} that goes in there ({place}): to copy it is enough. If the next one is to be told: the scores without the last place, [:, :-1], against {tokens}[:, 1:].",
    "equal_targets": "{call} asks at each place for what goes in there: {targets} ({made}) holds the numbers of {tokens} ({place}), so that to copy them is enough. If the next one is to be told: {targets} from one place further on.",
    "drawn_normal": "{call} draws numbers from {of:list}: back through a draw of torch.{function} only zeros come, so {of:list} {n:learns|learn} nothing by that way. If {n:it is|they are} to: mean + std * torch.randn_like(std), or Normal(mean, std).rsample().",
    "drawn": "{call} draws numbers from {of:list}: back through a draw of {function} only zeros come, so {of:list} {n:learns|learn} nothing by that way. If {n:it is|they are} to: the log-probability of what was drawn in the loss, or a draw with a gradient of its own (RelaxedBernoulli(…).rsample()).",
    "log_prob_of_a_new_draw": "{code} ({place}) takes the log-probability of a draw that is made there and kept nowhere. If that of what was chosen before is meant: {of}.log_prob() of the variable that holds it, and {draw} once.",
    "drops_nearly_all": "{layer} drops {value} of what goes in: p is the share that becomes 0, not the one that stays. If {value} is to stay: p={other}.",
    "statistics_stand_still": "The running statistics of {layer} never change: its momentum is {value}, and that is the weight of each new batch, so evaluation mode goes on with those of the beginning. If they are to follow: momentum=0.1, torch's own.",
    "statistics_of_the_last": "The running statistics of {layer} are nearly those of its last batch: its momentum is {value}, and in torch that is the weight of the new batch, not of the old. If {value} of the old is to stay: momentum={other}.",
    "one_for_all": "{call} compares {one} of shape [{shape:commas}] with {other} of shape [{single:commas}]: all {n} rows with the same target. If each has its own: give {other} {n} rows, too.",
    "softmax_of_one": "{call} takes {function} over a dimension of size 1: all it gives is exactly {value}, whatever goes in, and no gradient comes back through it. If it is to weigh: another dim, one with the several scores.",
    "softmax_of_equals": "{call} takes {function} over {n} scores that are computed alike ({one}): each gets {share}, whatever is learned, and no gradient comes back through it. If they are to differ: a layer of its own for each.",
    "multiplied_out": "{call} multiplies {one} by {other}, one of shape [{n}, 1], one of shape [{n}]: that gives [{n}, {n}], each with every other, and the loss is made of all of these. Give both one shape: {target}.{shaped}.",
    "over_the_batch": "{call} takes {function} over dimension 0, so that the {n} samples of the batch add up to 1, and not the classes of each; {loss} takes one class of each sample. dim=1 there.",
    "layer_over_the_batch": "{layer} takes {function} over dimension 0, so that in {call} the {n} samples of the batch add up to 1, and not the classes of each; {loss} takes one class of each sample. dim=-1 there.",
    "layer_over_the_batch_of_all": "{layer} takes {function} over dimension 0, so that in {call} the {n} samples of the batch add up to 1, and not the values of each; {loss} compares them row by row. If dimension 0 is the batch: dim=-1 there.",
    "over_the_batch_of_all": "{call} takes {function} over dimension 0, so that the {n} samples of the batch add up to 1, and not the values of each; {loss} compares them row by row. If dimension 0 is the batch: dim=1 there.",
    "over_the_samples": "{call} takes {function} over dimension {dim}, so that the {n} samples add up to 1, and not the {of} scores of each, which {product} multiplies by its targets. dim=-1 there, and in the sum.",
    "copied_onto_itself": "{code} writes {names} onto itself: no value changes by it. If it is to get the values of another network: hand over that one's; if its own of an earlier time: keep a copy, copy.deepcopy(model.state_dict()), as state_dict() copies nothing.",
    "copied_as_before": "{code} writes {names} onto itself: no value changes by it. If it is to get the values of {others} ({place}): hand over these.",
    "written_back": "{code} writes the values of {others}, which no step moves, into {names}, which steps move, {n:once|# times}. If it was to be the other way round: change the two.",
    "left_behind": "Nothing writes {name}: it stays as it was made, while {n:once|# times} {code} brought {sister} nearer to what learns. If it is to follow {source}: write the values of {source} into it there, too.",
    "target_as_made": "No step moves {names}, and no call wrote the values of {others} into it, which is built alike and learns: it is as it was made, and {cutter} ({place}) keeps gradients off. If it is to follow {source}: {target}.load_state_dict({source}.state_dict()) before the training, and again every few steps.",
    "target_nearly": "{code} gave {names} more of the values of {others} than it kept of its own, {n} times at least: it follows at once. If it is to follow slowly: exchange the two factors.",
    "target": "No step moves {names}: {n:once|# times} {code} wrote the values of {others} into it.",
    "target_kept_off": "No step moves {names}: {n:once|# times} {code} wrote the values of {others} into it, and {cutter} ({place}) keeps gradients off.",
    "moved_by_hand": "{step}, and no optimizer, moved {parts:list}.",
    "wasted": "No step used what {loss} sent: it went to {names} only, and the next step, {step}, moves {lost}, from which {cutter} keeps this loss ({place}). If it is to train {lost}: leave that {cutter} out.",
    "wasted_old": "No step used what {loss} sent: it went to {names} only, and the next step, {step}, moves {lost}, from which {cutter} keeps this loss ({place}). If it is to train {lost}: compute {value} anew before each such backward, and leave that {cutter} out.",
    "by": "{names} by {n:the gradient|the sum of # gradients} of {losses:list}",
    "by_changed": "{names} by {n:the gradient|the sum of # gradients} of {losses:list}, changed by {by:list}",
    "by_given": "{names} by what {given} set as gradient",
    "by_shared": "{names} by the gradients of {others}: since {given} both have the same tensors as .grad",
    "sum_whole": "{step} used the sum of {n} backwards of {loss}, each at its full size. If each is a mean and the step is to be as of one batch of all: divide the loss by {n} before backward().",
    "sum_scaled": "{step} used the sum of {n} backwards of {loss}, scaled by {scaled}.",
    "clipped_elsewhere": "{clip} clipped {clipped} only, and {step} moved {names}, whose gradients went in as they came. If these were to be clipped: hand their parameters to the clipping.",
    "clipped_in_part": "{clip} clipped {clipped} only; {step} moved {names} too, whose gradients went in as they came. If these were to be clipped: hand their parameters to the clipping.",
    "backward_again": "{second} starts from {loss} as {first} did: it adds the same gradient to .grad of {names:few} once more, and gives no second derivative. For that: g = torch.autograd.grad({loss}, {leaf}, create_graph=True)[0], and then torch.autograd.grad(g.sum(), {leaf}).",
    "cleared_before_step": "{loss} trains nothing: {n:once|each of # times} {clear} cleared what its backward had brought to {names}, before a step used any of it; {step}, which moves {names}, comes before that backward. If it is to train: that step after it.",
    "cleared_in_between": "{loss} trains nothing: {n:once|each of # times} {clear} cleared what its backward had brought to {names}, before a step used any of it; {step}, which moves {names}, comes after that. If it is to train: clear before that backward, and not between it and the step.",
    "eval_of_a_part": "{code} ({place}) freezes nothing: it changes only what dropout and batch norm do, and {step} moved {names} all the same. If {part} is to stand still: {part}.requires_grad_(False) before the training, beside eval().",
    "eval_of_a_part_held": "{code} ({place}) freezes nothing: it changes only what dropout and batch norm do, and {step} moved {names} all the same, as {optimizer} holds {n:it|them} ({made:list}). If {part} is to stand still: {part}.requires_grad_(False) before the training, beside eval(), or leave its parameters out there.",
    "statistics_of_frozen": "No step moves {model}, and it does not stay the same: it ran in train mode ({place}), where batch norm goes by its batch and moves its running statistics ({layers}), which evaluation mode goes by later. If {model} is to stay as it is: {model}.eval() before that.",
    "statistics_by_train": "No step moves {model}, and it does not stay the same: {train:list} puts it into train mode, where batch norm goes by its batch and moves its running statistics ({layers}, {place}), which evaluation mode goes by later. If {model} is to stay as it is: {model}.eval() there.",
    "sum_diverged": "{step} used the sum of {n} backwards of {loss}, each at its full size: it goes {n} times as far as with their mean, and {why}",
    "sum_divide": "divide the loss by {n} before backward(), if each is a mean; or else: {mend}",
    "rate_of_another": "{optimizer} was made with a learning rate of {wanted}, and steps with {rate}: its groups are the same dicts as those of {other} ({places:list}), whose settings stood in them already. If it is to have its own: make these dicts anew for it.",
    "hook_of_a_parameter": "{hook} ({put}) is given the parameter, and not its gradient: {statement} ({place}) writes the weights. If the gradient is meant: {argument}.grad there, or register_hook(), which is given the gradient and returns another.",
    "clipped_around": "{clip} multiplied the gradients of {names} by {factor}, which is below 0: it turned them around, and {step} climbs. If they are only to be bounded: a bound above 0.",
    "read_while_cleared": "{code} reads the .grad of {names} when {n:it is|they are} None: {clear} had cleared {n:it|them}, and no backward() had filled {n:it|them} since. {backward} does fill {n:it|them}. To see a gradient: read between that backward() and that clearing.",
    "gradient_unread": "{function}'s backward ({place}) never reads {unread:list}, the gradient that comes from above: what it returns is the derivative as if {call} were the loss itself, whatever stands between the two. If it is to be that of the loss: multiply by {unread:list} there.",
    "hooks_of_another": "No hook of {module} ran ({code}, {place}): no call used {module}, and {other}, of the same class, was called. If they are to run there: put them on that one.",
    "used_up_again": "{name} is an iterator ({made}), and used up once it was gone through: {statement} ({place}) finds nothing in it from its second run on. If each run is to go through all: {value} there.",
    "cleared_between": "{clear} cleared what {loss} had sent to {names}: {step} moved these by the gradient of {other} alone, and what else it holds by that of {name}. If {name} is to train them, too: clear all gradients before the first of these backwards, and none between them.",
    "flat_at_inputs": "{name} goes from {least} to {most}, and {call} sends back {share} of the gradient that arrives there: that far from 0 {function} is flat, and gives nearly the same whatever goes in. If {weight} is to learn: bring each column of {name} near 0 before, as (x - mean) / std.",
    "same_memory": "{code} compares {name} with itself: {taken} made no copy, so that what it kept follows each step, and the two are always alike. If it is to tell whether a step changed something: .clone() there.",
    "mean_undivided": "{function}'s forward gives a mean ({value}, {call}), and its backward ({place}) divides by nothing: a mean divides each gradient by the number of elements. If that is not done elsewhere: / x.numel() there.",
    "divide_there": "divide by the number of elements ({place}), if nothing else does; or else: {mend}",
    "taken_from_itself": "{call} takes {one} from itself: that is 0, whatever is computed there, and no gradient comes back from it. If it is to be compared with an earlier value: keep that under another name, detach()ed, before it is computed anew.",
    "compared_alike": "{call} compares {one} with {other}, which are computed alike, by the same weights from the same input: they are equal, and nothing is learnt from how far they are apart. If they are to be of two inputs: give one of them the other.",
    "difference_of_alike": "{call} takes {other} from {one}, computed alike by the same weights from the same input: 0 each time, and what goes back to both cancels. If {other} is to be of before the steps: {other}.detach(), kept from when it was first computed.",
    "layer_again": "{layer} is called {n} times in one forward ({places:list}), each time with what comes from the call before: these are one {kind} with one set of weights, whose gradient is the sum of all. If they are to be layers of their own: make one of its own for each in __init__.",
    "unscored": "{maker} is trained by {loss} ({parts:list}), which does not go through {judge}: that is trained with what {maker} makes, without a gradient to it ({cut}), and with other data. If {maker} is to learn from {judge}: what {judge} gives for what {maker} makes in that loss, without detach().",
    "filled_backwards": "{name} begins with the last: {loop} ({place}) goes backwards, {append} ({at}) puts each sum behind the one before, and nothing turns {name} round before {reader} ({there}) reads it. If its first is to belong to the first: {mended} there.",
    "masked_weights": "{masking} sets weights of {softmax} to 0 when they add up to 1 already: what is left of a row adds up to less, for what is masked took its share. If each row is to be a weighted mean of what is left: {weights} / {weights}.sum(dim=-1, keepdim=True) behind it, or the mask before the softmax.",
    "mask_turned": "{attention} lets a position see nothing where {mask} is {hidden}: each sees only later ones, never itself or one before, and the last one sees none. If each is to see itself and those before: {turned} as the mask there.",
    "mask_added": "{attention} adds {mask} to the scores, for it is of floats: 0 and 1 hide nothing. If it is to hide: {turned} as the mask there, which is boolean.",
    "weighed_across": "{softmax} makes weights that add up to 1 over dimension {dim}, of size {n}, and {product} adds up over the last one, of size {of}: what it adds up there has weights whose sum is not 1. If it is to be a weighted mean: dim=-1.",
    "filled_too_high": "{fill} gives what it leaves out a score of {value}, and {softmax} makes of that a weight like those of the others, not 0. If what is masked is to have no weight: float('-inf') there.",
    "overlap_with_plus": "{code} grows as {one} and {other} overlap, and stands in {loss} with a plus: each step makes them overlap less. If they are to meet: 1 minus it.",
    "last_of_padding": "{code} takes what was computed at the last place, and in {n} of {of} rows of {tokens} that is padding ({index}): how much of it stands before that depends on the longest row of the batch. If the last token is meant: the place at which each row ends, or pack_padded_sequence.",
    "counted_means": "{step} used the sum of {n} backwards of {loss}, each a mean over the targets that count in its own batch ({ignoring}, {place}): a target counts the more, the fewer there are beside it. If all are to count alike: reduction='sum', divided by the number of targets in all of them.",
    "untied_again": "{code} ({place}) gives one of two tied places a parameter of its own: {target} and {source}, which {tie} ({at}) makes one, are two now, and steps move each by its own gradient. If they are to be one: {target} = {source} again behind it, before the optimizer is made.",
    "shuffled_apart": "{one} and {other} put rows into two different orders, each a permutation of its own; {loss} compares the ones with the others: a prediction meets the target of its row by chance only. If they belong together: one permutation for both.",
    "summed_probabilities": "{total} adds up all probabilities of the softmax in {place}, each with the same weight: they add up to 1 whatever the scores are, and nothing is learnt from it. To make chosen ones likelier: the sum of their logarithms, as -(chosen * log_softmax(scores, dim)).sum().",
    "straight_through_difference": "{call} compares {base} with {sum}, which is {base} and what has no gradient, added up ({place}): that moves as {base} does, so that their difference stays the same, and no gradient comes back through it. If one is to: {sum}.detach() there.",
    "padding_kept": "{argument} of {layer} is {mask} ({place}), and where it is True {layer} looks at nothing: what is no padding is left out, and the padding alone is read. If the padding is to be left out: {turned}.",
    "similar_to_itself": "{call} asks each row of {rows} to be most similar to itself: {product} has it on the diagonal, which {targets} ({place}) numbers. No two rows are pulled together. If two views are to be: the diagonal filled with -inf, and the number of the other view as the target.",
    "stale_value": "{name} was computed once of {leaf} ({made}), before {n} steps moved that, and {read} still has the old value. If it is to follow {leaf}: compute it anew there.",
    "weight_that_learns": "{call} takes {name} ({place}) as a factor and sends a gradient through it, and {compared} compares {value} with {observed}, too: the factor trains {value} as well. If it is only to weigh, as an advantage: {alone}.detach() there.",
    "in_no_optimizer": "{names} {n:gets a gradient|get gradients} that no step uses: {step} moves others, and its optimizer does not hold {names}. If {n:it is|they are} to learn: hand {n:it|them} to the optimizer, in the list that the optimizer is made with.",
    "norm_of_one": "{call} normalises each number by itself, over a size of 1: all it gives is its bias, whatever goes in, and no gradient comes back through it. Leave it out there, or normalise over the features.",
    "normalized_alone": "{call} divides {name} by its own {by} ({made}) over dimension {dim}, whose size is 1: all it gives is exactly 1, whatever goes in, and no gradient comes back through it. If what goes in is to weigh or to learn there: divide only where that size is larger, under if {code}.shape[{dim}] > 1.",
    "sign_of_itself": "{call} divides {name} by its own {by} ({made}) over dimension {dim}, whose size is 1: of each number its sign alone is left, 1 or -1, and no gradient comes back through it. If what goes in is to learn there: divide only where that size is larger, under if {code}.shape[{dim}] > 1.",
    "never_followed": "{function} ({place}), which writes {still} from {moved}, is never called: {still} stays as it was. If it is to follow: {call} after {step}.",
    "step_of_scaled": "{step} steps with gradients that {scaled} made larger: nothing divides them by that scale. If the scale is not to count: {scaler}.step(optimizer), then {scaler}.update(), in the place of that step.",
    "sign_beside_equals": "{statement} ({place}) gives {name} a new value each time, with a sign in front of it, and adds nothing up: all but the last are lost. To add up: {name} {sign}= …",
    "seed_in_a_loop": "{code} ({place}) sets the seed anew in each iteration: {draws:list} {n:draws|draw} the same numbers every time. If they are to differ: set the seed once, before the loop.",
    "step_by_scaler": "{scaler}.step(optimizer) and {scaler}.update(), in the place of that step: they divide by the scale.",
    "cell_without_state": "{code} ({place}) gives {cell} its input alone: each call begins at a state of zeros, and {state} of the step before is lost. If it is to go on from there: {cell}({given}, {state}).",
    "untied": "{code} ({place}) copies values once: {target} and {source} are two parameters, and steps move each by its own gradient. If they are to be one: {target} = {source}.",
    "learned_weight": "{name} does nothing but multiply losses ({call}): its gradient is these losses, never below 0, so that each step makes it smaller, below 0 too, and the loss with it. If it is to weigh them: something that grows as it falls, as exp(-s) * loss + s, or weights that are not learnt.",
    "kept_nowhere": "{code} was computed {n} times, and {used} of these went into a loss: nothing reads the others, and they train nothing. If each is to count: keep them all, as in a list that is made before the loop, and not in it.",
    "mixed_points": "{call} is the derivative of the sum of {outputs}: an entry holds what that point of {by} does to all {n} points, as {mixing} computes each point of several. If the derivative of each point by itself is meant: along the points, as in torch.gradient({outputs}, spacing=(…,), dim={dim})[0].",
    "mixed_by_norm": "{call} is the derivative of the sum of {outputs}: a row holds what that row of {by} does to all {n} rows, as {mixing}, in training mode, normalizes each row with the mean and the variance of all. If the derivative of each row by itself is meant: leave the batch norm out, or nn.LayerNorm in its place.",
    "sum_of_input": "{code} uses {name}.grad as the sum of {n} backwards ({backward}): no optimizer holds {name}, so no zero_grad() clears its .grad, and what was used before is in there still. If the gradient of one is wanted: {name}.grad = None before that backward().",
    "left": "{parts:list}; no step had used these gradients.",
    "left_alone": "{parts:list}; no step had used these gradients. So each step used the gradients of its own loss alone.",
    "left_by": "{loss} sent a gradient to {names} too, which was cleared ({clears:list})",
    "started_with_itself": "{code} began with {loss} itself in the place of 1: every gradient is {loss} times as large, so it shrinks as {loss} does. If that is not meant: backward() with nothing in its parentheses.",
    "row_left_out": "{row} gets no gradient where it is looked up: padding_idx={index}{at} keeps that row out, and it is not zero. If index {index} is no padding but an entry as the others: leave padding_idx out.",
    "frozen_beside": "{frozen} is frozen ({place}), and nothing was computed with it; {other}, of the same class, was trained. If {other} is the one to freeze: freeze that there.",
    "part_of_others": "{part}, a part of {loss}, trains nothing that {step} moves: computed of {given:few}, it leads to {others} alone, which other steps move. If it is to train what {step} moves: compute it of what that made.",
    "part_of_others_at": "{part}, a part of {loss} ({places:list}), trains nothing that {step} moves: computed of {given:few}, it leads to {others} alone, which other steps move. If it is to train what {step} moves: hand it there what that made.",
    "part_kept_off": "{part}, a part of {loss}, sends nothing to what {step} moves ({moved}): {cutter} takes {value} in as a value only ({at}). If that part is to train it: use there what was not cut off.",
    "state_dropped": "{layer} is called without a state ({place}), so each call begins with zeros; {kept} is set to what it returns, and nothing reads it. If the state is to go on: {layer}(x, {kept}).",
    "overwritten_unread": "{name} is given another value ({again}) before anything reads it: the loss that was computed there ({place}) trains nothing. If it is to train: a name of its own, added to the loss, or leave the second out.",
    "masked_once": "{code} made {n} {n:entry|entries} of {name} 0 once, and steps moved {moved} of {n:it|them} since ({step}), as {n:its|their} gradient is not 0. If {n:it is|they are} to stay 0: multiply {name} with the mask in each forward, as in F.linear(x, weight * mask, bias), or do it again after each step.",
    "decay_unused": "{code} shows entries of {name} whose gradient is 0, and the weight_decay {setting} of {optimizer} ({made:list}) moves them all the same at each step ({step}). If they are to stay: weight_decay=0 for {name}, in a group of its own.",
    "momentum_unused": "{code} shows entries of {name} whose gradient is 0, and which move all the same ({step}): {optimizer}'s {setting} has numbers of earlier gradients for them. If they are to stay: write their values back after the step.",
    "decay_beside_zeros": "{code} changes entries of the gradient of {names:few}, and {optimizer}'s weight_decay {setting} moves every entry that is not 0 at each step, also where its gradient is 0 ({step}). If some are to stay: weight_decay=0{there}.",
    "made_there": " in {places:list}",
    "frozen_scaled": "{code} scales {names} at each pass, though frozen: requires_grad keeps gradients off, and not what the code writes. If that is to stay: pass by what has requires_grad False there, or leave it out of the optimizer.",
    "momentum_beside_zeros": '{code} changes entries of the gradient of {names:few}, and entries of gradient 0 move all the same ({step}): {optimizer}\'s {setting} has numbers of earlier gradients for them. If they are to stay: change optimizer.state[p]["{setting}"] there in the same way, or write their values back after the step.',
    "eval_undone": "{layers} ran in training mode: {train} puts {n:it|them} back into it, after {code} ({place}) had switched {n:it|them} to evaluation mode. If {n:its|their} statistics are to stay: {code} after each such train(), or override train().",
    "in_no_loss_at_all": "{name} ({place}) has a history and goes into no loss: it trains nothing. If it is to train {leaves}: call backward on it, or add it to a loss.",
    "in_no_loss": "{name} ({place}) has a history and goes into no loss: it trains nothing. If it is to train {leaves}: add it to {loss} before backward().",
    "chosen_off": "{names}: no gradient comes there, as the program chooses it: if {switch} ({place}) the same call runs with gradients off. If it is to learn: let {switch} be false.",
    "hits_counted": "{part} counts predictions that are right ({place}) and goes into {loss} as a number: it changes the value of {loss}, and no gradient; the rest of {loss} trains as it would alone.",
    "times_zero": "{function}'s backward ({place}) multiplied by 0 what arrived, {n:once|in all # runs}: no gradient of what {call} was computed for goes on from there. If one is to: {read:list} above 0.",
    "reverses_all": "{function}'s backward ({place}) turns the gradient round, and every parameter behind {loss} stands behind {call}{inside}: each step works to make {loss} larger, and none to make it smaller. If only what stands before the layers of {loss} is to work against it: {call} in front of these layers, and not behind them.",
    "own_backward": "{function}'s backward ({place}) is the program's own: whether it is the derivative of its forward ({call}) was not checked. torch.autograd.gradcheck({function}.apply, …) compares the two, with inputs in double that require grad.",
    "scaled_and_handed_on": "{function}'s backward ({place}) hands the gradient on as it comes, while its forward returns {scales} ({call}). If that is not meant: multiply the gradient by the derivative of {scales} there.",
    "kept_in_vain": "{function}'s backward ({place}) hands the gradient on as it comes, while its forward returns {scales} ({call}): {unread:list}, which forward keeps for it, {unread:is|are} never read there. If that is not meant: multiply the gradient by the derivative of {scales} there, by means of {unread:list}.",
    "straight_through": "{function}'s backward ({place}) hands the gradient on as it comes, while its forward uses {flattens:list} ({call}). Where the forward is flat, the input gets a gradient of a value that it does not set. If that is not meant: multiply by a mask of where it is not flat.",
    "not_reversed": "{function} hands its input on ({call}), and its backward ({place}) turns the sign, but multiplied the gradient by {factor}, which is above 0: {read:list} {read:is|are} negative, the two minuses cancel, and the gradient is not reversed. If it is to be: one minus only, there or in {read:list}.",
    "read_outside": "{function}() ({place}) never reads {name}, which it is given: it reads {other}, a variable outside of it: {statement} ({at}). If {name} is meant: write {name} there.",
    "not_handed_on": "{function}() is given {name} and never reads it: {statement} ({place}) calls {call} without it, which takes {default} for it, its default. If {name} is to count: hand it on there.",
    "argument_replaced": "{function}() is given {given} as {name} ({at}), and {statement} ({place}) gives {name} another value before anything reads it. If what is given is to count: leave that statement out.",
    "argument_only_asked": "{function}() is given {given} as {name} ({at}), looks whether it is None ({statement}, {place}), and reads nothing of it. If what is given is to count: compute with {name} in {function}().",
    "left_at_once": "{leaving} ({place}) ends {loop} ({at}) in its first round: it stands in the body of the loop, under no condition. If the loop is to go through all of {all}: {leaving} behind it, one level less indented.",
    "frozen_unless_told": "{statement} ({place}) freezes under if {test}: {name} is {default} by default, and left so ({calls:list}, {at:list}). If that is to be trained: {name}={other} there.",
    "applied_if_told": "{kind} never ran: {call} ({place}) stands under if {test}, and {name} is {default} by default, and left so ({at:list}). If it is to run: {name}={other} there.",
    "would_freeze": "{method} ({place}) switches requires_grad off, and did not run, as {callers:list}{there} alone calls it: nothing is frozen, though {made} ({at}) was told {told}. If that is to freeze: {call} before the training, and before the optimizer is made.",
    "factors_cancel": "{name} divides in {divides} and multiplies in {multiplies}: in the gradient on that way the two cancel.",
    "falls": "The gradient shrinks {fold}-fold from {late} to {early}: each of {parts} multiplies it by about {factor}; {blame} If {early} is to learn as fast: ReLU or GELU instead of a saturating function, a residual path, or normalisation.",
    "falls_from_own": "The gradient shrinks {fold}-fold from {late} to {early}: each of {parts} multiplies it by about {factor}; {blame} The weights of the {n} {kind} layers (made in {places:list}) are as wide as PyTorch makes them, 1 / sqrt(3 * inputs): behind a ReLU each lets less than half of the signal through, and of the gradient. If {early} is to learn as fast: nn.init.kaiming_uniform_(layer.weight, nonlinearity='relu') for each of them, normalisation, or a residual path.",
    "grows": "{loss} grew from backward to backward: {values:list}. If it is to fall: steps of {step} that go less far.",
    "grows_at": "{loss} grew from backward to backward: {values:list}. If it is to fall: a smaller learning rate ({rate} now) for {step}, such as a tenth of it.",
    "hardly_changed": "{loss} hardly changed in {n} backwards: {first} on average in the first eighth of them, {last} in the last, though {step} moved what it trains{rate}. If it is to fall: longer steps, as of a larger learning rate, or Adam where those diverge; inputs and targets scaled to about 1.",
    "hardly_changed_lately": "{loss} hardly changed in the last {n} backwards: {first} on average in the first eighth of them, {last} in the last, though {step} moved what it trains{rate}. Whether it is where it can come to was not measured. If it is to fall: longer steps, as of a larger learning rate, or Adam where those diverge; inputs and targets scaled to about 1.",
    "ended_higher": "{loss} was {first} in the first of {n} backwards, and {last} on average in the last eighth of them: {step} does not make it smaller{rate}. If it is to fall: shorter steps, as of a smaller learning rate.",
    "rate_of": " (a learning rate of {rate})",
    "rate_made": " (a learning rate of {rate}, {places:list})",
    "loss_broken": "{loss} was {value} in backward {at} of {n} ({maker}), and a number in the last one. If that is not meant: look at what went into it then (targets that are all left out, a mean of nothing, a logarithm, a division).",
    "rate_fallen": "The learning rate of {optimizer} is {rate} by now, and began at {first}: {schedule} was stepped {n:once|# times}. If that is too small to learn with: a slower schedule, or one step of it per epoch.",
    "rate_fallen_at": "The learning rate of {optimizer} is {rate} by now, and began at {first}: {schedule} was stepped {n:once|# times} ({places:list}). If that is too small to learn with: a slower schedule, or one step of it per epoch.",
    "rate_fallen_in_a_loop": "The learning rate of {optimizer} is {rate} by now, and began at {first}: {schedule} was stepped {n:once|# times} ({places:list}), in each pass of the loop of {inner}. If that is too small to learn with: a slower schedule; or, where it is to count epochs, {call} at the end of each pass of the loop of {outer}, and not there.",
    "undone_copy": "{code} gives {names:few} {leaves:its|their} values of before the step again, {n:once|# times}: what {step} learnt is gone in the next pass. If it is to go on from there: leave that out of the loop.",
    "begun_anew": "{code} gives {names} new values {n:once|# times}, each time after steps: what {leaves:it|they} had learnt by then is gone. If {leaves:it is|they are} to learn on: do that once, before the loops. If each round is a run of its own (a fold, a seed), all is well.",
    "undone_fill": "{code} gives {names:few} new values after a step, {n:once|# times}: what {step} learnt is gone in the next pass. If it is to go on from there: do that once, before the loop.",
    "model_anew": "{code} makes {names:few} anew for each of the {n} steps: {step} moved another model each time, and once only. If one is to learn: make the model and its optimizer once, before the loop.",
    "from_to": "{least} to {most}",
    "model_anew_in_loop": "{code} made {names:few} anew {n} times, and {step} moved each {times} times: what one learnt is gone in the next. For folds or seeds that is meant; if one model is to go on learning: make it, and its optimizer, once before the loop.",
    "leaf_anew": "{code} makes {names:few} anew for each of the {n} steps: {step} moved another tensor each time, and once only. If one is to learn: make it once, before the loop.",
    "derived_at_once": "{call} derives the {n} columns of {given} at once: each column of its result is the sum of the derivatives of all {n} by one input, mixed ones among them. If the derivative of one is wanted: torch.autograd.grad({given}[:, 0].sum(), {by}, create_graph=True)[0][:, 0], and so for each.",
    "handed_gradient": "{call} multiplies what goes back by the values of {given}: what backward() is handed is taken for the gradient of {root} that comes from above. So the derivative is multiplied by {given}. If the derivative itself is wanted: hand it torch.ones_like({root}).",
    "conjugate_returned": "{call} gives the conjugate of the derivative: of complex tensors torch returns conj(d{root}/d{by}) (times what is handed in from above), the direction in which a real loss grows. Where {root} is a holomorphic function of {by}, the derivative that a textbook writes is .conj() of what came.",
    "real_part_returned": "{root} is complex and {by} is real: {call} gives the real part of the derivative alone. If the whole is wanted: derive {root}.real and {root}.imag each in a call of its own, and put them together with torch.complex.",
    "only_rounding": "nothing but rounding comes to {names} (norm {size}): in the first backward already, what {call} sends back and what comes beside it cancel. So the loss does not change with {n:it|them}, as the sum or the norm of what was normalised, or only moved about, does not. For a gradient: a loss that does change, such as a distance to a target.",
    "optimizer_anew": "{code} makes the optimizer anew for each step of {step}, {n:once|# times}: what {kind} keeps from step to step (momentum, averages) begins again at 0 every time. If it is to be kept: make {name} once, before the loop.",
    "used_up": "{name} is a generator ({made}), and used up once it was gone through: {statement} ({place}) finds nothing in it. {name} = list({value}) can be read again and again.",
    "rate_attribute": "{statement} ({place}) sets an attribute that no step reads: the learning rate of {optimizer} is in its param_groups, and is {rate}. If it is to change: for g in {optimizer}.param_groups: g['lr'] = … there.",
    "rate_defaults": "{statement} ({place}) sets what later groups begin with: the learning rate of {optimizer} is in its param_groups, and is {rate}. If it is to change: for g in {optimizer}.param_groups: g['lr'] = … there.",
    "rate_copy": "{statement} ({place}) sets it in a copy: the learning rate of {optimizer} is in its param_groups, and is {rate}. If it is to change: for g in {optimizer}.param_groups: g['lr'] = … there.",
    "rate_variable": "{statement} ({place}) changes a variable that nothing reads any more: {optimizer} took its value when it was made, and its learning rate is {rate}. If it is to change: for g in {optimizer}.param_groups: g['lr'] = … there.",
    "climbs": "{optimizer} was made with maximize=True ({places:list}): each of its steps goes up, so that the loss grows. If it is to fall: leave maximize out.",
    "hook_returns_nothing": "{hook} is put as a hook ({put}) and returns nothing, so that what it computes ({statement}, {place}) changes nothing. If it is to: return {value} there.",
    "hook_on_a_copy": "{code} puts the hook on a new tensor, which {function} made and which goes into no loss: it never runs. If it is to see the gradient of {source}: put it on {source} itself.",
    "log_prob_without_minus": "{loss} is {log_prob} times what has no history, without a minus ({code}): each step makes what has a large factor less likely. If the factors are rewards, returns or advantages: -{log_prob}, or minus the sum.",
    "prediction_remade": "{code} compares {first}, which was made of plain numbers (they left torch at {cut}), with {second}, which has a history: what learns is {second} alone. If {first} is the prediction: keep it a tensor of torch's, without detach() and numpy(), and detach {second}.",
    "minus_a_distance": "{loss} went from {first} to {last}: it is minus what {function} gives ({code}), which is never negative, so each step makes that larger. If it is to become small: leave the minus out.",
    "minus_an_exponential": "{code} stands in {loss} with a minus, and has no end: each step makes it larger, and the loss falls as far as it grows. If it is a divergence or a penalty that is to stay small: the sign before it turned, as in -0.5 * sum(1 + logvar - mu² - exp(logvar)).",
    "nothing_loaded": "{statement} ({place}) loads nothing: none of the {n} names in there, such as {one}, is one of the model's, such as {own}, and strict=False passes over that. {mend}",
    "loaded_inside": "If those in there are meant: {code}.",
    "loaded_renamed": "If they are to be the same: {code}.",
    "loaded_strictly": "If something is to be loaded: without strict=False torch says which names do not meet.",
    "not_saved": "{names} {n:differs|differ} from {n:that|those} of {other}, though {code} ({place}) loaded a state_dict(): {n:it is a plain tensor|they are plain tensors} ({places:list}), which state_dict() leaves out. If {n:it is|they are} to be saved and loaded: self.register_buffer('{attribute}', …) there, in __init__.",
    "class_left_out": "{code} ({place}) leaves out the targets that are {index}: {n} of {of} in {name}, for which nothing is learnt, and which the network never gets to tell. If {index} is a class as the others: without ignore_index={index}.",
    "adds_the_gradient": "{loss} grew from {first} to {last}: {codes:list} adds a multiple of the gradient, and goes up with that. If it is to fall: -= there.",
    "batch_moved_by_a_view": "{call} makes [{after:commas}] of [{before:commas}]: {function} moves no dimension, it cuts the numbers up anew, so that each of the {n} along dimension {dim} gets parts of several samples. To move the batch there: {name}{squeezed}.permute({order:commas}).",
    "mixed_by_a_view": "{call} makes [{after:commas}] of [{before:commas}]: {function} moves no dimension, it cuts the numbers up anew, and mixes those of different samples or places. To swap dimensions: permute({order:commas}).",
    "clipped_to_little": "{clip} leaves {factor} of the gradients of {names}, so that {step} hardly moves them. If they are to learn: a larger bound, such as 1.",
    "schedule_of_another": "{schedule} is of another optimizer ({places:list}), with the same parameters, that nobody steps: the learning rate of {optimizer}, which steps, stays {rate}. Make the schedule from {optimizer}.",
    "schedule_given_a_loss": "{code} ({place}) hands {given} to a schedule that takes the number of the epoch there: {schedule} takes {given} for it, and the learning rate follows that. {function} with nothing in it (ReduceLROnPlateau alone takes a loss).",
    "linear_in_a_row": "Nothing stands between {one} and {other}: together they are one linear layer, and can be no more than that. If they are to be more: an activation between them, such as nn.ReLU().",
    "many_linear_in_a_row": "Nothing stands between {n} linear layers one behind the other, from {one} to {other}: together they are one linear layer, and can be no more than that. If they are to be more: activations between them, such as nn.ReLU().",
    "training_in_eval": "{layer} ran in training mode inside {module}, which was in evaluation mode{place}: eval() reaches only what __init__ has put into the module. Make it there, as self.…, or F.dropout(x, p, training=self.training).",
    "kept_from_eval": "{statement} ({place}) stays so after the first call in evaluation mode: nothing but __init__ sets {name} back, not train() either. If it is for that call alone: a variable of its own in {function}().",
    "mixed_by_a_merge": "{call} makes [{after:commas}] of [{before:commas}]: {function} merges neighbouring dimensions only, and the one of size {size} is not where it was, so numbers of different places are mixed. permute (or transpose) it there first, then {function}.",
    "added_twice": "{code} adds {name}, which is in that sum already ({first}): its gradient counts twice. If it is to count once: leave one of the two out.",
    "dropout_told_to_train": "{code} drops values in evaluation mode, too ({module} ran in it): it is told training=True. If it is to stop there: training=self.training.",
    "kl_of_a_part": "{call} gave {value}, and between two distributions it is never below 0: a part of what a softmax made was taken ({parts:list}), and a part does not add up to 1. If these classes alone are to count: choose them first, and the softmax of them then.",
    "kl_of_no_distribution": "{call} gave {value}, and between two distributions it is never below 0: {name}, or exp() of what is compared with it, does not add up to 1. A softmax, or log_softmax, for each.",
    "kl_of_another_total": "{call} gave {value}, and between two distributions it is never below 0: {name} adds up to {total}, not to 1. {name} / {name}.sum(-1, keepdim=True), or a softmax, makes it one.",
    "stale": "{code} was computed once, and {n} backwards from {loss} ({place}) went through it, while steps moved {names:few}: the loss and its gradient are still those of the old values. Compute it anew in each pass, before the loss.",
    "symmetric": "All {rows} {kind} of {names} are equal ({places:list}), and so are those of {n:its gradient|their gradients}: every output of {n:that layer|such a layer} is the same, and stays so. If they are to learn different things: different numbers to begin with, as nn.Linear has them by itself (nn.init.xavier_uniform_).",
    "one_in_a_list": "{name} holds one and the same tensor {n} times ({statement}, {place}): each shows its newest values. To keep those of each time: {given}.detach().clone() there.",
    "one_memory_in_a_list": "The {n} tensors in {name} have one memory ({statement}, {place}): each shows its newest values. To keep those of each time: {given}.detach().clone() there.",
    "dropout_in_eval": "{code} drops values in evaluation mode, too ({module} ran in it): without training=… F.dropout takes training=True. If it is to stop there: training=self.training, or an nn.Dropout made in __init__.",
    "last_of_the_batch": "{code} takes the last of the {n} samples, not the last step: with batch_first=True{made} the batch is dimension 0 of {name}. If the last step is meant: {instead}.",
    "batch_for_the_steps": "{call} attends over the {n} along dimension 0 of [{shape:commas}], as {layer}{made} has no batch_first=True; the {of} along dimension 1 never meet. But {shown}. If dimension 0 is the batch: batch_first=True for {layer}.",
    "batch_for_the_time": "{call} runs over the {n} along dimension 0 of [{shape:commas}], as {layer}{made} has no batch_first=True; the {of} along dimension 1 never meet. But {shown}. If dimension 0 is the batch: batch_first=True for {layer}.",
    "last_of_dimension_one": "{code} takes the last of dimension 1 of {name}, which is the batch ({n} samples): without batch_first=True the steps are dimension 0. If the input is [batch, steps, features]: batch_first=True where the layer is made{made}; else for the last step {instead}.",
    "frozen_by_default": "{names:few} {names:is|are} frozen: {statement} ({place}) freezes unless it is given freeze=False. If {names:it is|they are} to learn: freeze=False there.",
    "multiplied_by_zero": "{code} is 0, as {factor} is 0 there: {name} adds nothing to the loss, and trains nothing. If it is to count: another factor.",
    "one_of_many": "{code} takes one of the {n} losses that {function} gave, that of one sample: the others train nothing. If all are to count: .mean() there, or no reduction='none'.",
    "overwritten_losses": "{name} ({place}) was computed {n} times, and {used:one backward|# backwards} started from it: the others trained nothing. If each is to count: backward (and step) after each of them, in the same loop, or the sum of them all.",
    "below_zero_nll_loss": "{call} gave {value}, and of logarithms of probabilities nll_loss is never below 0: {name} is given to it as it is, with no log_softmax before it, so the loss falls without end as the scores grow. F.cross_entropy there, or F.log_softmax({name}, dim=1) before it.",
    "below_zero_kl_div": "{call} gave {value}, and between two distributions it is never below 0: its first argument is to be the logarithms of probabilities, its second probabilities. F.log_softmax for the first, F.softmax for the second.",
    "target_outside": "{call} expects targets from 0 to 1, and {name} goes from {least} to {most}: then it falls below 0 and on without end, however well the scores fit. Targets of 0 and 1 there.",
    "out_of_reach": "{n} of {of} values in {name} (from {least} to {most}) lie outside of what {function} ({place}) can give, {low} to {high}: {call} never gets near 0, and the gradient gets small where it stands at an end. If the output is to reach them: no such function at the output, or targets scaled to that range.",
    "out_of_reach_below": "{n} of {of} values in {name} are below 0, down to {least}, and {function} ({place}) gives none below 0: {call} never gets near 0. If the output is to reach them: no such function at the output.",
    "drifting": "{code:list} {code:changes|change} {data} itself, in place, and again in each later pass: a pass begins with what the one before left there. If each is to begin with the same data: out of place, as x = x - mean for x -= mean.",
    "kept_again": "{name} keeps {weights} in several entries, each of which is the live memory, not a copy ({places:list}): all of these show what the last step left. To keep what was: .clone() of each tensor, copy.deepcopy(…) of a state_dict().",
    "froze_nothing": "{code} did nothing: none of the {n} names fulfils {test}, and nothing is frozen. The first of them is {first}. If a part is to be frozen: test for names as they are, before the optimizer is made.",
    "bounded_scores": "{made} gives {call} products of normalised vectors, times {factor}: no score is beyond {most}, so with {n} classes the loss cannot fall below {least}, where a mere guess has {guess}. If it is to tell them apart: divide by the temperature, a number well below 1.",
    "slope_of_a_part": "{norm} gives {norms} norms of {name}, the gradients of {samples} samples: each is taken over a part of one sample, and that part is what the penalty holds to its number, not the slope of the sample, which grows far beyond. If the slope of each sample is meant: {code}.flatten(1).norm(2, dim=1) as the norm there.",
    "slope_of_a_batch": "{norm} takes one norm of {name}, the gradients of {samples} samples: the penalty holds the whole batch to its number, and the slope of each sample to far less. If the slope of each sample is meant: {code}.flatten(1).norm(2, dim=1) as the norm there.",
    "target_of_the_judge": "{call} has the same target as {other}, by which {judge} learnt to find out what is made with {maker}: so {loss} trains {maker} to be found out. If what is made is to be taken for real: the target {real} there, as in {place}.",
    "asks_to_be_found_out": "{call} has the same sign in {loss} as {other} has where {judge} learnt to find out what is made with {maker}: so {loss} trains {maker} to be found out. If what is made is to be taken for real: minus the mean of {score} there.",
    "noise_times_variance": "{call} multiplies noise by exp({name}), and {loss} has exp({name}) - {name} in the loss, as of the logarithm of a variance: what is drawn has the square of that variance. If {name} is the logarithm of the variance: the noise times torch.exp(0.5 * {code}), its standard deviation.",
    "noise_times_logarithm": "{call} multiplies noise by {name} itself, and {loss} has exp({name}) - {name} in the loss, as of the logarithm of a variance: at a variance of 1 it draws no noise at all. If {name} is the logarithm of the variance: the noise times torch.exp(0.5 * {code}), its standard deviation.",
    "free_draw": "{mean} and {log} come to the loss only by {sample}: no term of {loss} holds them near a prior, so training makes the noise as small as it likes, as in a plain autoencoder. If it is a variational autoencoder: + {term} in the loss there.",
    "exchanged_terms": "{scaled} scales by {factor} the term that moves {book} towards {other}, and {whole}, which moves {other} towards {book}, counts whole: what was looked up follows more slowly than {other} is pulled. If the factor is to weigh how {other} is held to {book}, as the commitment of a vector quantizer: let go of the other side in both terms, {book} in the scaled one and {other} in the whole one.",
    "mean_of_one": "{mean} takes the mean of a single number, which changes nothing: {made} has made one number of all {n} samples of the batch before, so it grows with the batch. If the mean over the samples is meant: dim={dims} in {function} there.",
    "mixed_reductions": "In one loss {sum} adds up what {mean} is a mean of: over {n} samples here, so the former weighs the more the larger a batch is. If both are to count alike: / {n} there, or the mean over the samples.",
    "larger_of_clipped": "{code} takes the larger of a value and the clipped one, and the loss takes that with a minus: what is clipped bounds no step. If it is to, as in PPO: the smaller one, torch.min.",
    "minus_entropy_with_minus": "{code} adds up p log p, which is minus the entropy, and it stands in {loss} with a minus: each step makes the entropy smaller, and what is drawn surer. If it is there to keep a policy trying: with a plus.",
    "entropy_with_plus": "{code} stands in {loss} with a plus: each step makes the entropy smaller, and what is drawn surer. If it is there to keep a policy trying: with a minus.",
    "random_buffer": "{name} is a buffer of random numbers ({place}), and nothing moves it. If it is to learn: self.{attribute} = nn.Parameter(…) there.",
    "noise_not_seen": "{noise}, the target of {call}, is drawn at random ({place}), and {prediction} is not computed from it: no input tells of it, and the best that can be learnt is its mean. If that is the noise to be found: the same {noise} in what goes in.",
    "uneven_alone": "{step} used the gradient of one backward {times:once|## times}, and the sum of {more} {n:once|## times}, of a loss that is scaled as for a sum ({scaled}). If several are to add up before each step: it stands in the other branch, or under the wrong condition.",
    "patterns_in_vain": "{parts:few} ({place}) {n:is|are} in no parameter's name (the first is called {first}): if {test} ({at}) is never true by {n:it|them}, and what {n:it was|they were} to freeze stays as it is. If that is to be frozen: the names as named_parameters() gives them.",
    "flags_not_kept": "{code} makes {n:a new parameter|# new parameters} out of {n:a frozen one|frozen ones} ({off}): the flag of nn.Parameter() is True unless it is given, and {n:it is|all are} trainable. If {n:it is|they are} to stay frozen: requires_grad=, with the flag of the old one, there; or freeze after it.",
    "flag_of_a_copy": "{code} sets the flag of a new tensor: {part} makes one, and nothing keeps it. {whole} stays frozen as a whole. If these rows are to learn: let {whole} require grad, and set the gradients of the others to 0 before each step; or keep these rows in a Parameter of their own.",
    "uneven_evaluated": "{step} used the gradients of {usual:one backward|# backwards} {times:once|## times}, and the sum of {more} {n:once|## times}: {evaluated} of these are of passes in evaluation mode, and nothing cleared them before the next step. If these are only to be looked at: {backward} only where a step follows.",
    "uneven_rest": "{step} used the sum of {usual} backwards {times:once|## times}, and of {more} {n:once|## times}: what a round leaves over goes into the first step of the next one, and after the last round into none. If it is to count: a step after each round, too.",
    "eval_freezes_nothing": "{name} ran in eval mode alone ({place}), which freezes nothing: steps move {n} of its {of} parameters. If it is to stay as it is: {name}.requires_grad_(False), and the optimizer without it.",
    "target_without_signs": "{function} expects targets of 1 and -1, and {name} has {n} of {of} others, such as {value} ({call}). If 0 stands for the other class: {name} * 2 - 1, which is 1 and -1.",
    "all_left_out": "All targets in {name} are {value}, which {call} leaves out (ignore_index): its mean is one of nothing, NaN, and no sample trains anything. If {value} is a class as the others: another ignore_index.",
    "all_of_weight_zero": "{weight} is 0 for {classes:list}, and {name} holds no other class: {call} multiplies each sample by 0. If these are to count: weights above 0.",
    "rate_fallen_of_max": "The learning rate of {optimizer} is {rate} by now, and began at {first}: {schedule} was stepped {n:once|# times} ({places:list}), and with mode='max' it lowers the rate whenever what it is given does not grow. If that is a loss, which is to fall: mode='min'.",
    "still_at_first": "{step} moved nothing {n:in its first step|in its first # steps}, of {all}: the learning rate was 0 there. If {n:that is|these are} to count: begin above 0.",
    "still_at_first_by": "{step} moved nothing {n:in its first step|in its first # steps}, of {all}: the learning rate was 0 there, as {code} gives it for {name} = 0. If {n:that is|these are} to count: ({name} + 1) in the place of {name} there.",
    "moves_hardly": "{step} moves what {optimizer} holds by {share} of its size at most: hardly anything is learnt. If it is to learn: a larger learning rate than {rate}, or larger gradients: what the loss is divided by counts.",
    "rate_small": "The learning rate of {optimizer} is {rate}: a step moves a weight by about that, or that times its gradient. If nothing seems to move: a larger one, such as 1e-3.",
    "decay_large": "Each step of {optimizer} takes {share} of every weight away, whatever its gradient is: the learning rate ({rate}) times weight_decay ({decay}). If the weights are not to vanish: a smaller weight_decay, such as 0.01.",
    "softmax_again": "{second} is given what {first} made: log_softmax of a log_softmax is the same again, and so are its gradients. One of them can go.",
}

# of parameters that stay or move, and of many subjects at once: why/survey/moving.py, why/answering/entry.py
MANY: dict[tuple[Cause, str], Answer] = {
    # no fault: {what} is one of the phrases of ENTRY
    (Cause.HEALTHY, "fine"): Answer(
        verdict="{health}{what:begin}.",
        why="Whether these are the gradients that you want was not checked.",
    ),
    (Cause.HEALTHY, "fine_loss"): Answer(
        verdict="{health}{what:begin}.",
        why="Which gradients arrived there was not checked.",
    ),
    (Cause.HEALTHY, "fine_unseen"): Answer(
        "No fault is visible: {what}. Without a recording no more than that is known.",
        mend=RECORD_IT,
    ),
    (Cause.FROZEN, "all_frozen"): Answer(
        "{names} {n:is frozen: it gets no gradient|are frozen: none of these # parameters gets a gradient}.",
    ),
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
        verdict="{optimizers} holds {names}: {n:a result, not a leaf|results, not leaves}.",
        why="a step writes to {n:it, not to the leaf behind it, and it gets|them, not to the leaves behind them, and they get} no .grad unless {n:it is|they are} retained.",
        mend="give the optimizer the {n:leaf|leaves}.",
    ),
    (Cause.NOT_MOVED, "stays"): Answer(
        "{optimizers}'s next step will not move {names}: {reason}.",
    ),
    (Cause.BRANCH_NOT_TAKEN, "not_called"): Answer(
        verdict="No call of this run used {names}.",
        why="the forward of {owner} ran and does not call {names}.",
        mend="call {n:it|them} in forward; or, where {n:it is|they are} not needed, leave {n:its|their} creation out of __init__.",
    ),
    (Cause.BRANCH_NOT_TAKEN, "in_a_branch"): Answer(
        verdict="No call of this run used {names}.",
        why="the forward of {owner} ran, and took no way through the line that uses {names}.",
        mend="if {n:it is|they are} to be trained: take that way. If not, nothing is wrong; {n:it gets|they get} no gradient as long as {n:it is|they are} made all the same: {made}.",
    ),
    (Cause.BRANCH_NOT_TAKEN, "taken_out"): Answer(
        verdict="{symptom}: no call read {names}.",
        why="{taken:list} goes on with the plain {n:number that it holds|numbers that they hold}: no gradient comes back from that, and it stays what it was when it was taken.",
        mend="hand on the {n:parameter itself|parameters themselves} there, without item() or float().",
    ),
    (Cause.BRANCH_NOT_TAKEN, "not_read"): Answer(
        verdict="No call of this run used {names}.",
        why="{owner} ran, and no call there read {names}.",
        mend="use {n:it|them} in forward; or, where {n:it is|they are} not needed, leave {n:its|their} creation out of __init__.",
    ),
    (Cause.NOT_MOVED, "holds_twins"): Answer(
        verdict="No optimizer that is known here holds {names}: no step moves {n:it|them}.",
        why="{optimizer} holds parameters like {n:this|these}, that no call used and that have no gradient: those of an earlier model, or of what this one was copied from.",
        mend="make the optimizer from the model that runs, after it is made or copied.",
    ),
    (Cause.NOT_MOVED, "holds_the_other"): Answer(
        verdict="No optimizer holds {names}, which get the gradients: no step moves them.",
        why="{optimizer} holds {others} alone, and no gradient comes to these.",
        mend="make {optimizer} from {model}.parameters(), if {model} is to learn; if {other} is: call it where {model} is called on the way to the loss.",
    ),
    (Cause.NOT_MOVED, "only_rebound"): Answer(
        verdict="Nothing moves {names}: {code} makes a new tensor, which only the name {name} gets.",
        why="= binds a name: the {n:parameter|parameters} {n:stays as it was|stay as they were}, and no call read the new {n:tensor|tensors}.",
        mend="write into {n:the parameter itself|the parameters themselves}, under torch.no_grad(): p -= …, not p = p - …; or let an optimizer step.",
    ),
    (Cause.NOT_MOVED, "zero_rate"): Answer(
        verdict="{optimizer}'s next step will not move {names}: lr is 0.",
        why="a step adds -lr times what it makes of the gradient.",
        mend="a learning rate above 0, such as lr=1e-3.",
    ),
    (Cause.NOT_MOVED, "zero_rate_written"): Answer(
        verdict="A step of {optimizer} does not move {names}: its lr is 0, written there.",
        why="a step adds -lr times what it makes of the gradient; what is written before the next step was not seen.",
        mend="let what is written begin above 0, such as (step + 1) / warmup_steps.",
    ),
    (Cause.NOT_MOVED, "zero_rate_uncalled"): Answer(
        verdict="A step of {optimizer} does not move {names}: its lr is 0, and {writer}(), which sets another one, did not run.",
        why="a step adds -lr times what it makes of the gradient.",
        mend="call {writer}() in each pass, in the place of {optimizer}.step() where it steps itself.",
    ),
    (Cause.NOT_MOVED, "zero_rate_scheduled"): Answer(
        verdict="{optimizer}'s next step will not move {names}: its lr is 0, set by {scheduler}.",
        why="a step adds -lr times what it makes of the gradient, and the schedule has made lr 0.",
        mend="let the schedule begin above 0, such as (current_step + 1) / num_warmup_steps; and call scheduler.step() after each optimizer.step().",
    ),
    (Cause.NOT_MOVED, "zero_rate_divided"): Answer(
        verdict="{optimizer}'s next step will not move {names}: its lr is 0, set by {scheduler}.",
        why="{divides} is a division of whole numbers, and gives 0 there: what is smaller than the divisor counts for nothing.",
        mend="{divided} in the place of {divides}.",
    ),
    (Cause.NOT_MOVED, "zero_rate_ended"): Answer(
        verdict="{optimizer}'s next step will not move {names}: its lr is 0, set by {scheduler}.",
        why="a step adds -lr times what it makes of the gradient, and the schedule has come to 0.",
        mend="if training is to go on: a schedule that comes to 0 later, or that ends above 0.",
    ),
    (Cause.NEVER_TRACKED, "plain_tensor"): Answer(
        verdict="{names} {n:is a plain tensor|are plain tensors}, no nn.Parameter: the loss is computed with {n:it|them}, and nothing trains {n:it|them}.",
        why="parameters() lists nn.Parameters only. {n:It keeps|They keep} the numbers that the constructor gave; for a constant that is as it should be.",
        mend="if {n:it is|they are} to learn: self.{one} = nn.Parameter(…), before the optimizer is made; register a constant with register_buffer().",
    ),
    (Cause.NEVER_TRACKED, "plain_zeros"): Answer(
        verdict="{names} {n:is a plain tensor|are plain tensors} of zeros, no nn.Parameter: the loss is computed with {n:it|them}, and nothing trains {n:it|them}.",
        why="parameters() lists nn.Parameters only: {n:it stays|they stay} all zeros. For a constant that is as it should be.",
        mend="if {n:it is|they are} to learn: self.{one} = nn.Parameter(…), before the optimizer is made; register a constant with register_buffer().",
    ),
    (Cause.NOT_MOVED, "twice_held"): Answer(
        verdict="{second} has the same parameters as {first}, and nothing else: no step moves {names}.",
        why="the loss reaches {n:it|them}, and no optimizer that is known here holds {n:it|them}.",
        mend="make {second} from the parameters of the model that it is to train, and call its step().",
    ),
    (Cause.NOT_MOVED, "only_frozen"): Answer(
        verdict="All that the optimizers hold is frozen: {names}. No step moved anything.",
        why="requires_grad of {n:it|them} is False: {n:it gets|they get} no gradient, and a step passes by what has none.",
        mend="do not freeze {n:it|them}, or set requires_grad = True for {n:it|them} after the last line that does.",
    ),
    (Cause.NOT_MOVED, "only_frozen_beside"): Answer(
        verdict="All that the optimizers hold is frozen: {names}. No step moved anything.",
        why="{learning} {count:gets a gradient|get gradients}, and no optimizer that is known here holds {count:it|them}.",
        mend="give an optimizer {learning}: make it when the model is complete, or add_param_group().",
    ),
    (Cause.NOT_MOVED, "holds_none"): Answer(
        verdict="{optimizers}'s next step will not move {names}: {optimizers} holds none of them.",
        mend="make the optimizer from this model's parameters.",
    ),
    (Cause.NOT_MOVED, "held_by_none_asked"): Answer(
        verdict="{optimizers} holds none of {names}: its steps leave {n:it|them} where {n:it is|they are}, gradient or not.",
        why="{optimizers} moved {others}. What a loss sends to {names} changes nothing there.",
        mend="if {names} is to learn: {optimizers}.add_param_group() with it, or an optimizer of its own. If it is a target, or fixed, nothing is wrong.",
    ),
    (Cause.NOT_MOVED, "wrapped_again"): Answer(
        verdict="forward makes {names} anew at each call: {optimizer} holds the Parameter from before, and no step moves the new one.",
        why="{optimizer} holds {count:one parameter|# parameters} of no module known here: each call of forward puts another in its place.",
        mend="leave nn.Parameter(…) out of forward: make the Parameter in __init__, and give what forward computes from it a name of its own.",
    ),
    (Cause.NOT_MOVED, "replaced"): Answer(
        verdict="No optimizer that is known here holds {names}: no step moves {n:it|them}.",
        why="{optimizer} holds {count} {count:parameter|parameters} of no module known here: {count:was it|were they} replaced afterwards?",
        mend="make the optimizer when the model is complete, or add_param_group().",
    ),
    (Cause.NOT_MOVED, "made_again"): Answer(
        verdict="{optimizer} holds the parameters of an earlier {model}, not {names}: no step moves {n:it|them}.",
        why="{optimizer} was made from the {model} of then; {again} made another one, with parameters of its own, and that is the one that runs.",
        mend="make the optimizer below {again}, or leave that line out.",
    ),
    (Cause.NOT_MOVED, "in_no_module"): Answer(
        verdict="No optimizer that is known here holds {names}: no step moves {n:it|them}.",
        why="the loss reaches {n:it|them}, others were stepped, and no recorded call wrote {n:it|them}.",
        mend="if {n:it is|they are} to learn: add_param_group().",
    ),
    (Cause.NOT_MOVED, "made_anew"): Answer(
        verdict="{names} {n:is|are} made anew in each call of {methods:list}: no optimizer holds {n:it|them}, and what {n:it|they} would learn is gone with {n:it|them}.",
        why="a parameter that a method makes is that call's own: the next call makes another one.",
        mend="make {n:it|them} once, in __init__, as self.… = nn.Parameter(…), and use self.… in {methods:list}.",
    ),
    (Cause.NOT_MOVED, "made_anew_in_function"): Answer(
        verdict="{names} {n:is|are} made anew in each call of {methods:list}: no optimizer holds {n:it|them}, and what {n:it|they} would learn is gone with {n:it|them}.",
        why="a parameter that a function makes is that call's own: the next call makes another one.",
        mend="make {n:it|them} once, in __init__ of the module, as self.… = nn.Parameter(…), and hand self.… to {methods:list}.",
    ),
    (Cause.NOT_MOVED, "made_in_forward"): Answer(
        verdict="Each forward of {owner:list} makes {names:few} anew: no optimizer can hold {n:it|them}.",
        why="each call starts from new random numbers, and what got the gradient is gone after it.",
        mend="make {n:it|them} once, in __init__ (self.layer = …), before the optimizer is made; forward only calls {n:it|them}.",
    ),
    (Cause.NOT_MOVED, "in_list"): Answer(
        verdict="No optimizer that is known here holds {names}: no step moves {n:it|them}.",
        why="the loss reaches {n:it|them}, others were stepped, and no recorded call wrote {n:it|them}. {lists:few}: a plain list or dict, where parameters() does not look.",
        mend="if {n:it is|they are} to learn: {containers:list}, before the optimizer is made.",
    ),
    (Cause.LEFT_OUT, "left_out"): Answer(
        verdict="No optimizer that is known here holds {names}: {n:it stays as it is, as if it were|they stay as they are, as if they were} frozen.",
        why="of {all} trainable {all:parameter|parameters} of {model} {held} {held:is|are} in an optimizer; {n:this one is|these are} in none that is alive. {n:Its gradient is|Their gradients are} computed all the same, {n:adds|add} up unused, and optimizer.zero_grad() does not clear {n:it|them}.",
        mend=IF_LEFT_OUT,
    ),
    (Cause.LEFT_OUT, "left_out_cleared"): Answer(
        verdict="No optimizer that is known here holds {names}: {n:it stays as it is, as if it were|they stay as they are, as if they were} frozen.",
        why="of {all} trainable {all:parameter|parameters} of {model} {held} {held:is|are} in an optimizer; {n:this one is|these are} in none that is alive. {n:Its gradient is|Their gradients are} computed all the same, and cleared unused ({clears}).",
        mend=IF_LEFT_OUT,
    ),
    # of what is gone, as the recording saw it
    (Cause.LEFT_OUT, "gone_some"): Answer(
        verdict="No optimizer that stepped held {names}: {n:it stays as it is, as if it were|they stay as they are, as if they were} frozen.",
        why="of {all} parameters of {model} that were used, {held} {held:was|were} in one. {n:This one's gradient is|The gradients of these are} computed all the same, and {n:goes|go} unused.",
        mend=IF_LEFT_OUT,
    ),
    (Cause.LEFT_OUT, "gone_inside"): Answer(
        verdict="No optimizer that stepped held {names}: {n:it stays as it is, as if it were|they stay as they are, as if they were} frozen.",
        why="{model} runs inside {outer} and is none of its parts: parameters() does not look into plain lists and dicts.",
        mend="if {n:it is|they are} to learn: nn.ModuleList or ModuleDict, before the optimizer is made.",
    ),
    (Cause.NOT_MOVED, "step_in_no_call"): Answer(
        verdict="No step moves {names}: {step} ({place}) stands in {function}(), which did not run.",
        why="{optimizer} holds {names}; {backward} sends gradients there, which add up, and no step uses them.",
        mend="call {function}() after {backward}.",
    ),
    (Cause.NOT_MOVED, "step_left_out"): Answer(
        verdict="{optimizer} is never stepped: it holds {names}, which {loss} sends gradients to, and the code clears these and has no {optimizer}.step().",
        why="{names} stays as it was; what stepped was {stepped:list}.",
        mend="{optimizer}.step() after {backward}.",
    ),
    (Cause.NOT_MOVED, "step_not_reached"): Answer(
        verdict="No step moved {names}: {step} did not run, though {backwards} backwards brought gradients.",
        why="it stands under {condition}, which was not met after any of them; the gradients add up and wait.",
        mend="make that condition true in time: count from 1, compare with what a loop over the data really reaches, and step what is left after the loop.",
    ),
    (Cause.NOT_MOVED, "step_at_no_remainder"): Answer(
        verdict="No step moved {names}: {step} did not run, though {backwards} backwards brought gradients.",
        why="it stands under {condition}, and a remainder of 0 counts as false: that was so after each of them; the gradients add up and wait.",
        mend="{condition} == 0 there: then a step follows where nothing is left over.",
    ),
    (Cause.NOT_MOVED, "gone_others"): Answer(
        verdict="No optimizer that stepped held {names}: no step moved {n:it|them}.",
        why="nothing that the optimizers held got a gradient: those are the parameters of an earlier model, or of what this one was copied from.",
        mend="make the optimizer from the model that runs, after it is made or copied.",
    ),
    (Cause.NOT_MOVED, "gone_twice"): Answer(
        verdict="No optimizer that stepped held {names}: no step moved {n:it|them}.",
        why="two optimizers held the same parameters, and nothing else.",
        mend="make one of the two from the parameters of {model}.",
    ),
    (Cause.NOT_MOVED, "group_unused"): Answer(
        verdict="No optimizer holds {names}: no step moves {n:it|them}. {group} has {n:it|them}, and was given to none.",
        why="of {all} trainable {all:parameter|parameters} of {model} {held} {held:is|are} in an optimizer.",
        mend="put {variable} into what the optimizer is made from, or optimizer.add_param_group().",
    ),
}

# --- pictures -------------------------------------------------------------------------------------

# the word for why a gradient path ends, wherever one is shown or told
CUT = {
    "detach": "`detach`",
    "detach_in_place": "`detach_`",
    "data": "`.data`",
    "no_grad": "`no_grad`",
    "inference_mode": "`inference_mode`",
    "not_differentiable": "non-differentiable function",
    "integer_dtype": "integer or bool dtype",
    "copied_out": "value copied out",
    "no_grad_write": "in-place write under `no_grad`",
    "flag_off": "`requires_grad` switched off",
    "custom_non_differentiable": "custom Function without a gradient",
    "unknown": "cut, reason not known",
}

# on cards, frames and arrows: picture/cards.py, nodes.py, frames.py, fold.py, arrange.py, live/steps.py
CARD = {
    "module": "module {module}",
    "accumulate_of": "AccumulateGrad of {leaf}",
    "cut": "✂ {reason}",
    "cut_back": "✂ {reason} · no gradient back",
    "raises_here": "backward raises here",
    "memory": "shared memory",
    "memory_names": "one block of memory, {n:one name|## names}",
    "memory_tensors": "one block of memory, {n:one tensor|## tensors}",
    "not_recorded": "{mode}: not recorded",
    "made_under": "made under {mode}",
    "frame_left_out": "{frame}: {members}",
    "line_of_code": "line {line}: {code}",
    "from_to": "{first} … {last}",
    "module_box": "{name} {kind}",
    "with_nodes": "{title} · {n:1 node|# nodes}",
    "times": "{what} × {n}",
    "gradients": "{n} gradients",
    "folded": "{n:1 box folded|# boxes folded}",
    "leaves_inside": "{n:1 leaf inside|# leaves inside}",
    "more_kinds": "… {n:# more kind|# more kinds}",
    "more_leaves": "and {n} more",
    "names_only": "{names:commas}, {names:a leaf|leaves} whose own {names:card stands|cards stand} elsewhere",
    "note_folded": "Folded: {cards} boxes are drawn as {boxes}. The text lists what is inside.",
    "note_folded_first": "Folded: {cards} boxes are drawn as {boxes}. The text lists the first {n}.",
}

# all that is known of a card, in the box beside it: picture/state.py
FACT = {
    "name_of": "{name} of {of}",
    "inside": "inside",
    "module": "module",
    "line": "line",
    "line_of_code": "{line}: {code}",
    "values": "values",
    "spread": "numbers",
    "version": "version",
    "arrived": "gradient arrived",
    "sent": "gradient sent",
    "sent_to": "{value} to {to}",
    "more_nodes": "… and {n:# more node|# more nodes}",
    "storage": "storage",
    "bytes": "{n} {n:byte|bytes}",
    "shared": "{size}, shared with {others}",
    "view_of": "view of",
    "stride_and_offset": "stride, offset",
    "node": "node",
    "saved": "{node} saved",
    "first_of": "{names} … {n} in all",
}

# the signs of a picture, by the kinds of arrows, cards and frames: picture/legend.py
LEGEND = {
    "forward": "─► value",
    "gradient": "◄━ gradient",
    "zeros": "◄─ gradient, only zeros",
    "edge": "◄─ gradient edge",
    "raise": "▌╌ backward stopped",
    "cut": "▌╌► ✂ cut",
    "untracked": "dashed card: not tracked",
    "memory": "dashed frame: one memory",
    "region": "shaded: not recorded",
    "tag": "small card: the same leaf",
    "tags": "small card: the same leaves",
    "fold": "thick frame: folded",
}

# how many parameters of a card got what: picture/outline/state_rows.py, unrecorded.py
PARAM_COUNT = {
    "zero_short": "! {n} of {total}: only zeros",
    "gets": "✓ {n} of {total} {total:param gets|params get} a gradient",
    "gets_short": "✓ {n} of {total} get a gradient",
    "gets_shortest": "✓ {n} of {total} get one",
    "lost_all": "✗ 0 of {n} {total:param gets|params get} a gradient",
    "lost_all_short": "✗ 0 of {n} {total:gets|get} one",
    "lost": "✗ {n} of {total} {total:param|params} {n:gets|get} no gradient",
    "lost_named": "✗ {n} of {total} {total:param|params} {n:gets|get} no gradient: {names:few}",
    "lost_named_short": "✗ {n} of {total} get none: {names:few}",
    "lost_named_shortest": "✗ {n} of {total}: {names:few}",
    "nan": "! {n} of {total} {total:param gets|params get} NaN",
    "zero": "! {n} of {total} {total:param gets|params get} only zeros",
    "vanished": "! {n} of {total} {total:param gets|params get} next to nothing",
    "by_hand": "✓ {n} of {total}: .grad is set by hand",
    "reached": "{n} of {total} {total:param|params} can be reached",
}

# rows and headlines of outlines whose key is computed: picture/outline/
ALARM_COUNT = {
    "zero": "{n} of {total} zeros",
    "vanished": "{n} of {total} vanish",
    "nan": "{n} of {total} NaN",
}
ALARM_PART = {
    "zero": "{n} of these only zeros",
    "nan": "{n} of these NaN",
    "vanished": "{n} of these next to nothing",
    "unheld": "{n} of these in no optimizer",
}
STATE_OF = {
    "frozen": "frozen, requires_grad False:",
    "unheld": "gets a gradient, and no optimizer has it:",
}
FADES = {
    "zero": "{n:1 param gets|# params get} only zeros:",
    "vanished": "{n:1 gradient vanishes|# gradients vanish}, below 1e-10:",
}

# pictures of models: picture/outline/
OUTLINE = {
    "gets_tied": "✓ {n} of {total}: {names:few} (tied)",
    "gets_and_frozen": "✓ {n} of {total} {total:param gets|params get} a gradient (+{frozen} frozen)",
    "unheld": "– {n} of {total} in no optimizer: no step will move {n:it|them}",
    "unheld_short": "– {n} of {total} in no optimizer",
    "gets_from": "✓ {n} of {total} from {loss}",
    "gets_from_short": "✓ {n} of {total}: {loss}",
    "gets_from_shortest": "✓ {loss}",
    "none_from": "– 0 of {total} from {loss}",
    "none_from_short": "– 0 of {total}: {loss}",
    "none_from_call": "– {n} of {total}: not from this call",
    "from_others": "✓ {n} of {total}, from {others:few} (tied weight)",
    "from_another_call": "✓ {n} of {total} from another call",
    "not_through_here": "✗ no gradient through here",
    "none_each": "0 of {total} each",
    "no_optimizer": "– {n:# param|# params}, in no optimizer",
    "no_optimizer_short": "– {n:# param|# params}, no optimizer",
    "no_gradient": "– {n:# param gets|# params get} no gradient",
    "no_parameter": "– {names:few}: no {names:parameter|parameters} (buffer or plain tensor), no gradient",
    "no_parameter_short": "– {names:few}: no {names:parameter|parameters}",
    "no_parameters_used": "used like {n:a parameter|parameters}, but buffer or plain tensor, so no gradient (fine if fixed):",
    "frozen": "{n:# param|# params} frozen: requires_grad False",
    "frozen_short": "{n:# param|# params} frozen",
    "moved": "! running stats moved, though frozen",
    "moved_short": "! running stats moved",
    "batch_norms": "{n:# BatchNorm|# BatchNorms}",
    "lets_through": "lets the gradient through",
    "all_frozen": "frozen",
    "named_lost": "✗ {names:few}: no gradient",
    "named_off": "– {names:few}: no gradient",
    "lost_so_many": "✗ {n:# param gets|# params get} none",
    "named_unheld": "– {names:few}: no gradient, in no optimizer",
    "named_zero": "! {names:few}: only zeros",
    "named_nan": "! {names:few}: NaN",
    "named_gets": "✓ {n} of {total} {total:param gets|params get} a gradient: {names:few}",
    "named_gets_short": "✓ {n} of {total}: {names:few}",
    "named_reached": "{names:few} can be reached",
    "named_by_hand": "✓ {names:few}: .grad is set by hand",
    "set_by_hand": ".grad is set by hand:",
    "fills_none": "fills none of these",
    "so_many": "{n:# param|# params}",
    "named_elsewhere": "– {names:few}: its gradient comes another way",
    "elsewhere": "– its gradient comes another way",
    "elsewhere_short": "– gradient: another way",
    "count_gets": "{n} of {total} ✓",
    "count_lost": "{n} of {total} ✗",
    "lost_ones": "{names} ✗",
    "count_off": "0 of {total} –",
    "count_other_call": "{n} –: not from this call",
    "count_elsewhere": "from {names:few}",
    "named_vanished": "! {names:few}: next to nothing",
    "never_called": "✗ {path}: never called, 0 of {n} {n:param|params}",
    "not_called": "never called",
    "first_to_last": "{first} … {last}",
    "between": "{low} to {high}",
    "nth_backward": "backward {n}",
    "before_cut": "{kind}: before the cut",
    "after_cut": "{kind}: after the cut",
    "between_cuts": "{kind}: between two cuts",
    "part_no_grad": "{kind}: under no_grad",
    "from_to": "{first} – {last}",
    "modules": "{n:# module|# modules}",
    "times_kind": "×{n} {kind}",
    "called_times": "×{n} {kind}, called {n} times",
    "call_of": "{kind}, call {k} of {n}",
    "side_by_side": "{n} side by side",
    "constant_in_loss": "a loss has {name} as a constant:",
    "without_create_graph": "✂ derived without create_graph, {place}",
    "constant_derivative": "✂ {name}: a derivative without create_graph, {place}: no gradient back",
    "constant_derivative_short": "✂ {name}: no create_graph, no gradient back",
    "after": "{kind}, after {after:commas}",
    "then": "{kind}, then {then:commas}",
    "after_and_then": "{kind}, after {after:commas}, then {then:commas}",
    "line_times": "line {line}, ×{n}",
    "lines": "lines {first} – {last}",
    "of": "of {names:few}",
    "function_of": "{function} of {names:few}",
    "sends": "sends {norm}",
    "gets_norm": "gets {norm}",
    "starts": "{node} · backward() starts with 1",
    "starts_short": "backward() starts here",
    "ends_detached": "▲ the gradient ends here: the input is detached",
    "ends_short": "▲ ends here: {why}",
    "why_detached": "detached",
    "why_cut": "cut off",
    "why_untracked": "not tracked",
    "backward_at": "{loss}.backward() {place}{times::|, # times:}",
    "backward_of": "{loss}.backward(){times::|, # times:}",
    "grad_at": "autograd.grad of {loss}, {place}{times:|, # times}: fills no .grad",
    "grad_of": "autograd.grad of {loss}{times:|, # times}: fills no .grad",
    "unseen": "not recorded",
    "unseen_where": "older than the recording, or of torch.func, torch.compile, C++",
    "unseen_short": "older, torch.func, compiled or C++",
    "unseen_nodes": "{node}{n:|, the last of # nodes}",
    "compiled": "torch.compile: {n:one call|# calls}, the inside is not recorded",
    "compiled_short": "torch.compile: inside not recorded",
    "iterations": "{n} iterations of a loop, {how}: {which} is drawn",
    "all_alike": "all alike",
    "alike_but": "alike but for what ran inside of modules",
    "alike_often": "alike but for how often the same ran",
    "iterations_in_it": "in it {n} iterations, {how}: {which} is drawn",
    "last": "the last",
    "number": "number {k}",
    "moves_named": "moves {names:few}, under no_grad",
    "moves_so_many": "moves {n:# param|# params}, under no_grad",
    "reads_named": "only reads {names:few}, under no_grad",
    "reads_named_short": "only reads {names:few}",
    "reads_so_many": "only reads {n:# param|# params}",
    "constant": "a constant here: no gradient back",
    "trend": "{first} → {last}",
    "grad_starts": "{node} · autograd.grad starts with 1",
    "all_of": "{n} of {total} ✓",
    "grads_of": "autograd.grad of {losses:list}: fills no .grad",
    "more_backwards": "and {n:1 more backward call|# more backward calls}",
    "alone_get": "{names:list} ✓",
    "module_gets": "{module} {n} of {total} ✓",
    "module_gets_more": "{module} {n} of {total} ✓ (added to the gradient of {losses:list})",
    "module_gets_none": "{module} 0 of {total}",
    "others_get_none": "the other {n}: none",
    "module_under_no_grad": "{module} 0 of {total}: ran under no_grad, {place}",
    "kth_call": "call {k}",
    "call_short": "call {k} of {n}",
    "ends_cut": "▲ the gradient ends here: the input is cut off",
    "ends_untracked": "▲ the gradient ends here: the input is not tracked",
    "chart": "norm of the gradient at each step",
    "chart_short": "gradient at each step",
    "chart_scale": "log scale, {low} to {high}",
    "step": "step {k}",
    "loop_dies": "! vanishes: {norm} at step {end}, below {floor} before step {k}",
    "loop_dies_short": "! below {floor} before step {k}",
    "loop_zero": "0 before step {k}",
    "loop_ends": "{norm} at step {end}, {first} at step {start}",
    "loop_ends_from": "{norm} at step {end}, {first} at step {start}, none before",
    "loop_broken": "! nan or inf comes to step {k} of {last} first",
    "times": "×{n}",
    "cut_again": "mending this alone gives nothing, next comes",
    "others_send": "{k} of {n} skips of this kind send a gradient, this one does not",
    "branches_send": "{k} of {n} {kind} that use {name} send it a gradient, this one does not",
    "step_at": "{code} {place}",
    "left_out": "· left out of {steps:few}",
    "tied_unused": "was never called; its parameters are those of {names:few} (tied)",
    "whose": "· those of {names:few}",
    "normal_at_start": "lora_B starts at zero, so lora_A gets zeros in the first step",
    "cancels": "what its uses send cancels out",
    "zero_cancels": "– {n} of {total}: zeros, as what its uses send cancels out",
    "zero_cancels_short": "– {n} of {total}: cancels out to zeros",
    "zero_at_start": "– {n} of {total}: zeros, as lora_B starts at zero",
    "zero_at_start_short": "– {n} of {total}: zeros at the start",
    "module_gets_zeros": "{module} {n} of {total} only zeros",
    "place_of_code": "{place}, {code}",
    "loop_unknown": "the gradient was not measured",
    "broken": "nan or inf appear first in the backward of",
    "loop_times": "loop, ×{n}",
    "lines_times": "lines {first} – {last}, ×{n}",
    "loop_vanishes": "the gradient vanishes in a loop:",
    "loop_vanishes_at": "below {floor} before step {k} of {last}",
    "loop_line": "{place}, below {floor} before step {k} of {last}",
    "skip": "+ skip from {name}",
    "skip_without": "skip from {name}",
    "skip_cut": "✂ skip from {name}: {reason}, {place}",
    "also_goes": "also goes to {name}",
    "also_cut": "✂ also goes to {name}, cut in {place}",
    "cut_in_each": "✂ {reason}, {place}, in each of the {n}",
    "cut_between": "✂ {reason}, {place}, between them",
    "gets_and_frozen_short": "✓ {n} of {total} (+{frozen} frozen)",
    "cut_carried": "✂ from the iteration before: {reason}, {place}",
    "cut_carried_short": "✂ iteration before: {reason}",
    "cut_inside": "✂ {reason}, {place}, inside",
    "copied_out": "✂ {reason} · {place}: no gradient for {name}",
    "copied_out_short": "✂ {reason}: none for {name}",
    "no_gradient_back": "no gradient back",
    "gets_nothing": "gets nothing",
    "cut_at": "✂ {reason} · {place}",
    "decorator": "@{mode} on {function}()",
    "cut_in_line": "✂ {line}: {reason}",
    "cut": "✂ {reason}",
    "cut_by": "✂ {function}: {reason}",
    "cut_by_checkpoint": "✂ {reason}: none of its inputs requires grad",
    "reentrant": "reentrant checkpoint",
    "params_lost": "{n:# param gets|# params get} no gradient",
    "opened": "{name}, {kind}, opened",
    "leaf_some": "✓ gets a gradient",
    "leaf_zero": "! gets only zeros",
    "leaf_vanished": "! gets next to nothing",
    "leaf_nan": "! gets NaN",
    "leaf_lost": "✗ gets no gradient",
    "leaf_off": "– gets no gradient, in no optimizer",
    "leaf_frozen": "frozen: requires_grad False",
    "leaf_reached": "can be reached",
    "leaf_unreached": "✗ cannot be reached",
    "leaf_fills": "AccumulateGrad → {name}.grad",
    "leaf_added": "+ from {function}, in {module}",
    "leaf_added_outside": "+ from {function}",
    "leaf_added_more": "+ {n:# more use adds|# more uses add} to it",
    "points_here": "▸ the explanation points here",
    "makes": "makes {name}",
    "reads": "reads {name}",
    "joined": "{parts:commas}",
    "alt": "{headline}. {n:1 card|# cards}: {names:few}.",
    "no_parameters": "no parameters",
    "all_get": "{total:1 parameter gets a gradient ✓|# parameters: all # get a gradient ✓}",
    "all_can": "{total:1 parameter can be reached|# parameters: all # can be reached}",
    "parameters": "{total:1 parameter|# parameters}: {parts:commas}",
    "part_gets": "{n:1 gets a gradient ✓|# get a gradient ✓}",
    "part_gets_some": "{n:1 gets a gradient|# get a gradient}",
    "part_gets_none": "none gets a gradient",
    "part_can": "{n} can be reached",
    "part_lost": "{n:1 gets none ✗|# get none ✗}",
    "part_frozen": "{n:1 is frozen|# are frozen}",
    "part_unheld": "{n:1 gets none: in no optimizer|# get none: in no optimizer}",
    "part_without": "{n:1 gets none|# get none}",
    "goes": "{first} → {last}",
    "behind": "after {name}",
    "ahead": "before {name}",
    "way": "· {way}",
    "frozen_in": "since {place}",
    "made_in": "made in {place}",
    "line_way": "{place}, {way}",
    "on_another_way": "and on another way:",
    "names": "{names:few}",
    "batch_norms_moved": "frozen, yet train mode moved {n:its|their} running stats",
    "eval_keeps_them": "· eval() keeps them",
    "one_cause": "one cause:",
    "n_params": "{n:1 param:|# params:}",
    "more_causes": "and {n:1 more cause|# more causes}",
    "was_never_called": "never called",
    "was_never_used": "never used",
    "backward_raised": "backward raised before a gradient came there",
    "raised": "{call} raised",
    "raised_while": "while {node} ran",
    "raised_while_of": "while {node} of {code} ran",
    "loss_uses_nothing": "the loss does not use what it made",
    "line_inside": "{place}, inside",
    "line_inside_many": "{place}, inside {n} modules",
    "harmless": "a cut by which no parameter loses its whole gradient:",
    "cut_of_older": "a cut of what is older than the recording; which parameters lose a gradient by it is not known:",
    "harmless_on_cards": "{n:a cut|# cuts} by which no parameter loses its whole gradient: ✂ on the cards",
    "partly": "{n:one param loses|# params lose} a part of the gradient of {losses:list}:",
    "harmless_cut": "✂ {reason} {place}, {first:few} → {last:few}",
    "sign_comes": "gets a gradient",
    "sign_ends": "goes no further",
    "sign_none": "gets none",
    "sign_passes": "frozen, lets it through",
    "sign_frozen": "frozen",
    "sign_can": "can get one",
    "sign_opened": "frame: opened module",
    "sign_number": "number: norm of a gradient",
    "sign_bins": "blue bars: values of what leaves a card",
    "region": "{mode} · {place}",
    # of a graph that was not recorded: picture/outline/unrecorded.py
    "leaf": "leaf",
    "parameter": "parameter",
    "joined_names": "{names:commas}",
    "use_of": "{kind}, use {k} of {n}",
    "reached_short": "{n} of {total} can be reached",
    "frozen_only": "frozen: no node tells where they ran",
    "part_leaves": "{n:1 other leaf|# other leaves}",
    "result": "result",
    "nodes": "{n:# node|# nodes}",
    "nodes_told": "{n:# node|# nodes}: {kinds:commas}",
    "count": "{n} of {total}",
    "more_modules": "and {n:1 more module|# more modules}",
    "reached_none": "✗ 0 of {total} {total:param|params} can be reached",
    "reached_each": "{n} of {total} each",
    "reached_tied": "{n} of {total}: {names:few} (tied)",
    "reached_and_frozen": "{n} of {total} {total:param|params} can be reached (+{frozen} frozen)",
    "unreached": "✗ {n} of {total} cannot be reached: {names:few}",
    "graph_ends": "▲ the graph ends here: the input of {name} has no grad_fn",
    "no_next": "{node}: no next function for its input",
    "half_sum": "{node}: other operand a constant, or untracked",
    "no_grad_fn": "no grad_fn: no edge leads up from here",
    "begins": "{node} · backward() starts here",
    "not_in_graph": "not in this graph",
    "no_edge_up": "? no edge leads up from here: detach, no_grad, .data, or never used?",
    "no_leaves": "no parameters, no leaves: no gradient goes anywhere",
    "leaves_reached": "{n:1 leaf|# leaves} can be reached from {name}",
    "all_reached": "{total:1 parameter can be reached|# parameters: all # can be reached} from {name}",
    "part_reached": "{n} can be reached from {name}",
    "part_unreached": "{n} cannot",
    "part_not_found": "{n} not found",
    "read_in_part": "The graph is larger than what was read of it, {n:# node|# nodes}: what was not found may be further up.",
    "hidden_in_checkpoint": "CheckpointFunction makes its graph only in backward: parameters inside cannot be seen.",
    "why_unknown": "why is not known:",
    "no_trace": "a finished graph shows no cuts.",
    "or": "or",
    "shows_line": "shows the line",
    "not_recorded": "no recording: no values, no source lines, no cuts",
    "sign_can_end": "can go no further",
    "sign_unreached": "not reached",
    "graph_ends_short": "▲ the graph ends here: {name} gets no grad_fn",
    "no_next_short": "{node}: no next function",
    "half_sum_short": "{node}: constant, or untracked",
    "unreached_short": "✗ {n} of {total} cannot be reached",
    "region_loses": "{n:# param gets|# params get} no gradient",
}

# why there is no picture: picture/state.py, figure.py, render.py, live/steps.py, live/widget.py
COMPARE = {
    "more_get": "{n:1 parameter more gets|# parameters more get} a gradient",
    "fewer_get": "{n:1 parameter fewer gets|# parameters fewer get} a gradient",
    "both_get": "{more:1 parameter more gets|# parameters more get} a gradient, and {fewer:1 gets|# get} none any more",
    "same_get": "the same parameters get a gradient",
    "more_can": "{n:1 parameter more|# parameters more} can be reached",
    "fewer_can": "{n:1 parameter fewer|# parameters fewer} can be reached",
    "both_can": "{more:1 parameter more|# parameters more} can be reached, and {fewer:1|#} no longer",
    "same_can": "the same parameters can be reached",
    "gained": "more: {names:few}",
    "lost": "no longer: {names:few}",
    "only_cuts": "only {name}: {cuts:commas}",
    "alone": "in one of the two only: {names:few}",
    "title": "{name}:",
    "alt": "{headline}. {first}: {before} {second}: {after}",
    "mark": "≠ {name}: {n} of {total} get a gradient",
}
PICTURE = {
    "nothing": "Nothing was recorded, so there is no picture.",
    "empty": "An empty picture.",
    "too_many_steps": "{n} boxes are too many to draw, even folded, so this is the text. To see pictures, record fewer lines.",
    "install": "to see pictures: pip install pygraphviz (version 2 or later brings Graphviz along)",
    "engine_failed": "the layout engine failed ({error}); use .text",
    "too_slow": "the layout took longer than {seconds} s; show a part of the graph, or use .text",
    "too_large": "the layout ran into its limits of time or memory; show a part of the graph, or use .text",
}

# --- live: pages, panels, players, questions ------------------------------------------------------

# what an exported page says with scripts off: picture/page.py (what its script says is PAGE)
WITHOUT_SCRIPTS = {
    "one_of_states": "This is one of {n} states; the others appear where scripts may run.",
}

# around the picture of an exploration or a player: live/panel.py, controls.py, player.py, book.py
PANEL = {
    "counter": "{label} ({n})",
    "choice": "{control}: {choice}",
    "step": "step",
    "step_said": "step {n}: {sentence}",
    "recording": "Recording",
    "title": "{title} ({n:1 event|# events})",
    "title_first_part": "{title} (events {first}–{last} of {total}; play(rec, start={start}) shows what follows, at most {n} at a time)",
    "title_last_part": "{title} (events {first}–{last} of {total}; play(rec) shows the first, at most {n} at a time)",
}

# of a run of a scenario: live/explore.py, widget.py
LIVE = {
    "more_printed": "… {n} more characters",
    "unreadable_error": "{error}: its text cannot be read",
    "not_run_yet": "{name} has not run yet: a cell is running; ask again when it has ended",
    # below the picture of a notebook that was saved: live/still.py
    "still": "A still picture, from when this cell ran. Run the cell (Shift+Enter) to make it live.",
    "exploration": "<exploration of {name}: {controls}>",
    "missing": "gv.explore needs {missing:list}, not installed here: pip install ipywidgets anywidget (gv.record and gv.show work without)",
    "no_widgets": "a live picture needs anywidget, and it is not installed; fix: pip install anywidget (show() and record() work without it)",
}

# Why a control's choice is not written into the code: live/filling.py, live/spelling.py.
FILLED = {
    "assigned": "the function gives this name another value",
    "over_lines": "it stands on several lines",
    "keywords": "the arguments are not all plain",
    "twice": "{name} is used twice",
    "closure": "{name} is of another function",
    "means_other": "{name} means something else here",
    "no_code": "{kind} has no short code",
    "no_source": "its source is not known",
    "statements": "it is several statements",
    # what stands in the place of a block, or of a call, that does nothing now
    "no_with": "no with block",
    "no_call": "nothing here",
}

# what is asked and replied: notebook/lesson.py
QUESTION = {
    "title": "Question",
    "just_show": "Just show me",
    "reveal": "Reveal (R)",
    "just_show_title": "Show what happens, without an answer",
    "run_first": "Run this cell, then click an answer.",
    "missing": "Answers to click need {missing:list}: pip install ipywidgets anywidget (print(question.answer('…')) answers without)",
    "is": "It is {truth}.",
    "right": "Yes, it is {truth}.",
    "said": "You said {answer}; it is {truth}.",
    "said_wrong": "You said {answer}; it is {truth}: {why}",
    "none_right": "None of the answers says so, so it is the question that is wrong here.",
    "unanswerable": "This question cannot be answered here: its truth raised {error}",
    "slip": "A common slip would be to think that {belief}.",
    "believed": "Often believed: {belief} ({source}).",
    "believed_claim": "Often believed: {belief}.",
}

# of tables, goals and errors in a lesson's cells: notebook/cells.py
CELLS = {
    "no_error": "no error",
    "absent": "-",
    "missed": "{name} ({there} instead of {goal})",
    "not_solved": "Not solved yet: {missed:list}.",
    "solved": "Solved.",
    "torchviz": "torchviz draws: {boxes}",
    "no_panel": "lesson.table got {given}; expected what @gv.explore made of a function",
    "unknown": "no run has {name}; expected a tensor such as a, one of its columns ({columns}), error, printed or sentence",
}

# what is believed and is not so, by the name of the misconception: notebook/lesson.py
BELIEF = {
    "M-clone-leaf": "a clone is a new leaf",
    "M-detached-never": "a detached tensor can never get a gradient",
    "M-flag-clears-grad": "switching requires_grad off clears .grad",
    "M-copy_-false": "copy_() raises an error if the target has requires_grad=False",
    "M-only-data": "only .data can put values into a parameter",
    "M-optimizer-checks-flag": "an optimizer leaves alone what does not require grad",
    "M-item-leaks": "item() keeps the graph in memory",
    "M-any-inplace-breaks": "any in-place write breaks backward",
}

# of %%gradviz and %gradviz why: notebook/magic.py, newest.py
MAGIC = {
    "help": "%%gradviz as the first line of a cell records the cell and draws it; options: view=cards or view=nodes, focus=a.module, depth=2, around=x, fold=no, summaries=yes. %gradviz why in the next cell explains its error, or what the loss does to the model; %gradviz why x explains x",
    "not_known": "%gradviz {line} is not known. {help}",
    "cells_only": "{help}. It works in notebook cells and at the prompt only",
    "wanted": "expected names or expressions of this notebook that explain() takes: %gradviz why model loss",
    "no_expressions": "%gradviz why got {words}, which is no list of expressions; {wanted}",
    "raised": "%gradviz why got {words}, which raised {error}; {wanted}",
    "is_number": "{names:list} {names:is|are} of type {kind}: numbers have no gradients.",
    "is_text": "{names:list} {names:is|are} of type {kind}: text has no gradients.",
    "is_array": "{names:list} {names:is|are} of type {kind}, of numpy: no gradient comes to what numpy holds.",
    "is_none": "{names:list} {names:is|are} None.",
    "is_class": "{names:list} {names:is a class: ask about an object of it|are classes: ask about objects of them}.",
    "is_function": "{names:list} {names:is a function: ask about what it returns|are functions: ask about what they return}.",
    "holds_nothing": "{names:list} {names:is|are} of type {kind}: no tensor that learns, module or optimizer is found there.",
    "none_at_error": "{words:few} {words:has|have} no value: the error came first.",
    "nothing_found": "%gradviz why found neither an error, nor a model, nor a loss among the notebook's variables: put %%gradviz above the cell and run it again; or %gradviz why x asks about x",
    "loss_lost": "The newest backward ran on a loss that has no name here: record that cell, or name a loss: %gradviz why loss.",
    "newer": "{name} is newer than this loss: %gradviz why {name} asks about it.",
    "older_error": "This error is older than the last one, {kind}, none of autograd's.",
    "ran_since": "Since then a backward of something else has run: %gradviz why x asks about any x.",
}

# what the front end itself says; `make frontend` writes frontend/src/english.js from it
PAGE = {
    # the kernel
    "waiting": "Waiting for the kernel.",
    "unconnected": "Waiting for the kernel: this page has lost its connection to it.",
    "old_picture": "The picture is still the one from before.",
    "gone": "The kernel is gone: run this cell again.",
    "gone_detail": "Until then the controls do nothing.",
    # areas of the panel
    "code": "Code",
    "printed": "Printed",
    "picture": "picture",
    "unreadable": "This picture could not be read.",
    "hint": "Drag to see the rest, or",
    "click_a_card": "Click a card: where does its gradient go?",
    "more_facts": "… click it for the rest",
    # tools of the picture: what stands on the button, what it does, what a screen reader says
    "zoom_in": "Zoom in",
    "zoom_out": "Zoom out",
    "fit": "Fit",
    "fit_title": "Show the whole picture",
    "fit_spoken": "Fit: show the whole picture",
    "reset": "Reset",
    "reset_view_title": "Back to the view at the start",
    "reset_view_spoken": "Reset: back to the view at the start",
    # saving and copying it
    "save": "Save or copy the picture",
    "save_svg": "Save as SVG",
    "save_png": "Save as PNG",
    "copy_png": "Copy as PNG",
    "copy_svg": "Copy the SVG's text",
    "saved": "Saved",
    "copied": "Copied",
    "not_saved": "This browser could not save it.",
    "not_copied": "This browser lets no page copy here: save it instead.",
    # opening the cards of an outline
    "open": "Open {name}",
    "close": "Close {name}",
    "opens": "A second click, or Enter, opens {name}.",
    "outline_tools": "Outline",
    "crumbs": "What is open",
    "crumb_title": "Close what is open inside {name}",
    "open_red": "Open all red",
    "open_red_title": "Open every card with a lost gradient or an alarm",
    "next_red": "Next ✗",
    "next_red_title": "Go to the next card with a lost gradient or an alarm",
    "search": "Find a module or parameter",
    "members": "Open one of these {n} …",
    "members_title": "A click opens the first of these equal modules; here each of them can be opened",
    "found": "{name} is in this card.",
    "found_of": "{name} is in this card. Enter: the next of {total} names with “{text}”.",
    "found_nowhere": "{name} has no card here: it was never called.",
    "not_found": "No module or parameter has “{text}” in its name.",
    "not_on_page": 'This page was saved without {name} opened. In Python, Figure(graph, focus="{name}") opens it.',
    # marks in the picture
    "new": "new",
    "changed": "changed",
    "same_memory": "same memory",
    "marked_card": "{card}, {mark}",
    # what changed
    "changed_to": "Changed: {changes}",
    "two_changes": "{one} · {other}",
    "nothing_changed": "Nothing changed in the picture.",
    "nothing_changed_but": "Nothing changed in the picture: {kept}.",
    "details_changed": "Only details changed.",
    "details_changed_but": "Only details changed: {kept}.",
    "picture_changed_one": "the card of {names}",
    "picture_changed": "the cards of {names}",
    "and": "{names} and {last}",
    "is_new": "{name} is new",
    "is_gone": "{name} is gone",
    "grad_changed": "`{name}.grad`: {before} → {after}",
    "grad_kept": "`{name}.grad` is still {grad}",
    "value_changed": "`{name}`: {before} → {after}",
    "grad_fn_changed": "`{name}.grad_fn`: `{before}` → `{after}`",
    "untracked_now_one": "{names} is no longer tracked",
    "untracked_now": "{names} are no longer tracked",
    "tracked_now_one": "{names} is tracked now",
    "tracked_now": "{names} are tracked now",
    "shared_now_one": "{names} shares its memory now",
    "shared_now": "{names} share memory now",
    "own_now_one": "{names} has its own memory now",
    "own_now": "{names} have their own memory now",
    # the table
    "tensors": "Tensors",
    "parameters": "Parameters",
    "tensors_folded": "Tensors ({n})",
    "tensors_folded_changed": "Tensors ({n}) · {changed} changed",
    "column_name": "name",
    "column_value": "value",
    "column_version": "version",
    "column_storage": "storage",
    "cell_was": "was {before}",
    "cell_changed": " (changed)",
    # code with its choices
    "start_again": "Reset",
    "start_again_title": "Set all controls to their start",
    # controls of a player or a page
    "controls": "Controls",
    "counter": "{control} ({option})",
    "counter_ends": "This page holds no further state; Reset starts again.",
    "first_step": "First step",
    "step_back": "Step back",
    "play": "Play",
    "pause": "Pause",
    "next_step": "Next step",
    "last_step": "Last step",
    "step_of": "step {step} of {last}",
    # the page
    "just_show": QUESTION["just_show"],
    "dark": "Dark",
    "present": "Present",
    "print_menu": "Print…",
    "print": "Print",
    "print_this": "this state",
    "print_all": "all {n} states",
    "print_list": "a list ",
    "print_numbers": "Numbers of states",
    "sheet_step": "{control} {option}",
    "sheet_setting": "{control} = {option}",
}


SECTIONS = {
    "label": LABEL,
    "compare": COMPARE,
    "list": LIST,
    "values": VALUES,
    "read": READ,
    "spread": SPREAD,
    "progress": PROGRESS,
    "note": NOTE,
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
    "cause": CAUSE,
    "explanation": EXPLANATION,
    "answer_table": ANSWER_TABLE,
    "answer_column": ANSWER_COLUMN,
    "verdict": VERDICT,
    "moving": MOVING,
    "entry": ENTRY,
    "losses": IN_LOSSES,
    "account": ACCOUNT,
    "advice": ADVICE,
    "reach": REACH,
    "obstacle": OBSTACLE,
    "group": GROUP,
    "ruled_out": RULED_OUT,
    "path": PATH,
    "gradient": GRADIENT_PHRASE,
    "zero": ZERO_PHRASE,
    "cut": CUT,
    "card": CARD,
    "fact": FACT,
    "legend": LEGEND,
    "param_count": PARAM_COUNT,
    "params": PARAMS,
    "param_state": PARAM_STATE,
    "param_column": PARAM_COLUMN,
    "alarm_count": ALARM_COUNT,
    "alarm_part": ALARM_PART,
    "state_of": STATE_OF,
    "fades": FADES,
    "outline": OUTLINE,
    "picture": PICTURE,
    "page": WITHOUT_SCRIPTS,
    "panel": PANEL,
    "live": LIVE,
    "filled": FILLED,
    "question": QUESTION,
    "cells": CELLS,
    "belief": BELIEF,
    "magic": MAGIC,
    "meant": MEANT,
    "bare": BARE,
    "mend": MEND,
    "raised": IN_RAISED,
    "unrecorded": UNRECORDED,
    "doubt": DOUBT,
    "silent": SILENT_PARTS,
    "small": SMALL_PARTS,
}

ENGLISH = Language(
    sentences={
        f"{section}.{key}": sentence
        for section, table in SECTIONS.items()
        for key, sentence in table.items()
    },
    answers={**GRADIENT, **ZERO, **RAISED, **TRAINING, **SILENT, **SMALL, **LOSSES, **MANY},
    page=PAGE,
    numbers=(
        *("no", "one", "two", "three", "four", "five", "six"),
        *("seven", "eight", "nine", "ten", "eleven", "twelve"),
    ),
    last_two="{} and {}",
    between=", ",
    others="{} more",
    code="en",
)
