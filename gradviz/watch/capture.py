"""A finished autograd graph, read through ``grad_fn`` and ``next_functions`` into plain data.

Only what torch still holds can be read here: links that were cut, source lines and the order of the
calls need a recording. The graph is read once, without running hooks, a checkpoint's forward or any
code of the user's, and
nothing of it is kept: no node, no tensor. Do not capture a graph while its backward runs on another
thread: torch does not guard what it has saved against that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch
from torch.autograd.graph import Node as TorchNode

from gradviz.graph import preview
from gradviz.graph.collector import without_collector
from gradviz.graph.records import (
    Edge,
    GradientEdge,
    GradvizError,
    Graph,
    Module,
    Node,
    NodeKind,
    Note,
    NoteKind,
    Parameter,
    Rows,
    SavedTensor,
    Storage,
    Summary,
    Tensor,
)
from gradviz.watch import torch_private
from gradviz.watch.identity import read
from gradviz.watch.summaries import MOST, summary_of
from gradviz.watch.walk import walk
from gradviz.words import given
from gradviz.words.progress import Progress
from gradviz.words.speech import say


def capture(
    *tensors: torch.Tensor,
    names: Mapping[str, torch.Tensor] | None = None,
    model: torch.nn.Module | None = None,
    limit: int = 1_000_000,
    summaries: bool = True,
) -> Graph:
    """Read the graph behind one or several tensors.

    Args:
        tensors: the tensors to start from, usually a loss. Any kind; one that autograd does not
            track has no nodes.
        names: what to call which tensor. Every named tensor gets a record, also where no path leads
            to it: what it shares memory with is then known, while the graph behind it is not
            followed (its node is a stub).
        model: its parameters are called as ``model.named_parameters()`` does, e.g. ``"fc.weight"``,
            and ``Graph.modules`` lists all of them, also those that no path leads to.
        limit: read at most this many nodes, the nearest to the tensors. ``Graph.notes`` says so
            when it was reached.
        summaries: tell of large tensors on the CPU how their numbers are spread: of the tensors
            given, of the leaves and of named results, until ten million elements were read in all.

    Returns:
        The graph: nodes, edges, the tensors known by object (roots, named tensors, leaves) and
        their storages.

    Raises:
        GradvizError: an argument is not a tensor, ``names`` is not a mapping of strings to tensors,
            or ``model`` has no ``named_parameters``.

    Example:
        >>> a = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> graph = capture((a * a).sum(), names={"a": a})
        >>> [node.name for node in graph.nodes]
        ['SumBackward0', 'MulBackward0', 'AccumulateGrad']
        >>> [(e.node_id, e.next_index, e.next_node_id, e.input_nr) for e in graph.edges]
        [(0, 0, 1, 0), (1, 0, 2, 0), (1, 1, 2, 0)]
        >>> leaf = graph.tensor[graph.nodes[2].leaf_id]
        >>> leaf.name, leaf.values, leaf.gradient_edge
        ('a', '[1, 2]', GradientEdge(node_id=2, output_nr=0))
        >>> [(s.attribute, s.state.value, s.tensor_id == leaf.id) for s in graph.nodes[1].saved]
        [('other', 'available', True), ('self', 'available', True)]
    """
    _check(tensors, names, model, limit)
    given.flag("summaries=", summaries)
    progress = Progress(lambda nodes: say("progress.reading", n=nodes))
    with without_collector(), torch_private.unobserved(), progress:
        return _Capture(tensors, names or {}, model, limit, summaries, progress).graph()


# ---- arguments -----------------------------------------------------------------------------------


def _check(tensors: tuple[Any, ...], names: Any, model: Any, limit: Any) -> None:
    if not tensors:
        raise GradvizError(
            "capture() was given no tensor; pass the tensor whose graph you want, e.g."
            " capture(loss)"
        )
    for i, value in enumerate(tensors):
        if not isinstance(value, torch.Tensor):
            raise GradvizError(
                f"capture() was given {described(value)} as argument {i + 1}; {_mend(value)}"
            )
    if names is not None:
        if not isinstance(names, Mapping):
            raise GradvizError(
                f"names= was given {described(names)}; expected a mapping, e.g. names={{'loss':"
                " loss}"
            )
        for key, value in names.items():
            if not isinstance(key, str):
                raise GradvizError(
                    f"names= was given the key {given.shown(key)}; expected a string, e.g."
                    " names={'loss': loss}"
                )
            if not isinstance(value, torch.Tensor):
                raise GradvizError(
                    f"names= was given {described(value)} for {key!r}; {_mend(value)}"
                )
    if model is not None and not callable(getattr(model, "named_parameters", None)):
        raise GradvizError(
            f"model= was given {described(model)}; expected a torch.nn.Module, whose"
            " named_parameters() are used"
        )
    if not isinstance(limit, int) or limit < 1:
        raise GradvizError(
            f"limit= was given {given.said(limit)}; expected a number of nodes, at least 1, e.g."
            " limit=10_000"
        )


def described(value: Any) -> str:
    """Return what was given, in the words of an error.

    >>> described(3), described([torch.ones(1), None])
    ('the int 3', 'a list of 2 (1 of them tensors)')
    """
    if type(value) not in (list, tuple, set, dict):
        return given.said(value)
    tensors = sum(
        isinstance(x, torch.Tensor) for x in (value.values() if isinstance(value, dict) else value)
    )
    return f"a {type(value).__name__} of {len(value)} ({tensors} of them tensors)"


def _mend(value: Any) -> str:
    if isinstance(value, dict):
        return "expected a torch.Tensor: pass its tensors one by one, capture(*outputs.values())"
    if isinstance(value, (list, tuple, set)):
        return "expected a torch.Tensor: pass its tensors one by one, capture(*outputs)"
    if isinstance(value, (bool, int, float, complex)):
        return (
            "expected a torch.Tensor: a Python number has no graph, so pass the tensor before"
            " .item() or float()"
        )
    if value is None:
        return "expected a torch.Tensor: did the function that made it forget to return it?"
    return "expected a torch.Tensor, the one whose grad_fn leads into the graph"


# ---- reading one tensor --------------------------------------------------------------------------


def tensor_fields(t: torch.Tensor) -> tuple[Any, ...]:
    """Read one tensor into the fields of ``graph.Tensor`` from ``shape`` to ``version``. Never
    raises.

    To be called inside ``torch_private.unobserved()``, so that no code of a subclass runs.

    Returns:
        (shape, stride, storage_offset, dtype, device, requires_grad, is_leaf, retains_grad, grad,
        values, version), None for each that torch does not tell.

    Example:
        >>> tensor_fields(torch.ones(2, 1))
        ((2, 1), (1, 1), 0, 'float32', 'cpu', False, True, False, None, '[[1], [1]]', 0)
    """
    is_leaf, retains_grad = read(lambda: t.is_leaf), read(lambda: t.retains_grad)
    # On other tensors reading .grad warns, and it is None anyway.
    grad = read(lambda: t.grad) if is_leaf or retains_grad else None
    nested = read(lambda: _elements(t))
    return (
        read(lambda: _ints(t.shape)),
        read(lambda: _ints(t.stride())),
        read(lambda: _ints((t.storage_offset(),))[0]),
        read(lambda: str(t.dtype).removeprefix("torch.")),
        read(lambda: str(t.device)),
        read(lambda: t.requires_grad),
        is_leaf,
        retains_grad,
        (
            None
            if grad is None
            else preview.of(read(lambda: _ints(grad.shape)), read(lambda: _elements(grad)))
        ),
        None if nested is None else preview.values(nested),
        torch_private.version(t),
    )


def _ints(numbers: Iterable[Any]) -> tuple[int, ...]:
    found = tuple(numbers)
    # symbolic (compiled or jagged): asking for the int would fix it
    if any(type(n) is not int for n in found):
        raise TypeError("symbolic")
    return found


def _elements(tensor: torch.Tensor) -> Any:
    """Return the elements of a small CPU tensor as nested lists, or None."""
    small = tensor.numel() <= preview.LIMIT and tensor.device.type == "cpu"
    return tensor.tolist() if small and torch_private.has_plain_data(tensor) else None


# ---- the graph -----------------------------------------------------------------------------------


class _Capture:
    """One capture under way: tables from torch's objects to ids. Lives as long as one call of
    ``capture``."""

    def __init__(
        self,
        roots: tuple[torch.Tensor, ...],
        names: Mapping[str, torch.Tensor],
        model: Any,
        limit: int,
        summaries: bool,
        progress: Progress,
    ) -> None:
        self.tensors: list[torch.Tensor] = []
        self.tensor_ids: dict[int, int] = {}  # by id(): every tensor here is held by self.tensors
        self.notes: list[Note] = []
        # held, so that id() stays theirs
        self.model = model
        self.parameters = [] if model is None else list(model.named_parameters())
        given: dict[int, str] = {}
        for name, tensor in names.items():
            given[id(tensor)] = f"{given[id(tensor)]}, {name}" if id(tensor) in given else name
        self.names = {id(parameter): name for name, parameter in self.parameters} | given
        self.roots = [self.tensor_id(tensor) for tensor in roots]
        self.walk = walk(filter(None, map(self.grad_fn, roots)), limit)
        self.progress = progress
        progress.step(len(self.walk.nodes))
        if self.walk.truncated:
            self.notes.append(Note.of(NoteKind.NODE_LIMIT, limit=limit))
        self.stubs: dict[TorchNode, int] = {}
        for tensor in names.values():
            self.tensor_id(tensor)
        self.leaf_ids: dict[int, int] = {}  # by node id
        self.edge_of: dict[int, GradientEdge] = {}  # by tensor id
        self.edges = list(self.read_edges())
        progress.look()
        self.find_leaves()
        self.find_gradient_edges()
        progress.look()
        self.results = {(edge.node_id, edge.output_nr): i for i, edge in self.edge_of.items()}
        self.records: dict[tuple[Any, ...], SavedTensor] = {}
        self.left = MOST if summaries else 0  # elements that may still be read

    def tensor_id(self, tensor: torch.Tensor) -> int:
        """Return the tensor's id; it gets the next one if it has none."""
        key = id(tensor)
        if key not in self.tensor_ids:
            self.tensor_ids[key] = len(self.tensors)
            self.tensors.append(tensor)
        return self.tensor_ids[key]

    def grad_fn(self, tensor: torch.Tensor) -> TorchNode | None:
        try:
            return tensor.grad_fn
        except Exception as error:  # e.g. a view made under no_grad whose base was written later
            note = self.unreadable(tensor, type(error).__name__)
            if note not in self.notes:
                self.notes.append(note)
            return None

    def unreadable(self, tensor: torch.Tensor, error: str) -> Note:
        """Return the note that torch raises where the ``grad_fn`` of a tensor is read."""
        name = self.names.get(id(tensor))
        if name is None:
            number = self.tensor_id(tensor)
            return Note.of(NoteKind.GRAD_FN_OF_UNNAMED, tensor=number, error=error)
        return Note.of(NoteKind.GRAD_FN_UNREADABLE, name=name, error=error)

    def node_id(self, node: TorchNode) -> int:
        """Return the node's id. A node that was not walked becomes a stub."""
        found = self.walk.index.get(node)
        return (
            self.stubs.setdefault(node, len(self.walk.nodes) + len(self.stubs))
            if found is None
            else found
        )

    def read_edges(self) -> Iterator[tuple[int, int, int | None, int]]:
        index_of = self.walk.index.get
        for number, functions in enumerate(self.walk.next):
            for slot, (child, input_nr) in enumerate(functions):
                if child is None:
                    yield number, slot, None, input_nr
                else:
                    at = index_of(child)
                    yield number, slot, self.node_id(child) if at is None else at, input_nr

    def find_leaves(self) -> None:
        for i, number in enumerate(self.walk.numbers):
            if (
                number == torch_private.NO_NUMBER
                and (leaf := torch_private.leaf_of(self.walk.nodes[i])) is not None
            ):
                self.leaf_ids[i] = self.tensor_id(leaf)
                self.edge_of[self.leaf_ids[i]] = GradientEdge(i, 0)

    def find_gradient_edges(self) -> None:
        for i, tensor in enumerate(self.tensors):
            if i not in self.edge_of and (node := self.grad_fn(tensor)) is not None:
                self.edge_of[i] = GradientEdge(self.node_id(node), tensor.output_nr)

    def read_nodes(self) -> Iterator[tuple[Any, ...]]:
        kinds: dict[type, tuple[str, NodeKind, bool]] = {}
        leaf_of = self.leaf_ids.get
        for i, (node, number) in enumerate(zip(self.walk.nodes, self.walk.numbers, strict=True)):
            kind = type(node)
            known = kinds.get(kind)
            if known is None:
                known = (
                    torch_private.node_name(node),
                    _kind(node),
                    bool(torch_private.raw_names(kind)),
                )
                if kind.__name__ != "CppFunction":  # one class for many sorts
                    kinds[kind] = known
            name, sort, saves = known
            saved = self.saved(i, node) if saves else ()
            yield (
                i,
                name,
                sort,
                None if number == torch_private.NO_NUMBER else number,
                saved,
                leaf_of(i),
                None,
                False,
            )
        for node, i in self.stubs.items():
            leaf = torch_private.leaf_of(node)
            leaf_id = None if leaf is None else self.tensor_ids.get(id(leaf))
            yield (
                i,
                torch_private.node_name(node),
                _kind(node),
                torch_private.sequence_nr(node),
                (),
                leaf_id,
                None,
                True,
            )

    def saved(self, node_id: int, node: TorchNode) -> tuple[SavedTensor, ...]:
        rows = []
        for attribute, value, state, version in torch_private.saved_tensors(node):
            # The captured tensor that it is: the same object, or the result that the node itself
            # made.
            tensor_id = self.tensor_ids.get(id(value))
            if tensor_id is None and attribute.startswith("result"):
                tensor_id = self.result(node_id, attribute, value)
            # hashing an Enum is slow; its members live forever
            key = (attribute, tensor_id, version, id(state))
            row = self.records.get(key)
            if row is None:
                row = self.records[key] = SavedTensor(attribute, tensor_id, version, state)
            rows.append(row)
        return tuple(rows)

    def result(self, node_id: int, attribute: str, value: Any) -> int | None:
        """Return the captured tensor that a node saved as its own result, when it still is in the
        memory saved."""
        output = attribute.removeprefix("result") or "0"
        found = self.results.get((node_id, int(output))) if output.isdigit() else None
        if found is None or not isinstance(value, torch.Tensor):  # released, or packed by a hook
            return None
        return (
            found
            if torch_private.storage_key(value) == torch_private.storage_key(self.tensors[found])
            else None
        )

    def read_tensors(self, storages: list[int | None]) -> Iterator[tuple[Any, ...]]:
        unknown = 0
        self.progress.look()
        for i, tensor in enumerate(self.tensors):
            fields = tensor_fields(tensor)
            unknown += fields[0] is None
            base = torch_private.base_of(tensor)
            base_id = None if base is None else self.tensor_ids.get(id(base))
            yield (
                i,
                self.names.get(id(tensor)),
                i,
                *fields,
                storages[i],
                base_id,
                self.edge_of.get(i),
                None,
                self.summary(i),
            )
        if unknown:
            total = len(self.tensors)
            self.notes.append(Note.of(NoteKind.UNKNOWN_SHAPES, n=unknown, tensors=total))

    def summary(self, tensor_id: int) -> Summary | None:
        """Summarise a large tensor, if the graph was asked for it or leads to it: variables that
        are named and have nothing to do with it may be whole datasets."""
        edge = self.edge_of.get(tensor_id)
        belongs = tensor_id in self.roots or (edge and edge.node_id < len(self.walk.nodes))
        found = None
        if belongs and self.left:
            found = summary_of(self.tensors[tensor_id], most=self.left)
        self.left -= found.numel if found else 0
        return found

    def graph(self) -> Graph:
        storage_ids, storages = shared_storages(self.tensors)
        return Graph(
            roots=self.roots,
            nodes=Rows(Node, self.read_nodes()),
            edges=Rows(Edge, self.edges),
            tensors=Rows(Tensor, self.read_tensors(storage_ids)),
            storages=storages,
            modules=[] if self.model is None else [self.module()],
            notes=self.notes,
        )

    def module(self) -> Module:
        """Read the model: what stands below it, and all its parameters, with their ids where the
        graph leads to them."""
        behind = set(self.leaf_ids.values())
        parameters = []
        for name, parameter in self.parameters:
            found = self.tensor_ids.get(id(parameter))
            object_id = found if found in behind else None
            shape = read(lambda p=parameter: _ints(p.shape))  # type: ignore[misc]
            requires_grad = bool(read(lambda p=parameter: p.requires_grad))  # type: ignore[misc]
            parameters.append(Parameter(name, object_id, shape, requires_grad, None))
        kind = type(self.model).__name__
        children, tied = _below(self.model)
        return Module(0, kind, kind, children, tuple(parameters), tied)


