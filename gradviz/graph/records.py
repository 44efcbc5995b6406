"""The frozen records: what gradviz knows about one autograd graph.

This module knows no torch. Every record is a ``NamedTuple`` of plain data (ids, short strings,
numbers), so a graph can be compared, stored as JSON and kept for as long as the reader likes
without keeping one of the user's tensors alive. Ids are small integers in order of first visit.
The words are torch's own (``torch.autograd.graph.Node``, ``GradientEdge``, ``output_nr``).
"""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar, Union, overload


class GradvizError(Exception):
    """Base of every error that gradviz raises itself."""


class NodeKind(str, Enum):
    """What sort of node this is in torch's graph."""

    BACKWARD = "backward"
    ACCUMULATE_GRAD = "accumulate_grad"
    CUSTOM_FUNCTION = "custom_function"


class SavedState(str, Enum):
    """What has become of a tensor that a node saved for its backward."""

    AVAILABLE = "available"
    STALE = "stale"  # written since: its version moved on, so backward will raise
    FREED = "freed"  # an earlier backward released it
    # its memory was written and its version did not move: backward is silently wrong
    OVERWRITTEN = "overwritten"
    UNKNOWN = "unknown"


class CutReason(str, Enum):
    """Why a value went on while its gradient path did not. The value is the word that the picture
    shows."""

    DETACH = "detach"
    DETACH_IN_PLACE = "detach_"
    DATA = ".data"
    NO_GRAD = "no_grad"
    INFERENCE_MODE = "inference_mode"
    NOT_DIFFERENTIABLE = "non-differentiable function"
    INTEGER_DTYPE = "integer or bool dtype"
    COPIED_OUT = "value copied out"
    NO_GRAD_WRITE = "in-place write under no_grad"
    FLAG_OFF = "requires_grad switched off"
    CUSTOM_NON_DIFFERENTIABLE = "custom Function without a gradient"
    UNKNOWN = "cut, reason not known"


class NoteKind(str, Enum):
    """What a graph lacks, or what was out of the ordinary when it was recorded."""

    DROPPED = "dropped"  # the oldest events; how many, and how many are kept
    FAILED = "failed"  # our own book-keeping; how often, and with which error
    TRANSFORMED = "transformed"  # inside torch.func transforms nothing is recorded
    ELSEWHERE = "elsewhere"  # so many calls ran in other contexts of this thread
    COMPILED = "compiled"  # a compiled function is one call, or is not seen
    PROFILED = "profiled"  # a profiler was active, and counts what recording does
    BEGUN_IN_BACKWARD = "begun_in_backward"  # which switched the recording off early
    OTHER_MODE_LEFT = "other_mode_left"  # the same, by another function mode
    ENDED_ELSEWHERE = "ended_elsewhere"  # by another thread than its own
    NOT_WATCHED = "not_watched"  # this backward, counted from 1: its graph is too large
    NODE_LIMIT = "node_limit"  # the graph that was read has more nodes
    GRAD_FN_UNREADABLE = "grad_fn_unreadable"  # of the tensor of this name, with this error
    GRAD_FN_OF_UNNAMED = "grad_fn_of_unnamed"  # the same, of the tensor with this id
    UNKNOWN_SHAPES = "unknown_shapes"  # so many of so many tensors do not tell theirs
    LEFT_OUT = "left_out"  # so many tensors: this is the part that an explanation points at
    ITERATIONS = "iterations"  # of a loop so many are alike, and this one of them is there


class GradientEdge(NamedTuple):
    """Where a tensor's gradient enters the graph: output ``output_nr`` of the forward call of node
    ``node_id``."""

    node_id: int
    output_nr: int


class SavedTensor(NamedTuple):
    """One tensor that a node keeps for its backward, e.g. attribute ``"self"`` of
    ``MulBackward0``."""

    attribute: str
    tensor_id: int | None  # the recorded tensor state it is, where that is proven
    saved_version: int | None
    state: SavedState


