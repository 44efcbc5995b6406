"""What gradviz answers, as plain data that can be kept and compared: causes, lines, cuts and mends without their words.

This file alone knows how an answer is made up and where the questions are asked. When that changes, it changes.
``kept.py`` keeps and compares, and knows nothing of gradviz.
"""

from __future__ import annotations

import importlib
import linecache
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import gradviz as gv

Plain = dict[str, Any]

# forms that are kept with an answer
FORMS = {"cancels", "done", "frozen_now", "large", "zero", "zero_factor"}

# arrows along which a gradient came
CAME = ("gradient", "zeros")

# --- one answer ---------------------------------------------------------------------------------------------------

# No answer has a field for the kind of its mend, so it is read off the calls and the words that every wording needs.
MENDS = {
    "activation that is not flat": r"LeakyReLU",
    "smooth activation": r"smooth activation",
    "add the losses": r"add (up )?the losses|on the sum of the losses",
    "add to the loss": r"^add what was made|let the loss use that too|use what is computed from it in",
    "add_param_group": r"add_param_group",
    "as many outputs as classes": r"outputs, or more, for the layer|outputs for \S+, where it is made",
    "one row for each sample": r"^one row for each sample",
    "one more dimension": r"\.unsqueeze\(|^unsqueeze\(0\) on the sample|^one more dimension of size 1 for ",
    "size of the batch": r"\.shape\[0\] for its first size",
    "the same size": r"^give both the same (size|shape)",
    "allow_unused": r"allow_unused",
    "another schedule": r"a schedule that",
    "another name": r"another name",
    "attribute of the module": r"^self\.\S+ = … in __init__",
    "ask for another tensor": r"^ask (autograd\.grad )?for ",
    "free the name of a parameter": r"delattr\(",
    "forget what was kept": r" = None at the start of each",
    "gradients on around a call": r"torch\.enable_grad\(\): around|under with torch\.enable_grad",
    "leave it out of a mask": r"^leave what is to learn out of",
    "layers in __init__": r"^in __init__: self\.",
    "backward": r"\.backward\(\) right before|call backward\(\)|call backward on |backward again|its own loss",
    "begin anew": r"the optimizer begins anew",
    "bfloat16": r"bfloat16",
    "no backward": r"does not belong there",
    "batch first": r"^batch_first=True",
    "drop the last batch": r"^drop_last=True",
    "number left out": r"^leave the number out",
    "number for a schedule": r"with the number that it is to watch",
    "return what was computed": r"^return .{1,40} as its last line",
    "steps of a schedule": r"as many as there are calls of",
    "torch.where": r"^torch\.where\(condition",
    "checkpoint without reentrant": r"use_reentrant=False",
    "call its step": r"^call \S+\(\) after ",
    "call it or leave it out": r"leave \S+ creation out",
    "leave it in until the step": r"leave that out for",
    "clear after the step": r"clear right after the step|zero_grad\(\) in each iteration|in each iteration, before",
    "clear before the step": r"= None before that",
    "clear before the second backward": r"right before the second backward",
    "clip": r"clip_grad|clip (once|between)|unscale_",
    "clone": r"\.clone\(\)|clone\(\) what|clone it|deepcopy",
    "collect and stack": r"torch\.stack\(\)",
    "compute outside": r"outside of that call",
    "compute anew": r"\banew\b|compute it again|once more",
    "create_graph": r"create_graph",
    "detach": r"detach|the next iteration|without their history",
    "detect_anomaly": r"set_detect_anomaly",
    "empty the list": r"\.clear\(\)",
    "eps or clamp": r"\beps|clamp",
    "give it numbers": r"give it numbers where it is made",
    "eval": r"\beval\(\)",
    "earlier tensor": r"use the tensor from before",
    "finite input": r"torch\.nan_to_num|put (?:a )?harmless (?:value in|numbers there)|look for the first result that is not finite",
    "floating point": r"use a float\b|floating-point|float32",
    "function with a derivative": r"function with a derivative",
    "go on with what is picked": r"entries that it picks|ask for (the gradient|that) of",
    "parts side by side": r"torch\.stack\(\[…\], dim=1\)",
    "join the tensors": r"joins the tensors themselves",
    "formula with tensors": r"as a plain number",
    "read the result instead": r"in a variable, and read that in the place of",
    "give to the optimizer": r"be a step of |give them to the optimizer|make \S+ from \S+\.parameters|(make|give) the optimizer|from the parameters of the model that it is|one of the two from the parameters",
    "freeze parameters": r"\.requires_grad = |freeze after it|switch the flags of",
    "hand the result on": r"^hand the result on|from .* too: use it on the way",
    "other numbers to begin with": r"numbers other than zero",
    "grad = None": r"^\S+ = None|^set \.grad of |\.grad = None|set_to_none",
    "functional_call": r"functional_call",
    "count in time": r"count from 1",
    "step at no remainder": r"a step follows where nothing is left over",
    "GradScaler": r"GradScaler",
    "in place": r"in place, so|with torch\.no_grad\(\): |write into .*, under torch\.no_grad",
    "inplace=False": r"inplace=False",
    "index by floats": r"weigh the entries|ask for it on what is indexed",
    "item": r"\.item\(\)|float\(",
    "leave requires_grad on": r"leave requires_grad on",
    "leave it as it is": r"leave it alone where its",
    "mask before the loss": r"the mask before the loss",
    "keys for each row": r"leave each row at least one key",
    "hooks until the backward": r"until the backward is over",
    "mask in a hook": r"register_hook\(lambda grad",
    "learning rate": r"learning rate above 0|begin above 0|smaller learning rate|steps that go less far",
    "list": r"make it a list",
    "look at gradients on the way": r"register_hook\(print\)",
    "look at this call": r"look at what goes into",
    "name the result": r"give the result a name",
    "make it once": r"once, in __init__",
    "ModuleList": r"to learn: x, before the optimizer is made|ModuleList|ParameterList|ModuleDict|register_buffer|register_parameter",
    "no_grad": r"no_grad",
    "no log of it": r"log_softmax in place",
    "normalise": r"normalisation|residual path",
    "not marked": r"do not mark",
    "nn.Parameter": r"nn\.Parameter\(…\)|as an nn\.Parameter|__init__, as attributes|super\(\)\.__init__",
    "order of the steps": r"the order is|before zero_grad\(\)|before the step|after the last backward",
    "out of place": r"out of place|in the place of .*: a new tensor|not in place|compute a new tensor there",
    "outside of the mode": r"outside of inference_mode|outside of no_grad|out of the (no_grad|inference_mode) of line",
    "raw scores": r"the raw scores|sigmoid for one output",
    "read another .grad": r"register_post_accumulate_grad_hook|^read .*\.grad|read the copy",
    "remove the hook": r"handle\.remove|let the hook return None",
    "record": r"%%gradviz|gv\.record",
    "requires_grad_()": r"requires_grad_\(\)|requires_grad=True|requires_grad_\(True\)",
    "requires_grad_(False)": r"requires_grad_\(False\)",
    "reshape": r"\.reshape\(",
    "retain_grad": r"retain_grad\(\)",
    "retain_graph": r"retain_graph",
    "return it": r"use what it returned|return its gradient|return \S+ at its end|return \S+( \w+)? (there|for each)|return a gradient of",
    "rsample or log_prob": r"rsample|log_prob",
    "skip the batch": r"Such a batch has no gradient",
    "stay in torch": r"stay in torch|in backward with torch functions",
    "shape of the gradient": r"^give \S+ the shape",
    "state of each iteration": r"^after each backward: for m in",
    "reached for every parameter": r"reached for every parameter",
    "output of what is trained": r"from an output of what is trained|^\S+ in the place of one",
    "smooth step": r"smooth step",
    "same dtype": r"\.to\(torch\.|\.long\(\) before",
    "step": r"\.step\(\) after|^call \S+ in either case",
    "sum or mean": r"\.sum\(\)|\.mean\(\)|gradient=",
    "train": r"\.train\(\) (before|at the start|right before)",
    "use itself": r"\bitself\b",
    "zeros": r"torch\.zeros_like",
    "bound above 0": r"a bound, or a factor",
    "without requires_grad": r"without requires_grad",
    "copy that stays connected": r": a copy, which stays",
    "brackets": r"brackets around",
    "by index": r", and there ",
    "context of a Function": r"\bctx\.|@staticmethod|once_differentiable|save_for_backward",
    "leave the hook out": r"leave the hook out|register_hook there",
    "below the step": r"before that step|^compute it with the new weights",
    "join the parts": r"torch\.cat",
    "keep the tensors": r"keep the tensors",
    "for tensors alone": r"^right above .*: if not torch\.is_tensor",
    "take settings out": r"^\S+\.pop\('",
    "run at least once": r"run at least once",
    "loss that is a tensor": r"let the loss be a tensor|take the one tensor|then loss\.backward\(\)",
    "two statements": r"make two statements of it",
    "what is wanted in its place": r"in the place of|in its place|^x\.$|\(output, target\)\.$",
    "one group of its own": r"one group of its own",
    "closure": r"def closure",
    "return the loss": r"let the function return the loss|return what it computed",
    "make it real": r"make it real",
    "take that way": r"take that way|take the way through it",
    "do not freeze": r"do not freeze",
    "other numbers": r"^other numbers than",
    "bound only the result": r"bound only what is looked at",
    "smaller p": r"a smaller p there",
    "without nn.Parameter": r"without nn\.Parameter",
    "make it one number": r"^\S+ = .*\(\) above ",
    "made with gradients on": r"out of what .* switches off",
    "the leaf itself": r"the values are what they were, and the step moves",
    "again after the step": r" again after ",
    "backward before the step": r"^call .* before ",
    "values in range": r"^move the values of ",
    "make the layer, then call it": r"once, before the loop; then ",
    "without the wrapper": r"^leave .* as it is, without ",
    "double for a check": r"^double\(\) on what is checked",
    "a name for each": r"a name for each of them",
    "take it out where it is read": r"^take it out of ",
    "step only with gradients": r"^if .*if any\(p\.grad is not None",
    "compute it in torch": r"^let the loss be (?:a smooth function|computed in torch)",
    "compute it from what is asked for": r"^compute .* from ",
}
AT = re.compile(r"\b[\w-]+\.py line \d+")
LINE = re.compile(r"(?<!\] )\b(lines?) \d+(?:(?:, | and )\d+)*")
ADDRESS = re.compile(r"0x[0-9a-f]{6,}")
THING = re.compile(r"[A-Za-z_{][\w.*{},]*")


