"""What was computed in a way that changes gradients, or is of no use to them: values with a history
in no loss, gradients handed on as they came, factors that cancel, a second softmax. Knows no
torch."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Set

from gradviz.graph.facts import Facts
from gradviz.graph.records import Call, Graph, Node, NodeKind, Tensor
from gradviz.graph.training import line_of
from gradviz.names.frames import stands_above
from gradviz.names.statements import Statements, source_of
from gradviz.why.account.called_losses import LOSS, MEASURED
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.handed_on import computed
from gradviz.why.rules.whole.losses import LOOKING
from gradviz.why.summands import single
from gradviz.words.speech import several
from gradviz.words.words import Words

_DIVIDES, _MULTIPLIES = {"div", "true_divide"}, {"mul"}
# what a forward is made flat or stepwise with
_FLATTENING = {"clamp", "clip", "round", "floor", "ceil", "sign", "where", "hardtanh"}

# operators by which a result is no mere copy of what goes in
_SCALING = (ast.Mult, ast.Div, ast.Pow, ast.MatMult)


class Values:
    """The values of a recording.

    Args:
        graph: of the recording.
        words: what tensors and calls are called.
        statements: the code that ran.
        trained: the object ids of what steps moved.
    """

    def __init__(
        self, graph: Graph, words: Words, statements: Statements, trained: Set[int]
    ) -> None:
        self.graph, self.words, self.statements = graph, words, statements
        self.trained = trained
        self.facts = Facts.of(graph)

    def remarks(self) -> Iterator[Remark]:
        """Yield what is to be told of them."""
        yield from self.in_no_loss()
        yield from self.overwritten()
        yield from self.handed_on()
        yield from self.factors_that_cancel()
        yield from self.softmax_again()

    # --- in no loss -------------------------------------------------------------------------------

    def in_no_loss(self) -> Iterator[Remark]:
        """Tell of named results with a history that no backward comes to and that are in no loss by
        their values either: what is called a loss first."""
        if not self.graph.backwards:
            return
        met = self.facts.reachable({r for b in self.graph.backwards for r in b.roots})
        behind, begun = self.facts.ancestors(self.facts.losses), self._last_iteration()
        begun_at = {self.facts.maker[i][1:3] for i in self.facts.losses if i in self.facts.maker}
        for state in self._results():
            maker, edge = self.facts.maker[state.id], state.gradient_edge
            if edge is None or edge.node_id in met or state.id in behind:
                continue
            if maker[1:3] in begun_at:  # the same again, after its backward: to be printed
                continue
            is_loss = bool(LOSS.search(state.code_name)) and state.former is None
            if is_loss or (begun < maker.id and self._is_unread(state)):
                yield from self._unused(state, maker, is_loss=is_loss)

    def overwritten(self) -> Iterator[Remark]:
        """Tell of losses whose name was given to another result before anything read them: of each
        line the last."""
        bound = [t for t in self.graph.tensors if t.code_name and t.id in self.facts.maker]
        met = self.facts.reachable({r for b in self.graph.backwards for r in b.roots})
        found = dict[object, Remark]()
        for state, again in _next_of_name(bound):
            maker, next_maker = self.facts.maker[state.id], self.facts.maker[again.id]
            edge = state.gradient_edge
            unread = not self.facts.readers.get(state.object_id) and state.former is not None
            unread = unread and edge is not None and edge.node_id not in met
            is_loss = bool(LOSS.search(state.code_name)) and single(state)
            if unread and is_loss and state.requires_grad and stands_above(maker, next_maker):
                found[line_of(maker)] = Remark(
                    Weight.WEIGHTY,
                    "overwritten_unread",
                    {
                        "name": state.code_name,
                        "place": self.words.where(maker),
                        "again": self.words.where(next_maker),
                    },
                    (maker, next_maker),
                    frozenset({state.object_id}),
                )
        yield from found.values()

    def _results(self) -> Iterator[Tensor]:
        """Yield the named results of calls, as they are in the end."""
        for state in self.facts.latest_state.values():
            if state.code_name and state.id in self.facts.maker:
                yield state

    def _last_iteration(self) -> int:
        """Return the call after which the last backward's loss was made: the backward before."""
        calls = sorted({b.call_id for b in self.graph.backwards})
        return calls[-2] if len(calls) > 1 else -1

    def _is_unread(self, state: Tensor) -> bool:
        """Say whether a result is a single number from which nothing was computed, and that is not
        called a measurement."""
        if not single(state) or MEASURED.search(state.code_name):
            return False
        readers = self.facts.readers.get(state.object_id, ())
        return all(call.function in LOOKING for call in readers)

    def _unused(self, state: Tensor, maker: Call, *, is_loss: bool) -> Iterator[Remark]:
        """Tell of one such result, where a gradient from it would reach leaves."""
        leaves = self.facts.leaves_reached(state.id)
        if not leaves:
            return
        trained = [t for t in leaves if t.object_id in self.trained] or leaves
        later = [b.call_id for b in self.graph.backwards if b.call_id > maker.id]
        starts = self.graph.call[min(later)].inputs[:1] if later else ()
        fields = {
            "name": self.words.name(state.id),
            "place": self.words.where(maker),
            "leaves": several([self.words.name(leaf.id) for leaf in trained]),
            "loss": self.words.name(starts[0]) if starts else "",
        }
        yield Remark(
            Weight.WEIGHTY if is_loss else Weight.ORDINARY,
            "in_no_loss" if starts else "in_no_loss_at_all",
            fields,
            (maker,),
            frozenset({state.object_id, *(leaf.object_id for leaf in leaves)}),
        )

    # --- a backward of the program's own ----------------------------------------------------------

    def handed_on(self) -> Iterator[Remark]:
        """Tell of custom Functions whose backward handed the gradient on as it came, while their
        forward changes the value."""
        last = {e.node_id: e for e in self.facts.nodes_ran}
        for node_id, ran in last.items():
            node = self.graph.node[node_id]
            call = self.graph.call.get(node.call_id)
            sent = [i for i, text in enumerate(ran.sent) if text is not None]
            if node.kind is not NodeKind.CUSTOM_FUNCTION or call is None or len(sent) != 1:
                continue
            arrived = (ran.arrived[0], (*ran.arrived_norms, None)[0]) if ran.arrived else None
            norms = dict(enumerate(ran.sent_norms))
            if arrived != (ran.sent[sent[0]], norms.get(sent[0])):
                continue
            yield from self._straight_through(node, call)

    def _straight_through(self, node: Node, call: Call) -> Iterator[Remark]:
        """Tell of one such Function, as far as its code shows that it is one."""
        for file, kind in self.statements.nodes(ast.ClassDef):
            if kind.name not in (
                call.function.partition(".")[0],
                node.name.removesuffix("Backward"),
            ):
                continue
            methods = {m.name: m for m in kind.body if isinstance(m, ast.FunctionDef)}
            forward, backward = (_with_helpers(methods, n) for n in ("forward", "backward"))
            flattens = sorted(set().union(*map(_called, forward)) & _FLATTENING)
            scales = _scaling(forward[0]) if forward else ""
            if not backward or not (flattens or scales) or any(map(_negates, backward)):
                continue
            place = source_of(file, _return_of(backward[-1]))
            unread = _kept_in_vain(forward[0], backward)
            scaled = "kept_in_vain" if unread else "scaled_and_handed_on"
            yield Remark(
                Weight.WEIGHTY,
                "straight_through" if flattens else scaled,
                {
                    "function": kind.name,
                    "call": self.words.at(call),
                    "place": self.words.line_of(place),
                    "flattens": flattens,
                    "scales": scales,
                    "unread": unread,
                },
                (call,),
                frozenset(t.object_id for t in self.facts.leaves_below(node.id)),
                (place,),
            )

    # --- factors that cancel ----------------------------------------------------------------------

    def factors_that_cancel(self) -> Iterator[Remark]:
        """Tell of a number without history that divides a value and multiplies what was made from
        it: in the gradient the two cancel."""
        dividing = self._scaled(_DIVIDES, 1)
        for call, factor, result in self._scaled(_MULTIPLIES, None):
            for first, divisor, quotient in dividing:
                if factor != divisor or first.id >= call.id:
                    continue
                if quotient in self.facts.reachable([result]):
                    yield self._cancelling(first, call, factor)
                    return

    def _scaled(self, functions: set[str], place: int | None) -> list[tuple[Call, int, int]]:
        """Return the calls of some functions that scale a tracked value by a single number without
        history: each with that number's object and the node it made."""
        found = []
        for call in self.facts.ordinary_calls:
            if call.function not in functions or len(call.inputs) != 2 or not call.outputs:
                continue
            edge = self.graph.tensor[call.outputs[0]].gradient_edge
            for at, tensor_id in enumerate(call.inputs):
                factor = self.graph.tensor[tensor_id]
                is_number = single(factor) and not factor.requires_grad
                if edge is not None and is_number and place in (None, at):
                    found.append((call, factor.object_id, edge.node_id))
        return found

    def _cancelling(self, divides: Call, multiplies: Call, factor: int) -> Remark:
        """Tell of one such number."""
        state = self.facts.latest_state[factor]
        return Remark(
            Weight.WEIGHTY,
            "factors_cancel",
            {
                "name": self.words.name(state.id),
                "divides": self.words.at(divides),
                "multiplies": self.words.at(multiplies),
            },
            (divides, multiplies),
            frozenset({factor}),
        )

    # --- a second softmax -------------------------------------------------------------------------

    def softmax_again(self) -> Iterator[Remark]:
        """Tell of a log_softmax of a log_softmax, also of the one inside cross_entropy."""
        for call in self.facts.ordinary_calls:
            if call.function not in ("log_softmax", "cross_entropy") or not call.inputs:
                continue
            before = self.facts.maker.get(computed(self.facts, call.inputs[0]))
            if before is not None and before.function == "log_softmax":
                yield Remark(
                    Weight.WEIGHTY,
                    "softmax_again",
                    {"first": self.words.at(before), "second": self.words.at(call)},
                    (before, call),
                )
                return