class Node(NamedTuple):
    """A node of torch's backward graph. ``stub``: only its name was read, its own edges were not
    followed."""

    id: int
    name: str
    kind: NodeKind
    sequence_nr: int | None
    saved: tuple[SavedTensor, ...]
    leaf_id: int | None  # AccumulateGrad only: the tensor whose .grad it fills
    call_id: int | None  # the recorded call that made it
    stub: bool


class Edge(NamedTuple):
    """One slot of ``node.next_functions``. ``next_node_id`` is None for a slot that leads
    nowhere."""

    node_id: int
    next_index: int
    next_node_id: int | None
    input_nr: int


class Storage(NamedTuple):
    """One block of memory. ``nbytes`` and ``device`` are None where torch does not tell."""

    id: int
    nbytes: int | None
    device: str | None


class Former(NamedTuple):
    """What a tensor was called before its variable was given to another one."""

    name: str
    line: int | None  # where the variable was this tensor; None where that is not certain


class Summary(NamedTuple):
    """How the numbers of a large tensor are spread. NaN and infinities are counted, and left out of
    everything else.

    mean, std, min and max are None where no number is left, and where there is no order or no such
    number: complex numbers, the std of one. min and max are of the tensor's own kind: bool, int or
    float. ``bins`` counts the numbers between min and max in steps of equal width; empty where all
    are equal.
    """

    numel: int
    mean: float | None
    std: float | None  # with torch's own correction, n - 1
    min: float | bool | None
    max: float | bool | None
    zeros: int
    nan: int
    inf: int
    bins: tuple[int, ...] = ()


class Tensor(NamedTuple):
    """One state of one tensor object. An in-place write gives the same object (``object_id``) a new
    state.

    None means "not known" for shape, stride, storage_offset, dtype, device, requires_grad, is_leaf,
    version and storage_id; for name, grad, values and base_id it means "none", for summary that it
    was not made.
    """

    id: int
    name: str | None  # "b (line 3)" where ``former`` says so
    object_id: int
    shape: tuple[int, ...] | None  # elements per dimension
    stride: tuple[int, ...] | None  # elements
    storage_offset: int | None  # elements
    dtype: str | None  # "float32"
    device: str | None  # "cpu", "cuda:0"
    requires_grad: bool | None
    is_leaf: bool | None
    retains_grad: bool | None
    grad: str | None  # graph.preview of .grad; None when .grad is None or was not read
    values: str | None  # graph.preview, of at most 8 elements
    version: int | None
    storage_id: int | None
    base_id: int | None  # the tensor that this one is a view of
    gradient_edge: GradientEdge | None
    former: Former | None = None  # None: the name is its own
    summary: Summary | None = None  # of more elements than ``values`` shows

    @property
    def code_name(self) -> str:
        """The variable that is this tensor, or was it at a known line; "" where there is none."""
        if self.former is None:
            return self.name or ""
        return "" if self.former.line is None else self.former.name


class Frame(NamedTuple):
    """One statement of the user's under which a call ran: its own, or one that called it."""

    file: str
    line: int
    scope: int  # the first line of the function, or of the file or cell, that it stands in
    code: str  # the statement, of a loop or condition its head; "" where it is not known
    # statements of the same scope that keep what it binds elsewhere, each with its line: ``self.x =
    # y``, ``losses.append(y)``
    keepers: tuple[tuple[int, str], ...] = ()


class Source(NamedTuple):
    """Where in the user's code a call stands. ``code`` is what made the result, e.g. ``"b =
    a.clone()"``; ``off`` the line, in the same file, of the ``with torch.no_grad():`` or of the
    decorator around it that switches the recording of gradients off, where one is written there.
    ``frames`` are the statements under which it ran, the innermost first, as far out as the
    recording looked. ``decorated`` is the function that the decorator in line ``off`` stands on."""

    file: str
    line: int
    code: str | None
    off: int | None = None
    frames: tuple[Frame, ...] = ()
    decorated: str | None = None


