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
    "output": "output {n}",
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

# --- pictures -------------------------------------------------------------------------------------

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

# the lines of a card: live/steps.py
ROW = {
    "never_reached": "AccumulateGrad · never reached",
    "not_reached_yet": "AccumulateGrad · not reached yet",
}

# on cards, frames and arrows: picture/cards.py, nodes.py, frames.py, fold.py, arrange.py, live/steps.py
CARD = {
    "module": "module {module}",
    "accumulate_of": "AccumulateGrad of {leaf}",
    "cut": "✂ {reason}",
    "cut_back": "✂ {reason} · no gradient back",
    "raises_here": "backward raises here",
    "memory_names": "one block of memory, {n:one name|## names}",
    "memory_tensors": "one block of memory, {n:one tensor|## tensors}",
    "not_recorded": "{mode}: not recorded",
    "made_under": "made under {mode}",
    "frame_left_out": "{frame}: {members}",
    "line_of_code": "line {line}: {code}",
    "from_to": "{first} … {last}",
    "times": "{what} × {n}",
    "gradients": "{n} gradients",
    "folded": "{n:1 box folded|# boxes folded}",
    "leaves_inside": "{n:1 leaf inside|# leaves inside}",
    "more_kinds": "… {n} more kinds",
    "more_leaves": "and {n} more",
    "note_folded": "Folded: {cards} boxes are drawn as {boxes}. The text lists what is inside.",
    "note_folded_first": "Folded: {cards} boxes are drawn as {boxes}. The text lists the first {n}.",
}

# what kind of thing a card is, for screen readers: picture/state.py
CARD_KIND = {
    "leaf": "leaf",
    "result": "result",
    "untracked": "not tracked",
    "node": "node",
    "accumulate": "AccumulateGrad",
    "tag": "name of a leaf",
    "tags": "names of leaves",
    "fold": "folded",
    "raised": "raised an error",
}

# all that is known of a card, in the box beside it: picture/state.py
FACT = {
    "name_of": "{name} of {of}",
    "inside": "inside",
    "module": "module",
    "line": "line",
    "line_of_code": "{line}: {code}",
    "values": "values",
    "version": "version",
    "arrived": "gradient arrived",
    "sent": "gradient sent",
    "sent_to": "{value} to {to}",
    "storage": "storage",
    "bytes": "{n} bytes",
    "shared": "{size}, shared with {others}",
    "view_of": "view of",
    "stride_and_offset": "stride, offset",
    "node": "node",
    "saved": "{node} saved",
    "first_of": "{names} … {n} in all",
}

# the signs of a picture, by the kinds of arrows, cards and frames: picture/dot.py
LEGEND = {
    "forward": "─► value",
    "gradient": "◄━ gradient",
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

# why there is no picture: picture/state.py, figure.py, render.py, live/steps.py, live/widget.py
PICTURE = {
    "nothing": "Nothing was recorded, so there is no picture.",
    "empty": "An empty picture.",
    "too_many_boxes": "{n} boxes are too many to draw, even folded, so this is the text. To see a picture, show a tensor that is closer to the leaves, or record fewer lines.",
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
    "reset": "Reset",
    "reset_title": "Set all controls to their start",
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
    "exploration": "<exploration of {name}: {controls}>",
    "missing": "gv.explore needs {missing:list}, not installed here: pip install ipywidgets anywidget (gv.record and gv.show work without)",
    "no_widgets": "a live picture needs anywidget, and it is not installed; mend: pip install anywidget (show() and record() work without it)",
}

# what is asked and replied: notebook/lesson.py
QUESTION = {
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
    "believed_claim": "Often believed: {belief} (claim {source}).",
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
    "help": "%%gradviz as the first line of a cell records the cell and draws it; options: view=cards, view=nodes. %gradviz why in the next cell explains its error, or what the loss does to the model; %gradviz why x explains x",
    "not_known": "%gradviz {line} is not known. {help}",
    "cells_only": "{help}. It works in notebook cells and at the prompt only",
    "wanted": "expected names or expressions of this notebook that explain() takes: %gradviz why model loss",
    "no_expressions": "%gradviz why got {words}, which is no list of expressions; {wanted}",
    "raised": "%gradviz why got {words}, which raised {error}; {wanted}",
    "nothing_found": "%gradviz why found neither an error, nor a model, nor a loss; %gradviz why x explains x",
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
    # tools of the picture: what stands on the button, what it does, what a screen reader says
    "zoom_in": "Zoom in",
    "zoom_out": "Zoom out",
    "fit": "Fit",
    "fit_title": "Show the whole picture",
    "fit_spoken": "Fit: show the whole picture",
    "reset": "Reset",
    "reset_view_title": "Back to the view at the start",
    "reset_view_spoken": "Reset: back to the view at the start",
    # marks in the picture
    "new": "new",
    "changed": "changed",
    "same_memory": "same memory",
    "marked_card": "{card}, {mark}",
    # what changed
    "what_changed": "What changed: ",
    "is_new": "{name} is new",
    "is_gone": "{name} is gone",
    "value_changed": "{name}: {before} → {after}",
    "version_changed": "{name} version: {before} → {after}",
    "attribute_changed": "{name}.{attribute}: {before} → {after}",
    "more_changes": "and {n} more changes",
    # the table
    "tensors": "Tensors",
    "tensors_folded": "Tensors ({n})",
    "tensors_folded_changed": "Tensors ({n}) · {changed} changed",
    "column_name": "name",
    "column_value": "value",
    "column_version": "version",
    "column_storage": "storage",
    "cell_was": "was {before}",
    "cell_changed": " (changed)",
    # controls of a player or a page
    "controls": "Controls",
    "counter": "{control}: {option}",
    "counter_ends": "This page holds no further state; Reset starts again.",
    "first_step": "First step",
    "step_back": "Step back",
    "play": "Play",
    "pause": "Pause",
    "next_step": "Next step",
    "last_step": "Last step",
    "step_of": "step {step} of {last}",
    # the page
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
    "list": LIST,
    "symptom": SYMPTOM,
    "group": GROUP,
    "ruled_out": RULED_OUT,
    "cut": CUT,
    "row": ROW,
    "card": CARD,
    "card_kind": CARD_KIND,
    "fact": FACT,
    "legend": LEGEND,
    "picture": PICTURE,
    "page": WITHOUT_SCRIPTS,
    "panel": PANEL,
    "live": LIVE,
    "question": QUESTION,
    "belief": BELIEF,
    "magic": MAGIC,
}

ENGLISH = Language(
    sentences={
        f"{section}.{key}": sentence
        for section, table in SECTIONS.items()
        for key, sentence in table.items()
    },
    answers={**GRADIENT, **ZERO, **RAISED, **SILENT, **SMALL, **MANY},
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