def mends(words: str) -> list[str]:
    """The kinds of a mend.

    >>> mends("add the losses and call backward once, or retain_graph=True in the first."), mends("")
    (['add the losses', 'retain_graph'], [])
    """
    return [kind for kind, pattern in MENDS.items() if re.search(pattern, words)] or (
        ["other"] if words else []
    )


class Reader:
    """Makes plain data of answers.

    Lines of files are told by what stands there: their numbers change whenever a file of tests is edited.

    Args:
        numbered: whether the program is a text of its own, whose line numbers are those that a reader would count.
    """

    def __init__(self, numbered: bool) -> None:
        self.numbered = numbered

    def words(self, text: str) -> list[str]:
        """Sentences as they are, a line of the answer each."""
        text = ADDRESS.sub("0x…", AT.sub("FILE line N", text))
        text = text if self.numbered else LINE.sub(r"\1 N", text)
        return [" ".join(line.split()) for line in text.splitlines() if line.strip()]

    def line(self, graph: Any, number: int) -> str:
        """A line that an answer points at: of a call, or of the only file that the calls are from."""
        sources = [c.source for c in graph.calls if c.source]
        calls = [source for source in sources if source.line == number]
        if calls or self.numbered:
            return self.at(calls[0]) if calls else f"{number}"
        files = {source.file for source in sources}
        code = " ".join(linecache.getline(min(files), number).split()) if len(files) == 1 else ""
        return code or f"{number}"

    def at(self, source: Any) -> str:
        """What stands in the line of a call; in a cell, what the call made."""
        code = " ".join(linecache.getline(source.file, source.line).split())
        if not code:
            return f"{source.line}: {' '.join((source.code or '').split())}"
        return f"{source.line}: {code}" if self.numbered else code

    def cuts(self, graph: Any, cuts: Iterable[Any]) -> list[str]:
        """Function, line and reason of each."""
        found = []
        for cut in cuts:
            call = graph.call.get(cut.call_id)
            at = "" if call is None or call.source is None else self.at(call.source)
            found.append(f"{call.function if call else '?'} [{cut.reason.value}] {at}".rstrip())
        return sorted(set(found))

    def label(self, graph: Any, tensor_id: int) -> str:
        """What a tensor is called, or the code that made it."""
        tensor = graph.tensor[tensor_id]
        made = [c.source.code for c in graph.calls if c.source and tensor_id in c.outputs]
        return " ".join(self.words(tensor.name or next(iter(made), None) or "unnamed"))

    def answer(self, told: Any) -> Plain:
        """Whatever a public question gave."""
        if hasattr(told, "cause"):
            return self.explanation(told)
        if hasattr(told, "losses"):
            return self.reach(told)
        return self.moves(told)

    def explanation(self, told: Any) -> Plain:
        """Of ``gv.explain`` and ``%gradviz why``."""
        graph = told.graph if told.graph is not None else gv.Graph()
        labels = {self.label(graph, i) for i in told.tensor_ids}
        said = {f"said {thing}" for thing in self.said(told) if thing not in labels}
        found = {
            "cause": told.cause,
            "detail": told.form if told.form in FORMS else "",
            "lines": sorted({self.line(graph, number) for number in told.lines}),
            "cuts": self.cuts(graph, told.cuts),
            "mend": mends(told.mend),
            "subjects": sorted(
                labels | {f"node {graph.node[i].name}" for i in told.node_ids} | said
            ),
            "words": [
                f"{part}: {line}" for part, text in self.parts(told) for line in self.words(text)
            ],
        }
        return {key: value for key, value in found.items() if value}

    def parts(self, told: Any) -> Iterator[tuple[str, str]]:
        """Its sentences, each whole: what is shown is cut at ten lines."""
        yield "tag", told.tag
        for part in ("verdict", "where", "why", "mend"):
            yield part, getattr(told, part)
        for text in told.told_beside:
            yield "more", text
        for text in told.ruled_out:
            yield "ruled out", text

    def said(self, told: Any) -> Iterator[str]:
        """What the verdict calls by a path or a pattern, such as ``net.*.{weight,bias}``."""
        for word in " ".join(self.words(told.verdict)).split():
            thing = word.rstrip(".,:;").removesuffix(".grad")
            if (
                THING.fullmatch(thing)
                and re.search(r"[*{.]", thing)
                and not thing.startswith("torch.")
            ):
                yield thing

    def reach(self, told: Any) -> Plain:
        """Of ``gv.reach``. Its cuts know no graph, so only their reasons are kept; their lines stand in the words."""
        rows = [
            [r.loss, r.module, r.name, r.verdict, *sorted({c.reason.value for c in r.cuts})]
            for r in told.rows
        ]
        return {
            "cause": "reach",
            "rows": [" · ".join(row) for row in rows],
            "subjects": [*told.losses],
            "words": [
                *self.words(str(told)),
                *dict.fromkeys(w for r in told.rows for w in self.words(r.why)),
            ],
        }

    def moves(self, told: Any) -> Plain:
        """Of ``gv.will_it_move``."""
        return {
            "cause": "will it move",
            "detail": told.optimizer,
            "rows": [f"{r.group} · {r.name} · {r.requires_grad} · {r.verdict}" for r in told.rows],
            "subjects": [r.name for r in told.rows],
            "words": self.words(str(told)),
        }

    def refusal(self, error: Exception) -> Plain:
        """Of a question that cannot be answered."""
        return {
            "cause": "refused",
            "detail": type(error).__name__,
            "subjects": [],
            "words": self.words(str(error)),
        }