class Call(NamedTuple):
    """One recorded call of a torch function. Inputs and outputs are tensor ids, in argument
    order."""

    id: int
    function: str  # "clone", "mul", "Square.apply"
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    grad_mode: bool
    inference_mode: bool
    module: str | None  # path of the nn.Module that ran it
    source: Source | None
    bookkeeping: bool  # torch's own: an optimizer's step, nn.init, load_state_dict
    module_call: int | None = None  # the innermost call of a module under way


class Parameter(NamedTuple):
    """A parameter of a root module, at the first name that ``named_parameters()`` gives it."""

    name: str  # below the root: "transformer.h.5.ln_1.weight"
    object_id: int | None  # of its tensor states; None where no recorded call met it
    shape: tuple[int, ...] | None
    requires_grad: bool  # when the recording ended
    # an optimizer has it, that stepped in the recording or that a variable holds; None where no
    # optimizer is known
    held: bool | None


class Module(NamedTuple):
    """A root module, the outermost that ran, as it was when the recording ended."""

    id: int
    name: str  # its variable, or its class where it has none
    kind: str  # its class
    children: tuple[tuple[str, str], ...]  # (path, class) of every module below, in module order
    parameters: tuple[Parameter, ...]  # of it and of all below, in module order
    tied: tuple[tuple[str, str], ...]  # (other name of a parameter, its first name)


class ModuleCall(NamedTuple):
    """One call of an ``nn.Module``. Calls nest, so the torch calls of each are an interval."""

    id: int
    module_id: int  # the root
    path: str  # below the root: "transformer.h.5"; "" for the root itself
    kind: str  # class of the module
    parent_id: int | None  # the module call that was under way
    number: int  # which call of this module, from 0
    training: bool  # module.training when it was called
    source: Source | None  # the user's statement that called it
    code: str | None  # the call as written there: "D(fake.detach())"


class Cut(NamedTuple):
    """A tracked value that a call read and that reaches none of the call's outputs."""

    call_id: int
    input_id: int
    output_id: int | None  # None: the value left torch
    reason: CutReason


class Gradient(NamedTuple):
    """One gradient value of one backward run.

    Either it *arrived* at a node (``input_nr`` is set: the sum that the engine handed to that
    output slot) or a node *sent* it along one of its edges (``next_index`` is set).
    """

    run: int
    node_id: int
    input_nr: int | None
    next_index: int | None
    preview: str
    thread: int  # 0 is the thread that called backward


class Called(NamedTuple):
    """Event: a call returned."""

    call_id: int


class Wrote(NamedTuple):
    """Event: a call changed a tensor's memory or flags in place.

    ``alias`` is True for a tensor that was not the target itself but shares its memory.
    """

    call_id: int
    before_id: int
    after_id: int
    alias: bool


class Hooked(NamedTuple):
    """Event: a call put a hook on the gradient of this tensor; which kind of hook, its function
    says."""

    call_id: int
    tensor_id: int


class Changed(NamedTuple):
    """Event: what arrives at a node is not what the engine had for it. None stands for an undefined
    gradient.

    ``hooks`` are the calls that had put hooks there; empty where none was seen, so that it is not
    known by what.
    """

    run: int
    node_id: int
    input_nr: int
    before: str | None
    after: str
    hooks: tuple[int, ...]


class NodeRan(NamedTuple):
    """Event: the engine ran a node. None stands for an undefined gradient.

    ``arrived_norms`` and ``sent_norms`` are the 2-norms ("0.25", "nan", "inf") of what ``arrived``
    and ``sent`` show by its shape alone, None for the others; empty where none was measured.
    ``factor``: of a custom Function, the number by which it multiplied the one gradient that it
    got, where what it sent is just that.
    """

    run: int
    node_id: int
    arrived: tuple[str | None, ...]
    sent: tuple[str | None, ...]
    thread: int
    arrived_norms: tuple[str | None, ...] = ()
    sent_norms: tuple[str | None, ...] = ()
    factor: float | None = None


