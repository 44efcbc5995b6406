"""A custom Function whose backward takes other tensors from ``saved_tensors`` than its forward has
saved. Reads the text of the class, and runs none of it."""

from __future__ import annotations

import ast
import re
from typing import Any, NamedTuple

from gradviz.graph.findings import Cause
from gradviz.graph.records import Call
from gradviz.names.bindings import scope_of
from gradviz.names.compiled import file_of
from gradviz.names.position import statement_of
from gradviz.names.statements import source_of
from gradviz.why.question.failed_line import FailedLine
from gradviz.why.rules.errors.failure import Failure, call_at
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import Code

# Python's texts about a tuple of another length
_OF_LENGTH = re.compile(
    r"(?:not enough|too many) values to unpack \(expected \d+(?:, got (?P<got>\d+))?\)"
    r"|tuple index out of range"
)
_SAVING = "save_for_backward"


class Read(NamedTuple):
    """A statement of a backward that takes what was saved.

    Attributes:
        statement: its syntax node.
        kind: the class around it.
        names: what it calls the tensors, in order; none where it has no names for all of them.
    """

    statement: Any
    kind: Any
    names: list[str]


class Saving(NamedTuple):
    """The method of a custom Function that is to save: forward, or setup_context.

    Attributes:
        node: its syntax node.
        context: what it calls the context.
        calls: of ``save_for_backward`` in it.
        is_forward: whether it is given the inputs one by one.
    """

    node: Any
    context: str
    calls: list[ast.Call]
    is_forward: bool

    @property
    def ends(self) -> list[Any]:
        """Its statements that return."""
        return [node for node in ast.walk(self.node) if isinstance(node, ast.Return)]

    @property
    def end(self) -> Any:
        """Its first statement that returns, or its last one."""
        return next(iter(self.ends), self.node.body[-1])

    def tensors(self, given: int) -> set[str]:
        """Return the names of tensors in it: of what is saved, of what is returned where nothing is
        saved before, and of the arguments, where as many tensors were given as there are."""
        arguments = [argument.arg for argument in self.node.args.args[1:]]
        words = [word for call in self.calls for word in call.args]
        words += [] if self.calls else [node.value for node in self.ends]
        names = {word.id for word in words if isinstance(word, ast.Name)}
        return names | ({*arguments} if len(arguments) == given else set())


def saved_otherwise(failure: Failure) -> Explanation | None:
    """Tell that a backward took more or fewer tensors from its context than forward has saved."""
    found, line = _OF_LENGTH.search(failure.text), failure.failed
    read = _read(line) if found is not None and line is not None else None
    saving = None if read is None else _saving(read.kind)
    if found is None or line is None or read is None or saving is None or len(saving.calls) > 1:
        return None
    saved = saving.calls[0].args if saving.calls else []
    if any(isinstance(one, ast.Starred) for one in saved):
        return None
    is_otherwise = found["got"] is not None and int(found["got"]) != len(saved)
    if is_otherwise or len(read.names) == len(saved):
        return None  # saved under a condition, or by something else
    return _told(failure, line, read, saving)


def _told(failure: Failure, line: FailedLine, read: Read, saving: Saving) -> Explanation:
    """Return the answer about a method that saves other tensors than are taken."""
    file = file_of(line.frames[-1].code)
    node = failure.graph.node.get(failure.event.node_id if failure.event else None)
    applied = failure.maker(node)
    form = _form(read, saving, applied)
    kept = [source_of(file, statement_of(call)) for call in saving.calls]
    place = source_of(file, saving.end)
    return failure.answer(
        Cause.CUSTOM_BACKWARD,
        form,
        calls=map(call_at, filter(None, [*kept, line.place])),
        also_at=[applied],
        more=(),
        function=read.kind.name,
        method=saving.node.name,
        read=Code(ast.unparse(read.statement)),
        n=sum(len(call.args) for call in saving.calls),
        wanted=Code(f"{saving.context}.{_SAVING}({', '.join(read.names)})"),
        saved=Code(kept[0].code or "") if kept else "",
        place=failure.words.source(place),
    )


def _form(read: Read, saving: Saving, applied: Call | None) -> str:
    """Tell whether other tensors are saved or none, and whether those that are taken are known to
    be tensors, and to have a name, where they are to be saved."""
    given = 0 if applied is None else len(applied.inputs)
    is_known = saving.is_forward and bool(read.names)
    is_known = is_known and saving.tensors(given).issuperset(read.names)
    if saving.calls:
        return "saved_others_named" if is_known else "saved_others"
    return "unsaved_named" if is_known and len(saving.ends) == 1 else "unsaved"


def _read(line: FailedLine) -> Read | None:
    """Return the failing statement as one that takes what a context saved; None of any other."""
    owner, statement = line.owner_of("saved_tensors"), line.statement
    if owner is None or not isinstance(statement, ast.stmt):
        return None
    method = scope_of(statement)
    kind = getattr(method, "parent", None)
    if not isinstance(kind, ast.ClassDef) or method.name not in ("backward", "vjp"):
        return None
    first = method.args.args[0].arg if method.args.args else ""
    is_context = isinstance(owner, ast.Name) and owner.id == first
    return Read(statement, kind, _names_taken(statement)) if is_context else None


def _names_taken(statement: Any) -> list[str]:
    """Return the variables that a statement unpacks what was saved into; none of any other."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if len(targets) != 1 or not isinstance(statement.value, ast.Attribute):
        return []
    parts = getattr(targets[0], "elts", [])
    names = [part.id for part in parts if isinstance(part, ast.Name)]
    return names if len(names) == len(parts) == len({*names}) else []


def _saving(kind: Any) -> Saving | None:
    """Return the method of a class that is to save tensors."""
    methods = {node.name: node for node in kind.body if isinstance(node, ast.FunctionDef)}
    node = methods.get("setup_context") or methods.get("forward")
    if node is None or not node.args.args:
        return None
    calls = [
        n
        for n in ast.walk(node)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr == _SAVING
    ]
    return Saving(node, node.args.args[0].arg, calls, "setup_context" not in methods)
