"""What a panel's sentence says, claim by claim, compared with the bare runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from witness.bare import Engine

if TYPE_CHECKING:
    from witness.compared import Compared

ROW = r"\[[\d.e+\-, naif]*\]"
MATRIX = rf"\[{ROW}(?:, {ROW})*\]"
LIST = rf"{ROW}|{MATRIX}|\[{MATRIX}(?:, {MATRIX})*\]"
NUMBER = rf"({LIST}|-?[\d.]*\d(?:e[+-]\d+)?|nan|-?inf|None|\d+(?:×\d+)* values)"
NAME = r"([^;:]+?)"
WHOLE = re.compile(r"(?<=[.;]) (?=[^\s])")


class Sentence:
    """The claims of one sentence."""

    def __init__(self, compared: Compared) -> None:
        self.compared = compared
        self.text: str = compared.shown["sentence"]
        # what a card is called, with its line and without -> its tensor
        self.named: dict[str, set[int]] = {}
        for card in compared.cards.values():
            if card.id in compared.number:
                for name in (card.name, re.sub(r" \(line \d+\)$", "", card.name), card.title):
                    self.named.setdefault(name, set()).add(compared.number[card.id])
        self.understood = 0

    def tensors(self, name: str) -> set[int]:
        return self.named.get(name.strip(), set())

    def complaints(self) -> Iterator[str]:
        """One text for each claim that the bare runs do not bear out."""
        for rule in (
            self.grads,
            self.added,
            self.arrived,
            self.changed,
            self.cut,
            self.line,
            self.shared,
            self.nothing,
        ):
            for said in rule():
                yield f"the sentence says {said}"

    def runs(self, leaf: int) -> list[Engine]:
        """The backwards that brought something to this leaf."""
        g = self.compared.gradients
        return [
            run for run in g.runs if run.kind == "backward" and (("leaf", leaf), 0) in run.arrived
        ]

    def found(self, pattern: str) -> list[Any]:
        found = list(re.finditer(pattern, self.text))
        self.understood += len(found)
        return found

    def grads(self) -> Iterator[str]:
        """a.grad is [2, 2]; a.grad was 2 after backward and is None now."""
        for match in self.found(rf"([\w.]+)\.grad is {NUMBER}(?=[:;,.]| |$)"):
            values = {str(self.compared.last(k).grad) for k in self.tensors(match[1])}
            if match[2] not in values:
                yield f"{match[0]}; torch {sorted(values)}"
        for match in self.found(
            rf"([\w.]+)\.grad was {NUMBER} after backward(?: and is {NUMBER} now)?"
        ):
            for k in self.tensors(match[1]):
                after = [run.after[k] for run in self.runs(k)][-1:]
                if after != [match[2]] or (
                    match[3] and match[3] != str(self.compared.last(k).grad)
                ):
                    yield f"{match[0]}; torch {after}, now {self.compared.last(k).grad}"

    def added(self) -> Iterator[str]:
        """b.grad is 2: 1 arrived and was added to 1 from before."""
        for match in self.found(
            rf"([\w.]+)\.grad is {NUMBER}: {NUMBER} arrived and was added to {NUMBER} from before"
        ):
            for k in self.tensors(match[1]):
                real = [(run.arrived[("leaf", k), 0], run.before[k]) for run in self.runs(k)][-1:]
                if real != [(match[3], match[4])]:
                    yield f"{match[0]}; torch {real}"

    def arrived(self) -> Iterator[str]:
        """a.grad is 5: 2 came back through c and 3 through d; its gradient 1 passed through and was
        not kept."""
        g = self.compared.gradients
        for match in self.found(
            rf"([\w.]+)\.grad is {NUMBER}: ({NUMBER}(?:, {NUMBER})*(?: and {NUMBER})? came back through [^;]*)"
        ):
            for k in self.tensors(match[1]):
                if not (runs := self.runs(k)):
                    yield f"{match[3]}; nothing arrived"
                    continue
                run = runs[-1]
                sent = [
                    value
                    for (key, slot), value in run.sent.items()
                    if (slot, (("leaf", k), 0)) in g.next(key)
                ]  # of the run that came last
                text = match[3].partition(", and ")[0].partition(". ")[0]
                parts = re.findall(rf"(?:^|and |, ){NUMBER}(?=,| and| came| through)", text)
                if sorted(parts) != sorted(sent):
                    yield f"{match[3]}; torch {sent}"
        for match in self.found(
            rf"{NAME} is not a leaf: its gradient {NUMBER} passed through and was not kept"
        ):
            name = match[1].rpartition(". ")[2]
            real = {
                run.arrived.get(edge)
                for k in self.tensors(name)
                for _, edge in g.edges[k]
                for run in g.runs
            }
            if match[2] not in real:
                yield f"{match[0]}; torch {real}"

    def changed(self) -> Iterator[str]:
        """The gradient of y was changed from 1 to 10 by a hook."""
        g = self.compared.gradients
        for match in self.found(rf"The gradient of {NAME} was changed from {NUMBER} to {NUMBER}"):
            real = {
                g.runs[-1].arrived.get(edge)
                for k in self.tensors(match[1])
                for _, edge in g.edges[k]
            }
            if match[3] not in real:
                yield f"{match[0]}; torch {real}"

    def cut(self) -> Iterator[str]:
        """✂ detach() cuts b from a: no gradient goes back to a this way. What it names by its code
        may be no card's."""
        for match in self.found(
            r"cuts ([^:]*?) from ([^:]*?)(?: \(\d+ of \d+ cuts\))?: no gradient goes back to"
        ):
            heads, tails = self.tensors(match[1]), self.tensors(match[2])
            true = self.compared.true_cuts
            if tails and not any(
                tail in tails and (head in heads or not heads) for tail, head in true
            ):
                yield f"{match[0]}; torch cuts {list(true)}"

    def line(self) -> Iterator[str]:
        """Line 7: loss.backward() raises RuntimeError."""
        plain = self.compared.plain
        for match in self.found(r"(?:Line (\d+): )?.*? raises (\w+)(?=[,.:])"):
            if not plain.error.startswith(match[2]):
                yield f"{match[0]}; torch {plain.error!r}"
            if match[1] and "backward" not in match[0] and int(match[1]) != plain.line:
                yield f"{match[0]}; it was line {plain.line}"
            if match[1] and "backward" in match[0] and plain.error and int(match[1]) != plain.line:
                yield f"{match[0]}; it was line {plain.line}"

    def shared(self) -> Iterator[str]:
        """b and a share one block of memory; b[0] = 99. in line 10 changed a too, which shares that
        memory."""
        for match in self.found(
            r"(?:^|\. )([^.:]+?(?:\.\w+)*) and (\S+(?: \(line \d+\))?) share one block of memory"
        ):
            pairs = [
                (a, b) for a in self.tensors(match[1]) for b in self.tensors(match[2]) if a != b
            ]
            if pairs and not any(self.compared.share(*pair) for pair in pairs):
                yield f"{match[0]}; torch does not"
        for match in self.found(r"changed ([\w.]+) too, which shares that memory"):
            calls = self.compared.calls
            if not any(
                len({m.values for _, m in calls.history[k]}) > 1 for k in self.tensors(match[1])
            ):
                yield f"{match[0]}; it never changed"

    def nothing(self) -> Iterator[str]:
        """Nothing here requires grad; no backward has run here."""
        calls = self.compared.calls
        if self.found("Nothing here requires grad") and any(
            moment.requires_grad for states in calls.history for _, moment in states
        ):
            yield "that nothing requires grad; a tensor does"
        if self.found("no backward has run here") and self.compared.gradients.runs:
            yield "that no backward has run; one has"