class Accumulated(NamedTuple):
    """Event: AccumulateGrad added what arrived to the leaf's .grad (``before`` None: there was
    none).

    ``added``: what that was, where it is not what is ``stored`` in the end. ``hooks``: the calls
    that had put hooks there, to run after it.
    """

    run: int
    node_id: int
    incoming: str
    before: str | None
    stored: str | None
    added: str | None = None
    hooks: tuple[int, ...] = ()


class Freed(NamedTuple):
    """Event: a backward released the saved tensors of these nodes."""

    run: int
    node_ids: tuple[int, ...]


class Raised(NamedTuple):
    """Event: a call raised. ``node_id`` is the node that was running, when a backward raised."""

    call_id: int
    node_id: int | None
    error: str  # "RuntimeError"
    message: str


Event = Union[Called, Wrote, Hooked, Changed, NodeRan, Accumulated, Freed, Raised]


class Backward(NamedTuple):
    """One run of the engine: ``loss.backward()`` (kind "backward") or ``autograd.grad`` (kind
    "grad")."""

    run: int
    call_id: int
    kind: str
    roots: tuple[int, ...]  # node ids
    ran: tuple[int, ...]  # node ids in the order in which the engine ran them
    # autograd.grad: (tensor id, preview of its gradient)
    returned: tuple[tuple[int, str | None], ...]
    raised_at: int | None  # node id
    watched: bool  # False: the graph was too large to watch, so no gradient of this run is known


class Note(NamedTuple):
    """Something that the graph lacks. ``words`` has its sentence.

    >>> Note.of(NoteKind.NODE_LIMIT, limit=100)
    Note(kind=<NoteKind.NODE_LIMIT: 'node_limit'>, fields=(('limit', 100),))
    """

    kind: NoteKind
    fields: tuple[tuple[str, int | str], ...]  # the numbers and names in it

    @classmethod
    def of(cls, kind: NoteKind, **fields: int | str) -> Note:
        """Return a note with these fields."""
        return cls(kind, tuple(fields.items()))


Record = TypeVar("Record")


class Rows(Sequence[Record], Generic[Record]):
    """A sequence of records kept as plain tuples; a record is made when it is looked at.

    Making 40,000 records takes longer than walking the 20,000 nodes that they describe.
    """

    __slots__ = ("_make", "_rows")

    def __init__(self, record: type[Record], rows: Iterable[tuple[Any, ...]]) -> None:
        self._make: Any = record._make  # type: ignore[attr-defined]
        self._rows = tuple(rows)

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Record, ...]: ...
    def __getitem__(self, index: int | slice) -> Record | tuple[Record, ...]:
        if isinstance(index, slice):
            return tuple(map(self._make, self._rows[index]))
        return self._make(self._rows[index])  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[Record]:
        return map(self._make, self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def first(self, n: int) -> Rows[Record]:
        """Return the first rows, without making a record of any."""
        found: Rows[Record] = Rows.__new__(Rows)
        found._make, found._rows = self._make, self._rows[:n]
        return found

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Rows):
            return self._rows == other._rows
        return isinstance(other, tuple) and self._rows == other

    def __hash__(self) -> int:
        return hash(self._rows)

    def __repr__(self) -> str:
        return repr(tuple(self))


def plain(records: Sequence[Any]) -> Sequence[tuple[Any, ...]]:
    """Return the fields of each record, for one quick pass over very many.

    >>> plain(Rows(GradientEdge, [(1, 0)])), plain([GradientEdge(1, 0)])
    (((1, 0),), [GradientEdge(node_id=1, output_nr=0)])
    """
    return records._rows if isinstance(records, Rows) else records