# --- where questions are asked ------------------------------------------------------------------------------------


def _small(named: Any, recording: Any = None) -> Any:
    return gv.explain(named, recording=recording, names=named) if named else None


def _silent(recording: Any = None, **asked: Any) -> Any:
    things = {**asked.get("tensors", {}), **asked.get("models", {})}
    return gv.explain(things, recording=recording, names=things) if things else None


# Tests of single parts ask them directly: the same question, as a reader would ask it.
IN_PUBLIC: dict[str, Callable[..., Any]] = {"explain_small": _small, "silent_faults": _silent}


@contextmanager
def kept(module: ModuleType) -> Iterator[list[Plain]]:
    """The answers that are given meanwhile to what a file of tests asks, in their order.

    Args:
        module: the file of tests.
    """
    given: list[Plain] = []
    reader = Reader(numbered=False)
    magic = importlib.import_module("gradviz.notebook.magic")
    explain, reach, will_it_move, display = gv.explain, gv.reach, gv.will_it_move, magic.display
    explain_at = importlib.import_module("gradviz.why.answering.entry").explain_at
    method = gv.Recording.explain

    def noted(real: Callable[..., Any], asked_of_a_recording: bool = False) -> Callable[..., Any]:
        def ask(*args: Any, **kwargs: Any) -> Any:
            if asked_of_a_recording:
                recording, *args = args  # type: ignore[assignment]
                kwargs["recording"] = recording
            try:
                # explain() reads names off the frame that called it: the test's, not this one
                by_frame = real is explain or asked_of_a_recording
                asker = sys._getframe(1)
                told = explain_at(asker, args, **kwargs) if by_frame else real(*args, **kwargs)
            except gv.GradvizError as error:
                given.append(reader.refusal(error))
                raise
            given.append(reader.answer(told))
            return told

        return ask

    def shown(what: Any, *args: Any, **kwargs: Any) -> Any:
        told = getattr(what, "told", what)
        if hasattr(told, "cause"):
            given.append(reader.explanation(told))
        return display(what, *args, **kwargs)

    def in_public(real: Callable[..., Any], same: Callable[..., Any]) -> Callable[..., Any]:
        def ask(*args: Any, **kwargs: Any) -> Any:
            told = real(*args, **kwargs)
            same(*args, **kwargs)
            return told

        return ask

    changed: list[tuple[Any, str, Any]] = []

    def put(place: Any, name: str, value: Any) -> None:
        changed.append((place, name, vars(place)[name]))
        setattr(place, name, value)

    try:
        put(gv, "explain", noted(explain))
        put(gv.Recording, "explain", noted(method, asked_of_a_recording=True))
        put(gv, "reach", noted(reach))
        put(gv, "will_it_move", noted(will_it_move))
        put(magic, "display", shown)
        ours = {id(explain): gv.explain, id(reach): gv.reach, id(will_it_move): gv.will_it_move}
        for name, value in list(vars(module).items()):
            if id(value) in ours:
                put(module, name, ours[id(value)])
            elif name in IN_PUBLIC:
                put(module, name, in_public(value, IN_PUBLIC[name]))
        yield given
    finally:
        for place, name, value in reversed(changed):
            setattr(place, name, value)
        assert gv.Recording.explain is method


