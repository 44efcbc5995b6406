"""Scripts as gradviz draws them: recorded, laid out as an outline, and as the SVG that is saved."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import pygraphviz
from model_scripts import Namespace, run

import gradviz as gv
from gradviz.graph.records import Graph
from gradviz.picture import render
from gradviz.picture.outline.cards import Cards
from gradviz.picture.outline.dot import HEAD_WIDTH
from gradviz.picture.outline.fit import Fitted, Fitting, Plan


class Watched(Fitting):
    """Remembers by which plan each outline was laid out."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph, render._laid_out)
        self.plans: list[tuple[Fitted, Plan]] = []

    def laid_out(self, plan: Plan, head: int = HEAD_WIDTH) -> Fitted:
        fitted = super().laid_out(plan, head)
        self.plans.append((fitted, plan))
        return fitted

    def plan_of(self, fitted: Fitted) -> Plan:
        return next(plan for one, plan in self.plans if one is fitted)


@dataclass(eq=False)
class Drawn:
    """The outline of one recorded script. ``names``: what the script has made."""

    source: str
    filename: str
    names: Namespace
    graph: Graph

    @cached_property
    def fitting(self) -> Watched:
        return Watched(self.graph)

    @cached_property
    def fitted(self) -> Fitted:
        return self.fitting.fitted()

    @cached_property
    def cards(self) -> Cards:
        """The cards of the outline, with the units that they stand for."""
        return self.fitting.cards(self.fitting.plan_of(self.fitted))

    @cached_property
    def svg(self) -> str:
        """The text of the saved picture."""
        picture = pygraphviz.AGraph(string=self.fitted.source)
        return str(picture.draw(format="svg", prog="dot").decode())


def drawn(source: str, filename: str) -> Drawn:
    """Run a script, its cell recorded as a cell of a notebook is."""
    names: Namespace = {}
    recording = gv.record().look_into(names)
    run(source, filename, lambda: recording, names)
    return Drawn(source, filename, names, recording.graph)