class Graph:
    """One autograd graph, as plain data. Immutable, compared by value, round-trips through JSON.

    Every field is a sequence of the record of the same name. ``roots`` are ids of the tensors that
    the graph was asked for, in that order. ``held`` are ids of objects that an optimizer has, as
    far as one is known; ``free`` of nn.Parameters that stand in no module that ran, of those that
    lived when the recording ended. ``notes`` are of whatever was left out;
    ``gradviz.words.notes.note_text`` words them.

    >>> Graph().to_json() == Graph.from_json(Graph().to_json()).to_json()
    True
    """

    FIELDS: typing.ClassVar[dict[str, Any]] = {
        "roots": int,
        "nodes": Node,
        "edges": Edge,
        "tensors": Tensor,
        "storages": Storage,
        "calls": Call,
        "modules": Module,
        "module_calls": ModuleCall,
        "cuts": Cut,
        "gradients": Gradient,
        "events": Event,
        "backwards": Backward,
        "notes": Note,
        "held": int,
        "free": int,
    }

    def __init__(
        self,
        *,
        roots: Iterable[int] = (),
        nodes: Sequence[Node] = (),
        edges: Sequence[Edge] = (),
        tensors: Sequence[Tensor] = (),
        storages: Sequence[Storage] = (),
        calls: Sequence[Call] = (),
        modules: Sequence[Module] = (),
        module_calls: Sequence[ModuleCall] = (),
        cuts: Sequence[Cut] = (),
        gradients: Sequence[Gradient] = (),
        events: Sequence[Event] = (),
        backwards: Sequence[Backward] = (),
        notes: Iterable[Note] = (),
        held: Iterable[int] = (),
        free: Iterable[int] = (),
    ) -> None:
        given = locals()
        for field, record in self.FIELDS.items():
            value = given[field]
            if not isinstance(value, Rows) and not _are_records(value, record):
                name = getattr(record, "__name__", field)
                expected = f"expected a list or tuple of {name} records, as another Graph has them"
                raise GradvizError(f"Graph({field}=…) was given {_kind(value)}; {expected}")
            object.__setattr__(self, field, value if isinstance(value, Rows) else tuple(value))

    roots: tuple[int, ...]
    nodes: Sequence[Node]
    edges: Sequence[Edge]
    tensors: Sequence[Tensor]
    storages: Sequence[Storage]
    calls: Sequence[Call]
    modules: Sequence[Module]
    module_calls: Sequence[ModuleCall]
    cuts: Sequence[Cut]
    gradients: Sequence[Gradient]
    events: Sequence[Event]
    backwards: Sequence[Backward]
    notes: tuple[Note, ...]
    held: tuple[int, ...]
    free: tuple[int, ...]

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(
            f"a Graph is immutable, so {name!r} cannot be set; make another with graph.replace(...)"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Graph) and all(
            getattr(self, f) == getattr(other, f) for f in self.FIELDS
        )

    def __hash__(self) -> int:
        return hash((self.roots, len(self.nodes), len(self.edges), len(self.tensors)))

    def __repr__(self) -> str:
        counts = ", ".join(
            f"{len(getattr(self, f))} {f}" for f in self.FIELDS if len(getattr(self, f))
        )
        return f"Graph({counts or 'empty'})"

    def replace(self, **changes: Any) -> Graph:
        """Return a copy with some fields exchanged."""
        return Graph(**{**{f: getattr(self, f) for f in self.FIELDS}, **changes})

    def same_but_numbered(self, other: Graph) -> bool:
        """Tell whether it is equal but for ``sequence_nr``, with which torch numbers the nodes of
        the whole process."""
        first, second = ([(*n[:3], *n[4:]) for n in graph.nodes] for graph in (self, other))
        fields = self.FIELDS.keys() - {"nodes"}
        return first == second and all(getattr(self, f) == getattr(other, f) for f in fields)

    # Look-ups that several readers need; each is made once, on first use. ``get(None)`` finds
    # nothing.

    @cached_property
    def node(self) -> Mapping[int | None, Node]:
        """Nodes by id."""
        return {n.id: n for n in self.nodes}

    @cached_property
    def tensor(self) -> Mapping[int | None, Tensor]:
        """Tensor states by id."""
        return {t.id: t for t in self.tensors}

    @cached_property
    def call(self) -> Mapping[int | None, Call]:
        """Calls by id."""
        return {c.id: c for c in self.calls}

    @cached_property
    def edges_from(self) -> Mapping[int | None, list[Edge]]:
        """Edges by the id of the node that they leave, in ``next_index`` order."""
        table: dict[int | None, list[Edge]] = {}
        for e in self.edges:
            table.setdefault(e.node_id, []).append(e)
        return table

    def to_json(self) -> str:
        """Return the whole graph as one line of JSON, stable for equal graphs."""
        data: dict[str, Any] = {"gradviz": 1}
        for field, record in self.FIELDS.items():
            rows = list(getattr(self, field))
            data[field] = [[type(r).__name__, *r] for r in rows] if record is Event else rows
        return json.dumps(data, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | bytes) -> Graph:
        """Return the graph that ``to_json`` wrote.

        Raises:
            GradvizError: the text is not JSON that ``to_json`` wrote.
        """
        if not issubclass(type(text), (str, bytes, bytearray)):
            expected = "expected the text of Figure.save('x.json') or Graph.to_json()"
            raise GradvizError(f"from_json() was given {_kind(text)}; {expected}")
        try:
            data = json.loads(text)
            if data.get("gradviz") != 1:
                raise ValueError(f"format {data.get('gradviz')!r}")
            fields: dict[str, Any] = {}
            for later in ("held", "free"):  # written before there was such a field
                data.setdefault(later, [])
            for field, record in cls.FIELDS.items():
                if record is Event:
                    kinds = {k.__name__: k for k in typing.get_args(Event)}
                    fields[field] = tuple(_decode(kinds[row[0]], row[1:]) for row in data[field])
                else:
                    fields[field] = tuple(_decode(record, row) for row in data[field])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise GradvizError(
                f"this is not a graph that gradviz saved ({error}); expected the text of"
                " Figure.save('x.json') or Graph.to_json() of the same major version"
            ) from None
        return cls(**fields)