# --- pictures -----------------------------------------------------------------------------------------------------


def picture(figure: Any, sentence: str, table: Iterable[str]) -> Plain:
    """All words of a picture: what is drawn, the table, the text twin and the sentence.

    Args:
        figure: a ``gv.Figure``.
        sentence: what is said beside it.
        table: the rows of the table.
    """
    scene = figure.scene
    names = {card.id: card.name or card.title for card in scene.cards}
    cards = [
        f"{card.kind}: " + " | ".join(f"{row.kind} {row.text}" for row in card.rows if row.text)
        for card in scene.cards
    ]
    arrows = [
        (a.kind, names[a.tail], names[a.head], a.label * (a.kind in CAME)) for a in scene.arrows
    ]
    labels = {
        label for a in scene.arrows for label in (a.label * (a.kind not in CAME), a.mark) if label
    }
    boxes = [
        f"{box.kind}: {box.label}: {', '.join(names[i] for i in box.members)}"
        for box in scene.boxes
    ]
    reader = Reader(numbered=True)
    found = {
        "arrows": sorted(" · ".join(filter(None, arrow)) for arrow in arrows),
        "cards": sorted(cards),
        "labels": sorted(labels),
        "boxes": sorted(boxes),
        "hover": sorted({line for card in scene.cards for line in reader.words(card.detail)}),
        "table": list(table),
        "alt": reader.words(figure.alt),
        "words": reader.words(sentence),
        "text": figure.text.splitlines(),
    }
    return {key: value for key, value in found.items() if value}