def _below(model: Any) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]:
    """List every module below a model as (path, class), and the other names of tied parameters as
    (name, first name). What only has ``named_parameters()`` tells neither."""
    if not isinstance(model, torch.nn.Module):
        return (), ()
    children = tuple((path, type(one).__name__) for path, one in model.named_modules() if path)
    first: dict[int, str] = {}
    tied = []
    for name, parameter in model.named_parameters(remove_duplicate=False):
        if first.setdefault(id(parameter), name) != name:
            tied.append((name, first[id(parameter)]))
    return children, tuple(tied)


def _kind(node: TorchNode) -> NodeKind:
    if torch_private.is_accumulate_grad(node):
        return NodeKind.ACCUMULATE_GRAD
    return NodeKind.CUSTOM_FUNCTION if torch_private.is_custom(node) else NodeKind.BACKWARD


def shared_storages(tensors: Iterable[torch.Tensor]) -> tuple[list[int | None], list[Storage]]:
    """Find who shares memory with whom, by bytes: a numpy array and a tensor made from it have two
    storages, one memory.

    Returns:
        The storage id of each tensor (None where torch does not tell), and the storages.

    Example:
        >>> a = torch.arange(4)
        >>> shared_storages([a, a[2:], a.clone(), torch.from_numpy(a.numpy()[1:])])[0]
        [0, 0, 1, 0]
    """
    ranges = []
    for i, tensor in enumerate(tensors):
        where = torch_private.storage_range(tensor)
        ranges.append(
            None if where is None else (str(tensor.device), where[0], where[0] + where[1], i)
        )
    blocks: list[list[Any]] = []  # device, start, end, tensors; merged where they overlap
    for device, start, end, i in sorted(r for r in ranges if r is not None):
        if blocks and blocks[-1][0] == device and start < blocks[-1][2]:
            blocks[-1][2] = max(blocks[-1][2], end)
            blocks[-1][3].append(i)
        else:
            blocks.append([device, start, end, [i]])
    blocks.sort(key=lambda block: min(block[3]))
    ids: list[int | None] = [None] * len(ranges)
    for number, block in enumerate(blocks):
        for i in block[3]:
            ids[i] = number
    return ids, [
        Storage(n, end - start, device) for n, (device, start, end, _) in enumerate(blocks)
    ]
