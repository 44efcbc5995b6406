"""What stands in the code that ran and cannot be seen in what it computed: a value that nothing
reads, a method that is not called, a new module that is thrown away. Knows no torch."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence, Set
from itertools import pairwise
from typing import Any

from gradviz.graph.facts import Facts
from gradviz.graph.records import Call, Source
from gradviz.graph.sites import is_installed
from gradviz.graph.training import line_of
from gradviz.names.frames import frames
from gradviz.names.position import callee_of
from gradviz.names.statements import Statements, function_node, source_of
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.code.loop_names import loop_names_rebound
from gradviz.words.speech import say
from gradviz.words.words import Words

# methods that do nothing where they are only named
_TO_BE_CALLED = {"backward", "step", "zero_grad", "eval", "train", "detach_", "requires_grad_"}
# contexts that switch the recording of gradients, as a statement makes them
_GRAD_MODES = {f"torch.{name}" for name in ("no_grad", "enable_grad", "inference_mode")}
# class methods that change nothing, and give a new object
_MAKES_ANEW = {"from_pretrained"}
# methods that give a new tensor, and have a twin that writes in place
_COMPUTES_ANEW = {"clamp", "clip", "mul", "div", "add", "sub", "neg", "sign", "masked_fill"}
# what may read any variable of a function by its name
_READS_ALL = {"locals", "eval", "exec", "vars"}


class Code:
    """The code that ran.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
        statements: the code.
        weightless: the classes of the layers that hold nothing to train.
    """

    def __init__(
        self,
        facts: Facts,
        words: Words,
        statements: Statements,
        weightless: Set[str] = frozenset(),
    ) -> None:
        self.facts, self.words, self.statements = facts, words, statements
        self.weightless = weightless

    def remarks(self) -> Iterator[Remark]:
        """Yield what is to be told of it."""
        yield from self.not_called()
        yield from self.grad_mode_unused()
        yield from self.backward_of_a_module()
        yield from self.one_layer_repeated()
        yield from self.made_in_vain()
        yield from self.loop_names()
        yield from self.never_read()

    def not_called(self) -> Iterator[Remark]:
        """Tell of statements that name a method and do not call it; none where a property of the
        program has that name."""
        functions = (function for _, function in self.statements.nodes(ast.FunctionDef))
        properties = {f.name for f in functions if any(map(_makes_property, f.decorator_list))}
        for file, node in self.statements.nodes(ast.Expr):
            value = node.value
            if isinstance(value, ast.Attribute) and value.attr in _TO_BE_CALLED - properties:
                yield self._of_code("not_called", source_of(file, node))

    def grad_mode_unused(self) -> Iterator[Remark]:
        """Tell of statements that make a context which switches gradients off or on, and do not
        enter it."""
        for file, node in self.statements.nodes(ast.Expr):
            call = node.value
            if isinstance(call, ast.Call) and ast.unparse(call.func) in _GRAD_MODES:
                yield self._of_code("grad_mode_unused", source_of(file, node))

    def backward_of_a_module(self) -> Iterator[Remark]:
        """Tell of modules whose class has a backward as a custom Function has, which nothing
        calls."""
        made = {ast.unparse(call.func) for _, call in self.statements.nodes(ast.Call)}
        for file, node in self.statements.nodes(ast.ClassDef):
            own = _backward_of(node) if node.name in made else None
            if own is None or self._may_be_called(own):
                continue
            place = source_of(file, own)
            yield self._of_code("backward_of_a_module", place, module=node.name, function=own.name)

    def one_layer_repeated(self) -> Iterator[Remark]:
        """Tell of lists of one new module times a number, handed to a container: it is that module
        again and again."""
        for file, node in self.statements.nodes(ast.BinOp):
            sides = (node.left, node.right)
            listed = next((s for s in sides if isinstance(s, ast.List) and len(s.elts) == 1), None)
            if listed is None or not isinstance(node.op, ast.Mult):
                continue
            if not (_is_of_layers(node) or self._is_of_models(node)):
                continue
            made = listed.elts[0]
            if not isinstance(made, ast.Call) or callee_of(made.func) in self.weightless:
                continue
            times = ast.unparse(node.right if node.left is listed else node.left)
            place = source_of(file, node)
            layer = ast.unparse(listed.elts[0])
            yield self._of_code("layer_repeated", place, layer=layer, times=times)

    def _may_be_called(self, method: ast.FunctionDef) -> bool:
        """Say whether a method backward ran, or the code calls a backward with arguments of
        something that is no loss: it may be that one."""
        ran = {c.co_firstlineno for c in self.statements.codes if c.co_name == method.name}
        calls = (call for _, call in self.statements.calls(method.name))
        others = (call for call in calls if "loss" not in ast.unparse(call.func).lower())
        return method.lineno in ran or any(call.args for call in others)

    def _is_of_models(self, node: Any) -> bool:
        """Say whether a list is given a name, and a loop goes through that and asks what it meets
        for its parameters."""
        if not isinstance(node.parent, ast.Assign):
            return False
        name = ast.unparse(node.parent.targets[0])
        loops = (n for _, n in self.statements.nodes((ast.For, ast.comprehension)))
        met = {
            inner.id
            for loop in loops
            if name in {ast.unparse(n) for n in ast.walk(loop.iter)}
            for inner in ast.walk(loop.target)
            if isinstance(inner, ast.Name)
        }
        asked = (call.func for _, call in self.statements.calls("parameters"))
        return any(isinstance(f.value, ast.Name) and f.value.id in met for f in asked)  # type: ignore[attr-defined]

    def made_in_vain(self) -> Iterator[Remark]:
        """Tell of class methods that were called on an object, and of methods that compute anew
        from a gradient or from ``.data``, whose new object is thrown away."""
        for file, node in self.statements.nodes(ast.Expr):
            call = node.value
            function = call.func if isinstance(call, ast.Call) else None
            if not isinstance(function, ast.Attribute):
                continue
            if _is_of_memory(function) and not _is_shown(node):
                yield self._of_code(
                    "dropped_of_memory",
                    source_of(file, node),
                    method=function.attr,
                    of=ast.unparse(function.value),
                    inplace=ast.unparse(call).replace(
                        f".{function.attr}(", f".{function.attr}_(", 1
                    ),
                )
            if function.attr not in _MAKES_ANEW:
                continue
            yield self._of_code(
                "made_in_vain",
                source_of(file, node),
                method=function.attr,
                of=ast.unparse(function.value),
                makes=f"{ast.unparse(function)}(…)",
            )

    def loop_names(self) -> Iterator[Remark]:
        """Tell of loops over parameters that only give their own variable another object."""
        for found in loop_names_rebound(self.statements):
            yield self._of_code("loop_name", found.statement, name=found.name, walked=found.walked)

    def never_read(self) -> Iterator[Remark]:
        """Tell of variables of a function that ran which are given a value, and which nothing in it
        reads: arguments that are replaced, and tracked results."""
        tracked = self._lines_of_tracked()
        for code in self.statements.codes:
            found = None if is_installed(code) else function_node(code)
            if found is None or not isinstance(found[1], ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            file, function = found
            arguments = {a.arg for a in _arguments(function)}
            for name, node in _unread(function):
                place = source_of(file, node)
                twin = f"self.{name}"
                if name in arguments:
                    reads_twin = any(
                        isinstance(n, ast.Attribute) and ast.unparse(n) == twin
                        for n in ast.walk(function)
                    )
                    key = "argument_beside" if reads_twin else "argument_unread"
                    fields = {"name": name, "function": function.name, "twin": twin}
                    others = _places_of(file, function, twin, node)
                    yield self._of_code(key, place, others, **fields)
                elif (place.file, place.line) in tracked:
                    yield self._unread(file, function, node, name)

    def _unread(self, file: Any, function: Any, node: ast.Assign, name: str) -> Remark:
        """Tell of a tracked result that nothing reads, and of a line below it that reads what it
        was computed from: it may be meant there."""
        place = source_of(file, node)
        names = [n.id for n in ast.walk(node.value) if isinstance(n, ast.Name)]
        own = _names_bound(function) - {"self"}
        of = [n for n in dict.fromkeys(names) if n in own]
        below = next(_calls_reading(function, of, node.end_lineno or node.lineno), None)
        if below is not None:
            other = source_of(file, below[0])
            fields: dict[str, Any] = {"of": of, "read": below[1], "other": other.code}
            return self._of_code("result_passed_by", place, [other], name=name, **fields)
        return self._of_code("result_unread", place, name=name)

    def _lines_of_tracked(self) -> dict[tuple[str, int] | None, Call]:
        """Return the calls that gave a tracked result, by line: their own, and those of which a
        function returned it."""
        tensor, found = self.facts.graph.tensor, dict[tuple[str, int] | None, Call]()
        for call in self.facts.ordinary_calls:
            if any(tensor[i].requires_grad for i in call.outputs):
                found[line_of(call)] = call
                for inner, outer in pairwise(frames(call)):
                    if not inner.code.startswith("return "):
                        break
                    found[outer.file, outer.line] = call
        return found

    def _of_code(
        self, key: str, place: Source, others: list[Source] | None = None, **fields: Any
    ) -> Remark:
        """Return a remark about a statement."""
        places = [self.words.line_of(p) for p in others or ()]
        fields = {"statement": place.code, "place": self.words.line_of(place), **fields}
        if places:
            fields["at"] = places
        elif "twin" in fields:
            fields["at"] = [say("label.line", line=place.line)]
        return Remark(
            _weight_of(key),
            key,
            fields,
            statements=(place, *(others or ())),
        )


def _makes_property(decorator: ast.expr) -> bool:
    """Say whether a decorator makes a property: what it is called by is read, and not called."""
    return str(callee_of(decorator)).endswith("property")


def _weight_of(key: str) -> Weight:
    """Return how much a line of this key says: what nothing reads may be there for later."""
    if key.startswith("result_"):
        return Weight.NOTABLE
    return Weight.WEIGHTY if key == "layer_repeated" else Weight.IN_VAIN


def _is_of_memory(method: ast.Attribute) -> bool:
    """Say whether a method computes a new tensor from a gradient, or from ``.data``.

    >>> _is_of_memory(ast.parse("p.grad.data.clamp(-1, 1)").body[0].value.func)
    True
    >>> _is_of_memory(ast.parse("p.grad.data.clamp_(-1, 1)").body[0].value.func)
    False
    """
    owner = method.value
    of_memory = isinstance(owner, ast.Attribute) and owner.attr in ("grad", "data")
    return of_memory and method.attr in _COMPUTES_ANEW


def _is_shown(node: Any) -> bool:
    """Say whether a statement may be the last one of a cell, which a notebook shows."""
    return isinstance(node.parent, ast.Module) and node is node.parent.body[-1]


_CONTAINERS = ("ModuleList", "Sequential", "ParameterList")


def _is_of_layers(node: Any) -> bool:
    """Say whether a list is handed to a container of layers, or is what a comprehension in such a
    container goes through."""
    around: Any = getattr(node, "parent", None)
    while isinstance(
        around, (ast.Starred, ast.comprehension, ast.ListComp, ast.GeneratorExp, ast.List)
    ):
        around = around.parent  # type: ignore[union-attr]
    return isinstance(around, ast.Call) and callee_of(around.func) in _CONTAINERS


def _backward_of(kind: ast.ClassDef) -> ast.FunctionDef | None:
    """Return the method backward of a module's class that takes a gradient and calls no backward
    itself: one that is written as that of a custom Function."""
    methods = {n.name: n for n in kind.body if isinstance(n, ast.FunctionDef)}
    own = methods.get("backward")
    is_module = any(ast.unparse(base).endswith("Module") for base in kind.bases)
    if own is None or not is_module or "forward" not in methods:
        return None
    functions = (n.func for n in ast.walk(own) if isinstance(n, ast.Call))
    starts = any(isinstance(f, ast.Attribute) and f.attr == "backward" for f in functions)
    return None if starts or own.decorator_list or len(own.args.args) < 2 else own


def _arguments(function: Any) -> list[ast.arg]:
    """Return the parameters of a function."""
    args = function.args
    return [*args.posonlyargs, *args.args, *args.kwonlyargs]


def _unread(function: Any) -> Iterator[tuple[str, ast.Assign]]:
    """Yield the variables of a function that one statement alone gives a value, and that nothing in
    it reads after that, each with that statement."""
    inner = list(ast.walk(function))
    names = [n for n in inner if isinstance(n, ast.Name)]
    if _READS_ALL & {n.id for n in names}:
        return
    shared = _shared_with_outside(inner)
    targets = ((n, _only_target(n)) for n in inner if isinstance(n, ast.Assign))
    for node, target in targets:
        # what replaces an argument may read it
        inside = set(map(id, ast.walk(node.value)))
        same = [n for n in names if target and n.id == target.id and id(n) not in inside]
        if target is not None and same == [target] and target.id not in shared:
            yield target.id, node


def _names_bound(function: Any) -> set[str]:
    """Return the variables of a function, its arguments among them."""
    names = (n for n in ast.walk(function) if isinstance(n, ast.Name))
    stored = {n.id for n in names if isinstance(n.ctx, ast.Store)}
    return stored | {a.arg for a in _arguments(function)}


def _calls_reading(
    function: Any, names: Sequence[str], line: int
) -> Iterator[tuple[ast.Assign, str]]:
    """Yield the assignments below a line that call something with one of some variables alone,
    each with that variable."""
    assigned = (n for n in ast.walk(function) if isinstance(n, ast.Assign) and n.lineno > line)
    for node in sorted(assigned, key=lambda n: n.lineno):
        given = node.value.args if isinstance(node.value, ast.Call) else []
        for argument in given[:1]:
            if isinstance(argument, ast.Name) and argument.id in names:
                yield node, argument.id


def _shared_with_outside(nodes: Sequence[ast.AST]) -> set[str]:
    """Return the variables that are not a function's own."""
    outer = (n for n in nodes if isinstance(n, ast.Global | ast.Nonlocal))
    return {name for n in outer for name in n.names}


def _only_target(node: ast.Assign) -> ast.Name | None:
    """Return the variable that alone is assigned, and that is not called unimportant."""
    target = node.targets[0]
    if not isinstance(target, ast.Name) or len(node.targets) > 1 or target.id.startswith("_"):
        return None
    return target


def _places_of(file: Any, function: Any, text: str, besides: ast.AST) -> list[Source]:
    """Return the statements in a function that read an attribute, but one."""
    inside = {id(n) for n in ast.walk(besides)}
    found = dict[int, Source]()
    for statement in ast.walk(function):
        if not isinstance(statement, ast.stmt) or hasattr(statement, "body"):
            continue
        reads = (
            isinstance(n, ast.Attribute) and id(n) not in inside and ast.unparse(n) == text
            for n in ast.walk(statement)
        )
        if any(reads):
            found[statement.lineno] = source_of(file, statement)
    return [found[line] for line in sorted(found)]