def panel(run: Any) -> Plain:
    """One state of a panel: what ``exploration.run()`` gave."""
    table = [" | ".join(cells.values()) for cells in run.tensors.values()]
    state = {"settings": dict(run.labels), "error": Reader(numbered=True).words(run.error)}
    return {**state, **picture(run.figure, run.sentence, table)}


def player(recording: Any) -> Plain:
    """What is said at every step."""
    return {"words": [state["sentence"] for state in gv.play(recording).states]}


def recorded(recording: Any) -> Plain:
    """The words of a recording's picture."""
    # What stands beside a picture in a panel is made by these two; they have no public name of their own.
    explaining, table = (
        importlib.import_module(f"gradviz.picture.{name}") for name in ("explaining", "table")
    )
    figure = recording.figure()
    rows = [" | ".join(row.cells) for row in table.rows(figure.graph, figure.whole.cards)]
    return picture(figure, explaining.summary(figure.graph), rows)


def in_brief(words: Plain) -> Plain:
    """Of a picture of many cards: the cuts that are drawn, and what is said of the whole rather than of one card."""
    cuts = [
        arrow
        for arrow in words.get("arrows", ())
        if not arrow.startswith(("forward", *CAME, "edge", "of"))
    ]
    whole = [line for line in words["text"] if re.match(r"[a-z ]+: |backward ", line)]
    whole += [
        line.strip()
        for line in words["text"]
        if re.search(r"STALE|OVERWRITTEN|never reached|raises here", line)
    ]
    kept = {key: words[key] for key in ("boxes", "labels", "alt", "words") if key in words}
    return {"cuts": cuts, **kept, "text": list(dict.fromkeys(whole))}