def _next_of_name(bound: Iterable[Tensor]) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield each of some results with the next one that was given its name."""
    last = dict[str, Tensor]()
    for state in bound:
        before = last.get(state.code_name)
        if before is not None and before.object_id != state.object_id:
            yield before, state
        last[state.code_name] = state


def _with_helpers(methods: Mapping[str, ast.FunctionDef], name: str) -> list[ast.FunctionDef]:
    """Return a method and those of the same class that it calls, each after its caller."""
    found = dict[str, ast.FunctionDef]()
    todo = [name]
    while todo:
        function = methods.get(one := todo.pop(0))
        if function is not None and one not in found:
            found[one] = function
            todo += sorted(_called(function))
    return list(found.values())


def _scaling(forward: ast.FunctionDef) -> str:
    """Return what a forward returns, where that is a product, a quotient or a power; else ""."""
    value = getattr(_return_of(forward), "value", None)
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, _SCALING):
        return ""
    by_one = (isinstance(n, ast.Constant) and n.value == 1 for n in (value.left, value.right))
    return "" if any(by_one) else ast.unparse(value)


def _kept_in_vain(forward: ast.FunctionDef, backward: list[ast.FunctionDef]) -> list[str]:
    """Return what a forward keeps in its context and the backward never reads."""
    context = forward.args.args[0].arg if forward.args.args else ""
    inside = (n for n in ast.walk(forward) if isinstance(n, ast.Attribute))
    own = (n for n in inside if isinstance(n.ctx, ast.Store) and ast.unparse(n.value) == context)
    read = {n.attr for f in backward for n in ast.walk(f) if isinstance(n, ast.Attribute)}
    return [ast.unparse(n) for n in own if n.attr not in read]


def _negates(function: ast.FunctionDef) -> bool:
    """Say whether a function may turn a sign: that leaves the size of a gradient as it was."""
    signs = (n for n in ast.walk(function) if isinstance(n, ast.UnaryOp))
    return any(isinstance(n.op, ast.USub) for n in signs) or "neg" in _called(function)


def _called(function: ast.FunctionDef) -> set[str]:
    """Return the names of what a function calls."""
    calls = (n.func for n in ast.walk(function) if isinstance(n, ast.Call))
    names = (getattr(f, "attr", None) or getattr(f, "id", "") for f in calls)
    return {str(name).removesuffix("_") for name in names}


def _return_of(function: ast.FunctionDef) -> ast.AST:
    """Return the last return statement of a function, or the function."""
    found: Iterable[ast.AST] = (n for n in ast.walk(function) if isinstance(n, ast.Return))
    return max(found, key=lambda n: getattr(n, "lineno", 0), default=function)
