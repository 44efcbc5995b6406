"""Which cards a graph gets: one a result, in program order."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import gradviz as gv
from gradviz.graph.records import GradientEdge, Graph, Node, NodeKind
from gradviz.picture import dot, fold
from gradviz.picture.arrange import arranged
from gradviz.picture.cards import scene as cards
from gradviz.picture.figure import Figure


def titles(graph: Graph) -> list[str]:
    return [c.title for c in cards(graph).cards]


def test_an_in_place_call_adds_a_line_and_its_node_to_the_card() -> None:
    with gv.record() as rec:
        w = torch.ones(3, requires_grad=True)
        y = w * 2
        y.add_(1)
        y[0] = 5
    leaf, card = cards(rec.graph).cards
    assert leaf.title == "w"
    rows = [r.text for r in card.rows]
    assert rows[0] == "y = w * 2"
    assert rows[1].startswith("y.add_(1)  # line ")
    assert rows[2].startswith("y[0] = 5  # line ")
    assert rows[3] == "[5, 3, 3] · version 2"
    assert rows[4] == "CopySlices → AddBackward0 → MulBackward0"


def test_an_in_place_call_that_reads_its_own_result_gets_a_second_card() -> None:
    with gv.record() as rec:
        w = torch.ones(3, requires_grad=True)
        y = w * 2
        z = y + 1
        y.add_(z)
    drawn = cards(rec.graph)
    assert [c.name for c in drawn.cards] == ["w", "y", "z", "y"]
    assert all(a.tail < a.head for a in drawn.arrows), "values never flow in a circle"


def test_detach_in_place_cuts_the_arrows_into_its_card() -> None:
    with gv.record() as rec:
        a = torch.ones(2, requires_grad=True)
        x = torch.ones(2)
        b = a * x
        b.detach_()
        (a * b).sum().backward()
    drawn = cards(rec.graph)
    into = {
        drawn.cards[arrow.tail].name: arrow
        for arrow in drawn.arrows
        if drawn.cards[arrow.head].name == "b"
    }
    assert (into["a"].kind, into["a"].label) == ("cut", "✂ detach_ · no gradient back")
    assert into["x"].kind == "forward", "nothing was there to cut"
    assert b.grad_fn is None


def test_detach_in_place_cuts_even_where_its_tensor_is_tracked_again() -> None:
    with gv.record() as rec:
        a = torch.ones(2, requires_grad=True)
        x = a.exp()
        x.detach_().requires_grad_()
        b = a * 2
        b.detach_()
        b.mul_(x)
        b.sum().backward()
    drawn = cards(rec.graph)
    into = [
        (drawn.cards[arrow.tail].name, drawn.cards[arrow.head].name, arrow.kind)
        for arrow in drawn.arrows
    ]
    assert into[:3] == [("a", "x", "cut"), ("a", "b", "cut"), ("x", "b", "gradient")]
    shown = {
        card.name: [row.text for row in card.rows if row.kind == "grad_fn"] for card in drawn.cards
    }
    assert shown["x"] == []
    assert shown["b"] == ["MulBackward0"], "the first one leads nowhere and is gone"
    assert b.grad_fn is not None
    assert b.grad_fn.next_functions[0] == (None, 0)


@pytest.mark.parametrize("backward", [True, False])
def test_what_was_made_before_detach_in_place_still_leads_back(backward: bool) -> None:
    with gv.record() as rec:
        a = torch.ones(2, requires_grad=True)
        b = a * 2
        c = b * 3
        b.detach_()
        if backward:
            c.sum().backward()
    drawn = cards(rec.graph)
    into = [arrow.kind for arrow in drawn.arrows if drawn.cards[arrow.head].name == "b"]
    assert into == ["gradient" if backward else "forward"]
    assert c.grad_fn is not None


def test_several_outputs_of_one_node() -> None:
    with gv.record() as rec:
        a = torch.ones(2, requires_grad=True)
        x, y = a.unbind(0)
        (x * y).backward()
    drawn = cards(rec.graph)
    (pill,) = (c for c in drawn.cards if c.kind == "node")
    assert [r.text for r in pill.rows] == ["x, y = a.unbind(0)", "UnbindBackward0"]
    outputs = [drawn.cards[a.head].title for a in drawn.arrows if a.tail == pill.id]
    assert outputs == ["x", "y"]
    assert [a.label for a in drawn.arrows if a.tail == pill.id] == ["1", "1"]


def test_a_row_of_a_buffer_reads_the_buffer_once() -> None:
    """Its card has the nodes of before and after the write, and both lead to the buffer."""
    with gv.record() as rec:
        a = torch.ones(3, requires_grad=True)
        rows = torch.zeros(2, 3)
        rows[0].copy_(a)
        rows[1].copy_(a * 2)
        rows.sum().backward()
    drawn = cards(rec.graph)
    pairs = [(drawn.cards[a.tail].name, drawn.cards[a.head].name) for a in drawn.arrows]
    assert pairs.count(("rows", "rows[1]")) == 1
    with gv.record() as rec:
        square = a * a
    assert [x.kind for x in cards(rec.graph).arrows] == ["forward"] * 2, (
        "both edges of one node are drawn"
    )
    assert square is not None


def test_both_uses_of_a_square_are_drawn() -> None:
    with gv.record() as rec:
        a = torch.tensor(3.0, requires_grad=True)
        (a * a).backward()
    assert [a.label for a in cards(rec.graph).arrows] == ["3", "3"]


def test_a_leaf_with_many_uses_gets_name_tags() -> None:
    with gv.record() as rec:
        w = torch.tensor(2.0, requires_grad=True)
        h = torch.tensor(1.0)
        for _ in range(6):
            h = h * w
        h.backward()
    drawn = arranged(cards(rec.graph))
    tags = [c for c in drawn.cards if c.kind == "tag"]
    assert [t.title for t in tags] == ["w"] * 6
    (leaf,) = (c for c in drawn.cards if c.kind == "leaf")
    assert leaf.id not in {a.tail for a in drawn.arrows}
    assert any(
        r.text.startswith("engine adds 6 gradients") or "engine adds" in r.text for r in leaf.rows
    )


@pytest.mark.parametrize("parts", [nn.LSTMCell, nn.GRUCell])
def test_the_leaves_that_one_cell_reads_share_a_small_card(parts: type[nn.Module]) -> None:
    torch.manual_seed(0)
    cell, state = parts(3, 4), None
    with gv.record() as rec:
        for _ in range(6):
            told = cell(torch.ones(2, 3), state)
            state = told if isinstance(told, torch.Tensor) else (told[0], told[1])
        last = told if isinstance(told, torch.Tensor) else told[0]
        last.sum().backward()
    graph = rec.graph
    drawn = arranged(cards(graph))
    tags = {c.id: c for c in drawn.cards if c.kind == "tag"}
    assert [len(c.rows) for c in tags.values()] == [4] * 6  # and none again at each of its results
    labels = [a.label for a in drawn.arrows if a.tail in tags]
    assert labels == ["4 gradients"] * 6
    leaves = {c.id for c in cards(graph).cards if c.title.startswith("cell.")}
    came = Counter(a.kind for a in cards(graph).arrows if a.tail in leaves)
    del came["forward"]  # from the cell's leaves to each of its results again
    assert came == {"gradient": 23, "zeros": 1}  # at first the state is all zeros


def test_two_leaves_that_one_call_reads_keep_cards_of_their_own() -> None:
    layer = nn.Linear(3, 3)
    with gv.record() as rec:
        h = torch.ones(2, 3)
        for _ in range(6):
            h = layer(h)
    drawn = arranged(cards(rec.graph))
    assert {len(c.rows) for c in drawn.cards if c.kind == "tag"} == {1}


def test_constants_on_their_way_into_a_call_are_not_drawn() -> None:
    with gv.record() as rec:
        a = torch.ones(2, requires_grad=True)
        x = torch.ones(2)
        b = a * x + torch.ones(2)
    assert b is not None
    assert titles(rec.graph) == ["a", "x", "a * x", "b = a * x + torch.ones(2)"]


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_a_grad_that_only_backward_and_the_optimizer_write_is_not_drawn(momentum: float) -> None:
    with gv.record() as rec:
        w = torch.ones(1, requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.1, momentum=momentum)
        for _ in range(2):
            optimizer.zero_grad(set_to_none=False)
            (w * 2).sum().backward()
            optimizer.step()
    assert titles(rec.graph) == ["w", *["w * 2", "(w * 2).sum()"] * 2]
    with gv.record() as rec:
        w.grad.zero_()
    assert "w.grad" in titles(rec.graph), "written by the reader's own line, it is drawn"


def test_a_frozen_leaf_shows_the_grad_that_it_still_has() -> None:
    def left(clear: bool) -> list[str]:
        with gv.record() as rec:
            w = torch.ones(1, requires_grad=True)
            (w * 2).sum().backward()
            w.requires_grad_(False)
            w.grad = None if clear else w.grad
        return rows(rec.graph, "w")

    assert left(clear=False)[-2:] == ["not tracked · grad_fn None", ".grad is still [2]"]
    assert left(clear=True)[-1] == "not tracked · grad_fn None"


def test_every_view_that_takes_no_gradient_says_so_and_no_other() -> None:
    with gv.record() as rec:
        a = torch.ones(3, requires_grad=True)
        with torch.no_grad():
            first, second, _ = a.unbind()
            row = a.view(3)
            part = row[:1]
            set_again = a[:2].requires_grad_()
            plain = torch.ones(3)[:1]
        plain.requires_grad_()
        (first + second + row + part + set_again.sum() + plain).sum().backward()
    taken = {
        "first": first,
        "second": second,
        "row": row,
        "part": part,
        "set_again": set_again,
        "plain": plain,
    }
    for name, t in taken.items():
        card = next(c for c in cards(rec.graph).cards if c.name == name)
        texts = [r.text for r in card.rows]
        assert t.requires_grad
        assert t.is_leaf
        assert ("not tracked, yet requires_grad" in texts, card.kind) == (
            (True, "untracked") if t.grad is None else (False, "leaf")
        ), name
        assert any(text.startswith("AccumulateGrad") for text in texts) is (t.grad is not None), (
            name
        )


def test_what_ran_under_no_grad_stands_in_a_shaded_region() -> None:
    with gv.record() as rec:
        a = torch.ones(2, requires_grad=True)
        with torch.no_grad():
            b = a * 2
            c = b + 1
    drawn = cards(rec.graph)
    assert c is not None
    (box,) = drawn.boxes
    assert (box.kind, box.label) == ("region", "no_grad: not recorded")
    assert [drawn.cards[i].name for i in box.members] == ["b", "c"]


def test_a_graph_without_a_recording_gets_pills_for_unnamed_results() -> None:
    graph = Graph(nodes=[Node(0, "MulBackward0", NodeKind.BACKWARD, None, (), None, None, True)])
    (card,) = cards(graph).cards
    assert (card.kind, card.title) == ("node", "MulBackward0")
    assert GradientEdge(0, 0).node_id == card.node_ids[0]


def test_large_recordings_fold_by_module_and_by_line() -> None:
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        *(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh()) for _ in range(20))
    )
    with gv.record() as rec:
        loss = net(torch.ones(1, 2)).sum()
        loss.backward()
    whole = cards(rec.graph)
    small = fold.fold(whole, rec.graph)
    assert len(whole.cards) > fold.LIMIT >= len(small.cards) > 10
    assert any(c.kind == "fold" for c in small.cards)
    assert any(note.startswith(f"Folded: {len(whole.cards)} boxes") for note in small.notes)
    assert "thick frame: folded" in dot.dot(small)
    with gv.record() as rec:
        h = torch.zeros(1, requires_grad=True)
        for _ in range(80):
            h = (h + 1).tanh()
    small = Figure(rec.graph).scene
    assert [c.kind for c in small.cards] == ["leaf", "fold"] or len(small.cards) <= 3


def rows(graph: Graph, name: str) -> list[str]:
    (card,) = (c for c in cards(graph).cards if c.name == name)
    return [row.text for row in card.rows]


def test_a_card_shows_the_last_state_of_its_object_also_after_an_optimizer() -> None:
    with gv.record() as rec:
        a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        b = a.detach().requires_grad_()
        (b * 3).sum().backward()
        torch.optim.SGD([b], lr=1.0).step()
    assert "[-2, -1, 0] · version 1" in rows(rec.graph, "a")
    assert "[-2, -1, 0] · version 1" in rows(rec.graph, "b")
    assert any(
        text.startswith("torch.optim.SGD([b], lr=1.0).step()") for text in rows(rec.graph, "b")
    )


def test_a_leaf_that_is_written_from_itself_tells_its_gradient_once() -> None:
    with gv.record() as rec:
        q = torch.ones(1, requires_grad=True)
        k = torch.ones(1, requires_grad=True)
        first = q * k
        with torch.no_grad():
            k.copy_(k * 0.5 + q)
        (q * k).backward()
    drawn = cards(rec.graph)
    before, after = (c for c in drawn.cards if c.name == "k")
    assert first is not None
    assert [r.text for r in before.rows] == ["k", "[1] · version 0", "leaf · requires_grad"]
    assert "[1.5] · version 1 · the same tensor" in [r.text for r in after.rows]
    assert "AccumulateGrad · arrives [1]" in [r.text for r in after.rows]
    (product,) = (c for c in drawn.cards if c.name == "first")
    assert after.id not in {a.tail for a in drawn.arrows if a.head == product.id}


def test_a_view_that_no_gradient_can_reach_is_not_called_a_leaf() -> None:
    with gv.record() as rec:
        a = torch.ones(3, requires_grad=True)
        with torch.no_grad():
            view = a[:2]
        b = a.clone()
        written = b[:2]
        b.mul_(3)
    assert view.requires_grad
    assert rows(rec.graph, "view")[-2:] == [
        "not tracked, yet requires_grad",
        "no gradient comes to it",
    ]
    if rec.graph.tensors[-1].is_leaf is None:
        assert rows(rec.graph, "written")[-1] == "grad_fn is made anew at its next use"
    assert written is not None


def test_an_input_that_is_handed_back_takes_no_arrow_from_the_other_inputs() -> None:
    with gv.record() as rec:
        a = torch.ones(1, requires_grad=True)
        h = (a * 2)[None]
        y = torch.ones(1, 1) * 3
        u, v = torch.broadcast_tensors(y, h)
    drawn = cards(rec.graph)
    assert v is not None
    assert u is not None
    assert all(a.tail < a.head for a in drawn.arrows)


def test_many_leaves_that_one_region_cuts_off_share_one_small_card() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
    x = torch.ones(1, 2)
    with gv.record() as rec, torch.no_grad():
        net(x)
    drawn = arranged(cards(rec.graph))
    (cut,) = (a for a in drawn.arrows if a.kind == "cut")
    tag = drawn.cards[cut.tail]
    assert cut.to_frame
    assert [r.text for r in tag.rows] == [
        "net.0.weight",
        "net.0.bias",
        "net.1.weight",
        "net.1.bias",
    ]
    assert cut.label == "✂ no_grad · no gradient back × 4"


def test_a_small_card_of_two_leaves_is_not_told_as_one() -> None:
    with gv.record() as rec:
        x = torch.tensor(2.0, requires_grad=True)
        w = torch.tensor(3.0, requires_grad=True)
        with torch.no_grad():
            y = x * w
    figure = rec.figure()
    assert y.grad_fn is None
    assert [a.label for a in figure.scene.arrows] == ["✂ no_grad · no gradient back × 2"]
    assert "small card: the same leaves<" in figure.dot.source


def test_a_line_that_ran_again_folds_without_its_leaf_and_its_last_result() -> None:
    with gv.record() as rec:
        a = torch.ones(3, requires_grad=True)
        s = sum((a * i) for i in range(100))
        s.sum().backward()
    small = fold.fold(cards(rec.graph), rec.graph)
    assert [c.kind for c in small.cards] == ["leaf", "fold", "result"]
    assert [a.kind for a in small.arrows] == ["gradient", "gradient"]


def test_a_gradient_of_zeros_has_an_arrow_of_its_own() -> None:
    with gv.record() as rec:
        a = torch.tensor([1.2, 2.7], requires_grad=True)
        many = torch.ones(20, requires_grad=True)
        w = torch.tensor([1.0, 0.0], requires_grad=True)
        w.register_hook(lambda g: g * 0)
        loss = (a.round() * w * 3).sum() + (many * 0).sum()
        loss.backward()
    figure = Figure(rec.graph)
    arrows = [(figure.scene.cards[a.tail].name, a.kind) for a in figure.scene.arrows]
    grads = {"a": a.grad, "many": many.grad, "w": w.grad}
    assert not any(grad.any() for grad in grads.values() if grad is not None)
    assert {name for name, kind in arrows if kind == "zeros"} == {*grads}
    assert [kind for name, kind in arrows if name not in grads] == ["gradient"] * 6
    assert "gradient, only zeros" in figure.svg
    (line,) = (s for s in figure.text.splitlines() if s.startswith("    from a ·"))
    assert line.strip() == "from a · gradient [0, 0] goes back to it"


# which tensor a backward refuses ------------------------------------------------------------------


def weights_of_an_untracked_end() -> None:
    x = torch.tensor([1.0, 2.0])
    y = x * 2
    weights = torch.tensor([1.0, 10.0])
    y.backward(gradient=weights)


def weights_and_a_second_end_that_is_not_tracked() -> None:
    x = torch.ones(2, requires_grad=True)
    z = (x * 2).sum()
    y, w = torch.ones(2), torch.ones(2)
    torch.autograd.backward([z, y], [None, w])


def grad_of_an_untracked_end() -> None:
    x, other, start = torch.ones(2, requires_grad=True), torch.ones(2), torch.tensor(2.0)
    y = x.detach().sum()
    torch.autograd.grad(y, [x, other], grad_outputs=start)


def the_second_end_is_no_single_number() -> None:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    z = y.sum()
    torch.autograd.backward([z, y])


def weights_of_another_shape() -> None:
    x, w = torch.ones(2, requires_grad=True), torch.ones(3)
    y = x * 2
    y.backward(w)


@pytest.mark.parametrize(
    "program",
    [
        weights_of_an_untracked_end,
        weights_and_a_second_end_that_is_not_tracked,
        grad_of_an_untracked_end,
        the_second_end_is_no_single_number,
        weights_of_another_shape,
    ],
)
def test_only_the_tensor_at_which_backward_raised_is_marked(program: Callable[[], None]) -> None:
    with gv.record() as rec, pytest.raises(RuntimeError):
        program()
    cards = rec.figure().whole.cards
    marked = [card.name for card in cards if any("raises here" in row.text for row in card.rows)]
    assert marked == ["y"]


def weights_of_another_shape_for_the_second_end() -> None:
    x = torch.ones(2, requires_grad=True)
    z = x.sum()
    y = x * 2
    weights = torch.ones(3)
    torch.autograd.backward([z, y], [None, weights])


def test_where_it_is_not_known_which_of_several_raised_all_say_so() -> None:
    with gv.record() as rec, pytest.raises(RuntimeError):
        weights_of_another_shape_for_the_second_end()
    rows = {card.name: [row.text for row in card.rows] for card in rec.figure().whole.cards}
    said = {
        name
        for name, texts in rows.items()
        if any("of this and one more tensor raises" in t for t in texts)
    }
    assert said == {"z", "y"}


# --- the footer -----------------------------------------------------------------------------------


def behind(node: torch.autograd.graph.Node | None) -> set[str]:
    """The names of every node behind one, itself included, as torch has them."""
    found: dict[torch.autograd.graph.Node, str] = {}
    todo = [] if node is None else [node]
    while todo:
        one = todo.pop()
        if one not in found:
            found[one] = type(one).__name__
            todo += [child for child, _ in one.next_functions if child is not None]
    return set(found.values())


@pytest.mark.parametrize("used_before", [False, True])
@pytest.mark.parametrize("used_after", [False, True])
@pytest.mark.parametrize(
    "make", [lambda b: b[0:2], lambda b: b.view(3, 1), lambda b: b.view(-1), torch.t]
)
@pytest.mark.parametrize("through", ["view", "base", "both", "item"])
def test_a_footer_names_only_what_its_grad_fn_leads_to(
    make, through, used_before, used_after
) -> None:
    a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with gv.record() as rec:
        b = a.sin()
        v = make(b)
        u = v.tan() if used_before else None
        for written in {"view": [v], "base": [b], "both": [v, b], "item": []}[through]:
            written.mul_(3)
        if through == "item":
            v[0] = 5
        w = v.cos() if used_after else None
    scene_of = {tensor_id: card for card in cards(rec.graph).cards for tensor_id in card.tensor_ids}
    for tensor in (b, v, u, w):
        if tensor is None:
            continue
        state = rec.find(tensor)
        assert state is not None
        for row in scene_of[state.id].rows:
            if (
                row.kind == "grad_fn"
                and "made anew" not in row.text
                and not row.text.startswith("earlier grad_fn")
            ):
                named = row.text.partition(" saved ")[0].split(" → ")
                assert set(named) <= behind(tensor.grad_fn), (row.text, tensor.grad_fn)
        earlier = [r.text for r in scene_of[state.id].rows if r.text.startswith("earlier grad_fn")]
        assert not earlier or (tensor is v and used_before)


def test_an_earlier_grad_fn_is_named_where_gradients_still_go_through_it() -> None:
    a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with gv.record() as rec:
        b = a * 2
        v = b[0:2]
        u = v * 2
        v.mul_(3)
        (u.sum() + v.sum()).backward()
    card = next(c for c in cards(rec.graph).cards if c.name == "v")
    assert [r.text for r in card.rows if r.kind == "grad_fn"] == [
        "AsStridedBackward0",
        "earlier grad_fn: SliceBackward0",
    ]


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("backward", [False, True])
def test_what_torch_makes_for_a_checkpoint_is_not_drawn(
    requires_grad: bool, backward: bool
) -> None:
    """Up to torch 2.11 it makes an empty leaf, and another tensor of it."""
    w = torch.tensor([0.5, 1.0], requires_grad=True)
    x = torch.tensor([1.0, 2.0], requires_grad=requires_grad)
    with gv.record() as rec:
        h = checkpoint(lambda x: torch.tanh(x * w), x, use_reentrant=False)
        if backward:
            h.sum().backward()
    drawn = [card.name or card.title for card in Figure(rec.graph).scene.cards]
    assert len(drawn) == 4 + backward  # x, w, x * w, its tanh; and the sum
    assert {"x", "w", "x * w"} < {*drawn}
    assert not any("unnamed" in title or "Noop" in title for title in drawn)


def test_an_arrow_leads_from_all_that_a_call_that_raised_has_read() -> None:
    """An untracked value without a name is hidden where it is a constant on its way into a call."""
    with gv.record() as rec, contextlib.suppress(RuntimeError):
        h = torch.ones(2)
        b = torch.ones(3, requires_grad=True)
        h.detach() * b
    picture = cards(rec.graph)
    arrows = {(picture.cards[a.tail].title, picture.cards[a.head].title) for a in picture.arrows}
    assert arrows == {
        ("h", "h.detach()"),
        ("h.detach()", "h.detach() * b"),
        ("b", "h.detach() * b"),
    }
