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
