"""What a panel's state shows, compared with what bare runs of its scenario say."""

from __future__ import annotations

import contextlib
import itertools
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any

import torch

from gradviz.graph.operations import VANISHING, Fate
from gradviz.graph.records import Graph
from gradviz.live.ambient import ambient
from gradviz.picture.figure import Figure
from gradviz.picture.scene import Arrow, Card
from witness import bare
from witness.bare import Moment, tried
from witness.sentences import Sentence

DOES_NOT_READ = bare.READS_NO_VALUE | bare.SHAPE_ONLY
OVERWRITES = frozenset("copy_ fill_ zero_ detach_ requires_grad_".split())


class Compared:
    """One state of one panel."""

    def __init__(self, exploration: Any, chosen: dict[str, tuple[str, Any]]) -> None:
        self.exploration, self.chosen = exploration, chosen
        self.function: Callable[..., Any] = exploration._function
        self.arguments = {name: value for name, (_, value) in chosen.items()}
        self.counted: Counter[str] = Counter()
        self.run = exploration._fresh(chosen)  # what the panel, a page and the player get
        self.outlined = self.run.figure.outlined
        # the cards of an outline are modules: its tensors are compared one by one
        if self.outlined is not None:
            self.run.figure = Figure(self.run.graph, fold=False)
            self.run.__dict__.pop("state", None)
        self.shown: dict[str, Any] = self.run.state
        self.graph = self.run.graph
        self.cards: dict[int, Card] = {c.id: c for c in self.run.figure.scene.cards}
        self.arrows: tuple[Arrow, ...] = self.run.figure.scene.arrows
        self.boxes = self.run.figure.scene.boxes
        self.witnesses()

    # --- runs -------------------------------------------------------------------------------------

    def bare(self, *around: contextlib.AbstractContextManager[Any]) -> tuple[str, int | None]:
        """Run the scenario as the panel does, without a recorder; what it raised, and where."""
        restore = ambient()
        try:
            self.exploration._begin()
            torch.set_warn_always(True)
            with contextlib.ExitStack() as stack, bare.output():
                for one in around:
                    stack.enter_context(one)
                return bare.attempt(self.function, self.arguments)
        finally:
            restore()

    def witnesses(self) -> None:
        restore = ambient()
        try:
            self.exploration._begin()
            torch.set_warn_always(True)
            self.plain = bare.plain(self.function, self.arguments)
        finally:
            restore()
        self.calls = bare.Calls(self.function.__code__)
        self.variables = bare.Variables(self.function)
        self.bare(self.calls, bare.traced(self.variables))
        self.calls.read(range(len(self.calls.tensors)))
        self.deaths = bare.Deaths()
        self.bare(self.deaths)
        self.gradients = bare.Gradients()
        self.bare(self.gradients, self.gradients.watching())
        self.gradients.read()
        self.ids = self.identities()

    def identities(self) -> dict[int, int]:
        """By the recording's id of a tensor object, its number in the bare runs: by the objects
        themselves, which a second recording of the same run keeps."""
        kept = bare.Kept()
        again = self.exploration._new_run(self.chosen)
        with kept:
            self.exploration._perform(again, self.chosen)
        self.recorded = outline(self.graph), outline(again.graph)
        self.orders = {tuple(run.calls) for run in (kept, self.calls, self.deaths, self.gradients)}
        found = {}
        for number, tensor in enumerate(kept.tensors):
            state = tried(lambda tensor=tensor: again.recording.find(tensor))
            if state is not None:
                found[state.object_id] = number
        return found

    # --- who is who -------------------------------------------------------------------------------

    @cached_property
    def number(self) -> dict[int, int]:
        """By card, the number of its tensor."""
        found = {}
        for card in self.cards.values():
            if card.tensor_ids and card.kind != "tag":
                k = self.ids.get(self.graph.tensor[card.tensor_ids[-1]].object_id)
                if k is not None:
                    found[card.id] = k
        return found

    def ends(self, arrow: Arrow) -> Iterator[tuple[int, int | None]]:
        """The numbers of the tensors that an arrow ties together; None for a value that left torch.

        A small card with names stands for several leaves, and its arrow may lead to all that a
        region holds: then it says of each leaf that something in there was made from it.
        """
        tail, head = self.cards[arrow.tail], self.cards[arrow.head]
        if tail.kind != "tag":
            if tail.id in self.number:
                yield self.number[tail.id], self.number.get(head.id)
            return
        heads = {head.id}
        if arrow.to_frame:
            heads = {
                i
                for box in self.boxes
                if box.kind == "region" and head.id in box.members
                for i in box.members
            }
        for k in sorted({self.ids[self.graph.tensor[i].object_id] for i in tail.tensor_ids}):
            ways = [(k, self.number.get(i)) for i in sorted(heads)]
            true = [
                way for way in ways if way in (self.true_cuts if arrow.kind == "cut" else self.used)
            ]
            yield from true if arrow.to_frame and true else ways

    def end(self, k: int) -> int:
        """Calls that had returned when a tensor died, or all."""
        return self.deaths.died.get(k, len(self.calls.calls))

    def last(self, k: int) -> Moment:
        return self.calls.at(k, self.end(k))

    def moments(self, card: Card) -> list[Moment]:
        """What the tensor of a card was: at the end, or, of a card whose tensor went on, whenever
        it may have been."""
        k = self.number[card.id]
        here = self.graph.tensor[card.tensor_ids[-1]]
        later = [t for t in self.graph.tensors if t.object_id == here.object_id and t.id > here.id]
        if not later:
            return [self.last(k)]
        return [
            m
            for when, m in self.calls.history[k]
            if m.version == here.version and when <= self.end(k)
        ]

    def title(self, card: Card) -> str:
        return f"{card.name or card.title!r} (card {card.id})"

    # --- complaints -------------------------------------------------------------------------------

    def complaints(self) -> Iterator[str]:
        if len(self.orders) != 1:
            yield f"the runs differ in their calls: {self.orders}"
            return
        if self.recorded[0] != self.recorded[1]:
            differ = [pair for pair in itertools.zip_longest(*self.recorded) if pair[0] != pair[1]]
            yield f"a second recording of the same state differs: {differ[0]}"
        yield from self.bare_agrees()
        yield from self.raised()
        for card in self.cards.values():
            if card.tensor_ids and card.kind != "tag":
                if card.id not in self.number:
                    yield f"{self.title(card)}: no tensor of the bare run"
                    continue
                yield from (f"{self.title(card)}: {said}" for said in self.card(card))
        yield from self.raisers()
        yield from self.table()
        yield from self.memory()
        yield from self.modes()
        yield from self.flow()
        yield from self.cuts()
        yield from self.sentence()
        yield from self.parameters()

    def parameters(self) -> Iterator[str]:
        """What an outline counts of each parameter is what ``.grad`` of the bare run says."""
        for weight in self.outlined.operations.weights if self.outlined else ():
            k = None if weight.object_id is None else self.ids.get(weight.object_id)
            if k is None:
                yield f"parameter {weight.name}: no tensor of the bare run"
                continue
            self.counted["parameters of outlines"] += 1
            true = fate(self.calls.tensors[k])
            if weight.fate is not true:
                yield f"parameter {weight.name}: counted as {weight.fate.value}, torch {true.value}"

    def bare_agrees(self) -> Iterator[str]:
        """The run with nothing in it ended as the one that was read call by call."""
        for name, (values, grad) in self.plain.locals.items():
            t = self.variables.at_end.get(name)
            moment = Moment.of(t) if isinstance(t, torch.Tensor) else None
            if moment is None or (moment.values, moment.grad) != (values, grad):
                yield f"the bare runs differ: {name} is {values}, .grad {grad}, or {moment}"

    def raised(self) -> Iterator[str]:
        if self.shown["error"] != self.plain.error:
            yield f"error: shown {self.shown['error']!r}, bare {self.plain.error!r}"
        if list(self.shown["lines"]) != ([self.plain.line] if self.plain.line else []):
            yield f"line of the error: shown {self.shown['lines']}, bare {self.plain.line}"
        if self.shown["printed"] != self.plain.printed:
            yield f"printed: shown {self.shown['printed']!r}, bare {self.plain.printed!r}"
        self.counted["errors"] += bool(self.plain.error)

    # --- one card ---------------------------------------------------------------------------------

    def card(self, card: Card) -> Iterator[str]:
        moments = self.moments(card)
        yield from self.named(card)
        facts = dict(self.shown["cards"][f"n{card.id}"]["facts"])
        looks = self.shown["cards"][f"n{card.id}"]["look"].split("\n")
        if looks != [row.text for row in card.rows]:
            yield f"the state says {looks}, the picture {[row.text for row in card.rows]}"
        for row in card.rows:
            if row.kind == "values":
                yield from self.values(row.text, moments)
        known = moments[-1]
        checked = {
            "values": known.values,
            "shape": None if known.shape is None else str(list(known.shape)),
            "dtype": known.dtype,
            "requires_grad": said(known.requires_grad),
            "version": "unknown" if known.version is None else said(known.version),
            "retains_grad": said(known.retains_grad),
        }
        for name, value in checked.items():
            if len(moments) == 1 and facts.get(name) != value:
                yield f"{name}: shown {facts.get(name)}, torch {value}"
            self.counted["facts"] += 1
        if len(moments) == 1:
            yield from self.flags(card, facts["is_leaf"], facts["grad_fn"], facts["grad"])
        yield from self.rows(card, moments)

    def values(self, text: str, moments: list[Moment]) -> Iterator[str]:
        found = re.fullmatch(
            r"(.*?)( in new memory)?(?: · version (\d+|None))?( · the same tensor)?", text
        )
        assert found
        self.counted["values"] += 1
        expected = {m.values or f"shape {list(m.shape or ())}" for m in moments}
        if found[1] not in expected:
            yield f"values: shown {found[1]}, torch {sorted(expected)}"
        if found[3] and found[3] not in {said(m.version) for m in moments}:
            yield f"version: shown {found[3]}, torch {[m.version for m in moments]}"

    def named(self, card: Card) -> Iterator[str]:
        """A variable's name stands on what is in that variable."""
        k = self.number[card.id]
        name, line = re.fullmatch(r"(.*?)(?: \(line (\d+)\))?", card.name).groups()  # type: ignore[union-attr]
        if not name:
            return
        self.counted["names"] += 1
        t = self.calls.tensors[k]
        scope = {**self.function.__globals__, **self.variables.at_end}
        now = tried(lambda: resolved(name, scope))
        if line is None and (
            now is t or (name.endswith(".data") and Moment.of(now).storage == Moment.of(t).storage)
        ):
            return
        held = self.variables.held.get(name, [])
        if any(one is t for one in held) or (
            name.endswith(".data")
            and any(Moment.of(one).storage == Moment.of(t).storage for one in held)
        ):
            if line is None and isinstance(self.variables.at_end.get(name), torch.Tensor):
                yield f"is called {name}, and {name} is another tensor at the end"
            return
        yield f"is called {card.name}, and was never in that variable"

    def flags(self, card: Card, is_leaf: str, grad_fn: str, grad: str) -> Iterator[str]:
        """Of the last state: is_leaf, the name of grad_fn, .grad."""
        k = self.number[card.id]
        moment = self.last(k)
        edge = self.gradients.edge_at(k, self.end(k))
        self.counted["flags"] += 1
        anew = is_leaf == "unknown" and tried(lambda: self.calls.tensors[k]._is_view())
        if is_leaf != said(moment.is_leaf) and not anew:
            yield f"is_leaf: shown {is_leaf}, torch {moment.is_leaf}"
        name = (
            "None"
            if moment.is_leaf or edge is None
            else last_part(self.gradients.nodes[edge[0]].name())
        )
        if last_part(grad_fn) != name and not (anew and grad_fn == "unknown"):
            yield f"grad_fn: shown {grad_fn}, torch {name}"
        if grad != self.grad_word(k) and not (anew and grad == "unknown"):
            yield f".grad: shown {grad}, torch {self.grad_word(k)}"

    def grad_word(self, k: int) -> str:
        moment = self.last(k)
        if moment.grad is not None:
            return moment.grad
        if not moment.requires_grad:
            so_far = [m for when, m in self.calls.history[k] if when <= self.end(k)]
            had = any(m.grad is not None or (m.requires_grad and m.is_leaf) for m in so_far)
            return "None" if had else "not tracked"
        return "None" if moment.is_leaf or moment.retains_grad else "None (not a leaf)"

    def rows(self, card: Card, moments: list[Moment]) -> Iterator[str]:
        k = self.number[card.id]
        known = moments[-1]
        edge = self.gradients.edge_at(k, self.end(k))
        for row in card.rows:
            self.counted[f"rows {row.kind}"] += 1
            text = row.text
            if text == "leaf · requires_grad" and not (known.requires_grad and known.is_leaf):
                yield f"says {text}; requires_grad {known.requires_grad}, is_leaf {known.is_leaf}"
            elif text.startswith("not tracked") and len(moments) == 1 and edge is not None:
                yield f"says {text}; its gradient enters at {edge}"
            elif text.startswith(".grad is still "):
                if text.removeprefix(".grad is still ") != known.grad:
                    yield f"says {text}; torch {known.grad}"
            elif text.startswith(".grad kept by retain_grad: "):
                if text.removeprefix(".grad kept by retain_grad: ") != str(known.grad):
                    yield f"says {text}; torch {known.grad}"
            elif row.kind == "grad_fn":
                yield from self.footer(k, text)
            elif row.kind == "accumulate":
                yield from self.accumulated(k, text)
            elif row.kind == "stale":
                yield from self.stale(k, text)

    def footer(self, k: int, text: str) -> Iterator[str]:
        """Names of nodes: grad_fn's own first, then nodes behind it."""
        if re.search(r"\w+ saved ", text):
            return
        names, _, start = text.partition(" · ")
        if names.startswith("grad_fn is made anew"):
            return
        g = self.gradients
        edges = [e for _, e in g.edges[k] if e]
        now = g.edge_at(k, self.end(k))
        behind = {last_part(g.nodes[key].name()) for key in g.behind([now[0]])} if now else set()
        listed = [
            last_part(re.sub(r" \(\d+ nodes\)", "", n)) for n in names.split(" → ") if n != "…"
        ]
        if not edges:
            yield f"lists {names}, and never had a grad_fn"
        elif now and isinstance(now[0], int):
            if missing := [n for n in listed if n not in behind]:
                yield (
                    f"lists {missing} of {names}, which no gradient meets from its grad_fn on:"
                    f" {sorted(behind)}"
                )
            first = last_part(g.nodes[now[0]].name())
            if first != listed[0]:
                yield f"lists {listed[0]} first, grad_fn is {first}"
        if found := re.search(
            r"starts(?: here)?(?: (?:\d+ times|both times|all \d+ times))?,?(?: last)? with (\S.*?)"
            r"(?: both times| all \d+ times)?$",
            start,
        ):
            values = {r.arrived.get(e) for r in g.runs for e in r.roots if e in edges}
            way = found[1].split(" → ")
            if way[-1] not in values:
                yield f"says {start}; torch {values}"

    def accumulated(self, k: int, text: str) -> Iterator[str]:
        """What arrived at a leaf, and what .grad was before and after."""
        leaf = ("leaf", k)
        runs = [r for r in self.gradients.runs if (leaf, 0) in r.arrived]
        backwards = [r for r in runs if r.kind == "backward"]
        self.counted["gradients of leaves"] += 1
        if found := re.fullmatch(r"backward (\d+): arrives (.*?) · \.grad (.*)", text):
            index = int(found[1]) - 1
            run = self.gradients.runs[index] if index < len(self.gradients.runs) else None
            if run is None or (leaf, 0) not in run.arrived:
                yield f"says {text}; nothing arrived in that backward"
                return
            yield from self.arrived(run, leaf, found[2])
            yield from self.stored(run, k, found[3])
        elif found := re.fullmatch(r"AccumulateGrad · arrives(?: once:)? (.*)", text):
            if len(backwards) != 1:
                yield f"says {text}; {len(backwards)} backwards arrived"
                return
            yield from self.arrived(backwards[0], leaf, found[1])
        elif found := re.fullmatch(r"\.grad: (.* → .*)", text):
            if len(backwards) != 1:
                yield f"says {text}; {len(backwards)} backwards arrived"
                return
            yield from self.stored(backwards[0], k, found[1])
        elif found := re.fullmatch(r"\.grad: (set to None by .*)", text):
            yield from self.stored(backwards[-1], k, found[1])
        elif found := re.fullmatch(r"\.grad: (.*)", text):
            if said(self.last(k).grad) != found[1]:
                yield f"says {text}; torch {self.last(k).grad}"
        elif found := re.match(r"engine adds (.*?)(?: · (.*))?$", text):
            yield from self.added(k, found[1])
        elif text == "AccumulateGrad · never reached":
            if backwards:
                yield f"says {text}; {[r.arrived[leaf, 0] for r in backwards]} arrived"
        elif found := re.fullmatch(r"autograd\.grad returns (.*)", text):
            returned = [v for r in self.gradients.runs if r.kind == "grad" for v in r.returned]
            values = [value.split(" → ")[-1] for value in found[1].split(", then ") if value != "…"]
            if missing := [value for value in values if value not in map(str, returned)]:
                yield f"says {text}; torch returned {returned}, not {missing}"
        elif text.startswith("AccumulateGrad adds to what is stored"):
            if all(r.before[k] is None for r in backwards):
                yield f"says {text}; nothing was stored before"
        elif re.match(r"AccumulateGrad · \w+ backwards?$", text):
            word = {2: "two", 3: "three", 4: "four"}.get(len(backwards), str(len(backwards)))
            if f" {word} " not in text:
                yield f"says {text}; {len(backwards)} arrived"
        elif " before " in text or text.startswith("… "):
            pass
        else:
            yield f"an unknown line: {text}"

    def arrived(self, run: Any, leaf: Any, text: str) -> Iterator[str]:
        way = text.split(" → ")
        if way[-1] != run.arrived[leaf, 0]:
            yield f"arrives: shown {text}, torch {run.arrived[leaf, 0]}"

    def stored(self, run: Any, k: int, text: str) -> Iterator[str]:
        if text.startswith("set to None by"):
            if run.after[k] is not None:
                yield f".grad: shown {text}, torch {run.after[k]}"
            return
        before, *_, after = text.split(" → ")
        if (before, after) != (said(run.before[k]), said(run.after[k])):
            yield f".grad: shown {text}, torch {run.before[k]} → {run.after[k]}"

    def added(self, k: int, text: str) -> Iterator[str]:
        """The parts that the engine adds, of the last run that brought any."""
        g = self.gradients
        own = {e for _, e in g.edges[k] if e}
        parts: list[str] = []
        for run in g.runs:
            sent = [
                v
                for (key, slot), v in run.sent.items()
                for i, e in g.next(key)
                if i == slot and e in own
            ]
            parts = sent or parts
        if re.match(r"\d+ gradients", text):
            if not text.startswith(f"{len(parts)} gradients"):
                yield f"engine adds {text}; torch {parts}"
        elif sorted(text.split(" + ")) != sorted(parts):
            yield f"engine adds {text}; torch {parts}"

    def raisers(self) -> Iterator[str]:
        """A call that raised has a card with its error, and arrows from what it was given."""
        for card in self.cards.values():
            if card.kind != "raised":
                continue
            text = card.rows[-1].text
            name, inputs = self.calls.raised or ("nothing", ())
            self.counted["calls that raised"] += 1
            if text.rstrip("…") not in self.plain.error:
                yield f"{self.title(card)}: says {text}; torch {self.plain.error}"
            given = {
                tail
                for arrow in self.arrows
                if arrow.head == card.id
                for tail, _ in self.ends(arrow)
            }
            if not given <= set(inputs):
                yield f"{self.title(card)}: arrows from {sorted(given)}; {name} was given {inputs}"

    def stale(self, k: int, text: str) -> Iterator[str]:
        if found := re.fullmatch(r"STALE: it is at version (\d+) now", text):
            if int(found[1]) not in {m.version for states in self.calls.history for _, m in states}:
                yield f"says {text}; no tensor was ever at that version"
        elif "raises here" in text:
            name, inputs = self.calls.raised or ("nothing", ())
            if name not in ("backward", "grad") or k not in inputs[:1]:
                yield f"says {text}; {name} raised, called on {[self.word(i) for i in inputs[:1]]}"
            why = text.partition("here: ")[2]
            if why != "no grad_fn" and why not in self.plain.error:
                yield f"says {text}; torch {self.plain.error}"

    # --- the table --------------------------------------------------------------------------------

    def table(self) -> Iterator[str]:
        numbers: dict[str, int] = {}
        for row in self.shown["table"]:
            if row["card"]:
                numbers[row["key"]] = self.number.get(int(row["card"][1:]), -1)
        for row in self.shown["table"]:
            k = numbers.get(row["key"], -1)
            if k < 0:
                yield f"row {row['key']} of the table: no tensor of the bare run"
                continue
            self.counted["rows of the table"] += 1
            value, grad, requires_grad, is_leaf, grad_fn, version, storage = row["cells"][1:]
            moment, where = self.last(k), f"row {row['key']} of the table"
            shape = f"shape {list(moment.shape or ())}"
            checked = [
                ("value", value, moment.values or shape),
                ("requires_grad", requires_grad, said(moment.requires_grad)),
                ("version", version, said(moment.version)),
            ]
            for what, mine, theirs in checked:
                if mine != theirs and (mine, theirs) != ("unknown", "None"):
                    yield f"{where}: {what}: shown {mine}, torch {theirs}"
            card = self.cards[int(row["card"][1:])]
            yield from (f"{where}: {one}" for one in self.flags(card, is_leaf, grad_fn, grad))
            shared = {
                other for other, n in numbers.items() if n not in (-1, k) and self.share(n, k)
            }
            names = ", ".join(dict.fromkeys(bare_key(s) for s in numbers if s in shared))
            told = (
                "unknown"
                if moment.storage is None
                else f"shared with {names}"
                if shared
                else "not shared here"
            )
            if len(shared) <= 3 and storage != told:
                yield f"{where}: storage: shown {storage}, torch shares it with {sorted(shared)}"

    # --- memory and modes -------------------------------------------------------------------------

    def share(self, one: int, other: int) -> bool:
        a, b = self.last(one).storage, self.last(other).storage
        return a is not None and a == b

    def lie_in(self, card: int) -> set[int | None]:
        """The memory of a card's tensor when it was what the card says."""
        moments, values = (
            self.moments(self.cards[card]),
            self.graph.tensor[self.cards[card].tensor_ids[-1]].values,
        )
        return {m.storage for m in moments if m.values == values} or {m.storage for m in moments}

    def memory(self) -> Iterator[str]:
        """Frames around what shares memory, and the same in the state's own words."""
        framed = set()
        for box in self.boxes:
            if box.kind == "memory":
                framed |= {frozenset((a, b)) for a in box.members for b in box.members if a != b}
        cards = list(self.number)
        for i, one in enumerate(cards):
            for other in cards[i + 1 :]:
                if self.number[one] == self.number[other]:
                    continue
                self.counted["pairs of tensors"] += 1
                ones, others = self.lie_in(one), self.lie_in(other)
                # an older card, of a time when the memory was exchanged
                if len(ones) > 1 or len(others) > 1:
                    self.counted["pairs of tensors, not known"] += 1
                    continue
                shared = ones == others != {None}
                drawn = frozenset((one, other)) in framed
                told = f"n{other}" in self.shown["cards"][f"n{one}"]["memory"]
                if (drawn, told) != (shared, shared):
                    yield (
                        f"memory of {self.title(self.cards[one])} and"
                        f" {self.title(self.cards[other])}: framed {drawn}, told {told}, torch"
                        f" {shared}"
                    )

    def modes(self) -> Iterator[str]:
        """A shaded region stands around what was made in that mode; a single card says it itself."""
        for label, members in self._regions():
            for i in members:
                k = self.number.get(i)
                calls = enumerate(self.calls.made)
                made = [
                    c
                    for n, c in calls
                    if k in c.outputs or (k in c.inputs and k in self.written(n))
                ]
                again = [c.id for c in self.cards.values() if self.number.get(c.id) == k] != [i]
                self.counted["members of a region"] += 1
                words = {mode(call) for call in (made if again else made[:1])}
                if k is not None and not any(word and label.startswith(word) for word in words):
                    yield f"{self.title(self.cards[i])} stands in {label}; it was made in {words}"

    def _regions(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Yield what each shaded region is called, and the cards in it."""
        for box in self.boxes:
            if box.kind == "region":
                yield box.label, box.members
        for card in self.run.figure.scene.cards:
            for row in card.rows:
                if row.kind == "untracked" and not row.text and row.brief:
                    yield row.brief, (card.id,)

    # --- arrows -----------------------------------------------------------------------------------

    @cached_property
    def edges(self) -> dict[int, set[bare.Edge]]:
        """By number of a drawn tensor: all gradient edges that it ever had."""
        named = {
            self.ids[self.graph.tensor[i].object_id]
            for card in self.cards.values()
            if card.kind == "tag"
            for i in card.tensor_ids
        }
        return {
            k: {e for when, e in self.gradients.edges[k] if e and when <= self.end(k)}
            for k in {*self.number.values(), *named}
        }

    @cached_property
    def links(self) -> dict[tuple[int, int], list[tuple[bare.Key, int]]]:
        """(number of a tensor, number of what was made from it): the slots along which a gradient
        goes back."""
        owner: dict[bare.Edge, list[int]] = {}
        for k, edges in self.edges.items():
            for e in edges:
                owner.setdefault(e, []).append(k)
        found: dict[tuple[int, int], list[tuple[bare.Key, int]]] = {}
        g = self.gradients
        for head, edges in self.edges.items():
            seen, todo = set(), [e[0] for e in edges if isinstance(e[0], int)]
            while todo:
                key = todo.pop()
                if key in seen:
                    continue
                seen.add(key)
                for slot, target in g.next(key):
                    others = [k for k in owner.get(target, ()) if k != head]
                    for tail in others:
                        found.setdefault((tail, head), []).append((key, slot))
                    if not others:
                        todo.append(target[0])
        return found

    @cached_property
    def sent(self) -> dict[tuple[bare.Key, int], tuple[str, str | None]]:
        """By slot: what the last run sent along it, and what arrived where it leads."""
        found = {}
        g = self.gradients
        for run in g.runs:
            for (key, slot), value in run.sent.items():
                for i, edge in g.next(key):
                    if i == slot:
                        found[key, slot] = (value, run.arrived.get(edge))
        return found

    def flow(self) -> Iterator[str]:
        """Every gradient on an arrow is that of the engine, every one of the engine stands on an
        arrow."""
        drawn: dict[tuple[int, int], list[Arrow]] = {}
        for arrow in self.arrows:
            for tail, head in self.ends(arrow):
                if head is not None:
                    drawn.setdefault((tail, head), []).append(arrow)
        used, made_so = self.used, self.made_so
        for pair in {**drawn, **self.links, **used}:
            tail, head = pair
            if tail == head:
                continue
            where = f"{self.word(tail)} → {self.word(head)}"
            arrows, slots = drawn.get(pair, []), self.links.get(pair, [])
            told = [a.label for a in arrows if a.kind in ("gradient", "zeros")]
            real = [self.sent[slot] for slot in slots if slot in self.sent]
            self.counted["gradients on arrows"] += len(told)
            self.counted["arrows"] += len(arrows)
            left = list(real)
            for label in told:
                fits = next((r for r in left if fits_label(label, *r)), None)
                if fits is None:
                    yield f"{where}: the arrow says {label}, torch sent {real}"
                else:
                    left.remove(fits)
            if left:
                yield f"{where}: torch sent {left}, which no arrow shows"
            if arrows and not slots and pair not in made_so:
                yield f"{where}: an arrow, and nothing was made so"
            if not arrows and pair in used:
                yield f"{where}: no arrow, though {used[pair]} read it"
            solid = [a for a in arrows if a.kind in ("forward", "gradient", "zeros", "raise")]
            if (
                solid
                and self.edges[tail]
                and pair in used
                and self.tracked_use(pair)
                and not self.path(pair)
            ):
                yield f"{where}: a whole arrow, and no gradient path"
            if any(a.kind == "raise" for a in arrows) and not self.plain.error:
                yield f"{where}: says that backward raises, and nothing was raised"

    def path(self, pair: tuple[int, int]) -> bool:
        """Whether a gradient of the second tensor ever had a way to the first."""
        return any(
            self.gradients.leads(a, b) for a in self.edges[pair[1]] for b in self.edges[pair[0]]
        )

    def word(self, k: int) -> str:
        return next(
            (self.title(self.cards[i]) for i, own in self.number.items() if own == k), f"tensor {k}"
        )

    def written(self, index: int) -> list[int]:
        """The inputs of a call that it changed."""
        call = self.calls.made[index]
        return [
            k
            for k in dict.fromkeys(call.inputs)
            if self.calls.at(k, index)
            != self.calls.at(k, index + 1)._replace(grad=self.calls.at(k, index).grad)
        ]

    @cached_property
    def used(self) -> dict[tuple[int, int], str]:
        """(number of what a call of the reader's read, of what it made): the call."""
        return self.uses(self.own_calls())

    @cached_property
    def made_so(self) -> dict[tuple[int, int], str]:
        """The same with calls inside a custom Function or an optimizer: one arrow may stand for
        them."""
        return self.uses(enumerate(self.calls.made))

    def uses(self, calls: Iterable[tuple[int, bare.Call]]) -> dict[tuple[int, int], str]:
        found: dict[tuple[int, int], str] = {}
        drawn = set(self.number.values())
        for index, call in calls:
            made = [k for k in call.outputs if k not in call.inputs]
            for k in dict.fromkeys((*made, *self.written(index))):
                for i in call.inputs:
                    if i != k and i in drawn and k in drawn:
                        found.setdefault((i, k), call.name)
        return found

    def own_calls(self) -> Iterator[tuple[int, bare.Call]]:
        for index, call in enumerate(self.calls.made):
            if not call.inner and call.name not in DOES_NOT_READ:
                yield index, call

    def tracked_use(self, pair: tuple[int, int]) -> bool:
        """Whether what was read required grad then, in every call that read it."""
        for index, call in self.own_calls():
            made = (*call.outputs, *self.written(index))
            if (
                pair[0] in call.inputs
                and pair[1] in made
                and self.gradients.edge_at(pair[0], index) is None
            ):
                return False
        return True

    # --- cuts -------------------------------------------------------------------------------------

    @cached_property
    def true_cuts(self) -> dict[tuple[int, int | None], str]:
        """(number of a tracked tensor, of what a call made of it without a gradient path; None:
        left torch)."""
        found: dict[tuple[int, int | None], str] = {}
        g = self.gradients
        for index, call in self.own_calls():
            written = self.written(index)
            made = dict.fromkeys((*call.outputs, *written))
            for i in dict.fromkeys(call.inputs):
                edge = g.edge_at(i, index)
                if edge is None or (i in written and call.name in OVERWRITES - {"detach_"}):
                    continue
                if not made and call.result:
                    found[i, None] = call.name
                if call.name == "detach_":
                    slots = self.links.items()
                    found |= {
                        pair: "detach_"
                        for pair, at in slots
                        if pair[1] == i and not self.sent.keys() & {*at}
                    }
                    continue
                ways = [k for k in made if not g.leads(g.edge_at(k, index + 1), edge)]
                if len(ways) == len(made):
                    found.update({(i, k): call.name for k in ways})
        return found

    def cuts(self) -> Iterator[str]:
        true = self.true_cuts
        drawn: dict[tuple[int, int | None], str] = {}
        for arrow in self.arrows:
            if arrow.kind == "cut":
                drawn.update(dict.fromkeys(self.ends(arrow), arrow.label))
        self.counted["cuts"] += len(drawn)
        for (tail, head), label in drawn.items():
            if (tail, head) not in true:
                end = "what left torch" if head is None else self.word(head)
                yield (
                    f"{self.word(tail)} → {end}: {label}; torch has a gradient path, or nothing was"
                    " read"
                )
        for (tail, head), name in true.items():
            if (tail, head) not in drawn and tail in self.number.values() and tail != head:
                end = "what left torch" if head is None else head
                yield (
                    f"{self.word(tail)} → {end}: no cut is drawn, and {name} made it without a"
                    " gradient path"
                )

    def sentence(self) -> Iterator[str]:
        sentence = Sentence(self)
        yield from sentence.complaints()
        self.counted["claims of sentences"] += sentence.understood


def outline(graph: Graph) -> list[Any]:
    """The calls, by the objects that they read and made: these numbers are what ties two recordings
    together. A tensor that is kept alive sees more writes, and memory that nobody wrote yet holds
    other numbers in every run.
    """
    of = {t.id: t.object_id for t in graph.tensors}
    return [
        (c.function, [of[i] for i in c.inputs], [of[o] for o in c.outputs], c.source)
        for c in graph.calls
    ]


def resolved(name: str, scope: dict[str, Any]) -> Any:
    """What ``net.0.weight`` is."""
    first, *rest = name.split(".")
    value = scope[first] if first in scope else eval(first, dict(scope))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of .grad of what is no leaf
        for part in rest:
            value = getattr(value, part)
    return value


def fits_label(label: str, sent: str, arrived: str | None) -> bool:
    """The label of an arrow: what was sent, or, with a hook on the way, what was sent and what
    arrived."""
    if " → " in label:
        way = label.split(" → ")
        return (way[0], way[-1]) == (sent, arrived)
    return label == sent


def mode(call: bare.Call) -> str:
    return "inference_mode" if call.inference_mode else "" if call.grad_mode else "no_grad"


def said(value: object) -> str:
    return str(value)


def last_part(name: str) -> str:
    return name.rpartition("::")[2]


def bare_key(key: str) -> str:
    return re.sub(r"#\d+$", "", key)


def fate(parameter: torch.Tensor) -> Fate:
    """What torch says became of a parameter's gradient."""
    if parameter.grad is None:
        return Fate.NONE if parameter.requires_grad else Fate.FROZEN
    norm = float(parameter.grad.double().norm())
    if norm != norm:
        return Fate.NAN
    return Fate.ZERO if norm == 0 else Fate.VANISHED if norm < VANISHING else Fate.SOME