def _kind(value: Any) -> str:
    return "None" if value is None else f"an object of type {type(value).__name__}"


def _are_records(value: Any, record: Any) -> bool:
    """Tell whether a field of a Graph is given its records; what is read only once is made a tuple
    afterwards."""
    if not isinstance(value, (list, tuple)):
        return isinstance(value, Iterator)
    kinds = typing.get_args(record) or (record,)
    return all(isinstance(one, kinds) for one in value[:1])


_hints: dict[type, list[Any]] = {}


def _decode(kind: Any, value: Any) -> Any:
    """Turn JSON lists and strings back into the records and enums that ``kind`` (a type hint)
    names."""
    if value is None or kind in (int, float, str, bool, Any):
        return value
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin in (Union, types.UnionType):
        return _decode(next(a for a in args if a is not type(None)), value)
    if origin is tuple:
        if len(args) == 2 and args[1] is Ellipsis:
            return tuple(_decode(args[0], v) for v in value)
        return tuple(_decode(a, v) for a, v in zip(args, value, strict=True))
    if issubclass(kind, Enum):
        return kind(value)
    if kind not in _hints:
        _hints[kind] = list(typing.get_type_hints(kind).values())
    if len(value) > len(_hints[kind]):
        raise ValueError(f"{kind.__name__} has {len(value)} fields")
    # last ones may have defaults
    return kind(*(_decode(h, v) for h, v in zip(_hints[kind], value, strict=False)))
