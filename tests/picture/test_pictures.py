"""The pictures themselves: the four of the README, and more that are wide, long or full of cuts,
measured as drawn."""

from __future__ import annotations

import contextlib
import itertools
import math
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
import svg as drawn
import torch

import gradviz as gv
from gradviz.picture.figure import Figure
from gradviz.picture.geometry import Rect
from gradviz.showing import show

GOLDEN = Path(__file__).parents[1] / "golden"
DOCS = Path(__file__).parents[2] / "docs" / "pictures"


FOUR_LINES = """\
a = torch.tensor([1., 2., 3.], requires_grad=True)
b = {copy}
c = a * 2
d = b * 3
loss = (c + d).sum()
loss.backward()
"""
STALE = """\
a = torch.tensor([1., 2., 3.], requires_grad=True)
out = a.sigmoid()
k = out.detach()
k.zero_()
out.sum().backward()
"""
README = {
    "1-clone": FOUR_LINES.format(copy="a.clone()"),
    "2-detach": FOUR_LINES.format(copy="a.detach()"),
    "3-detach-requires-grad": FOUR_LINES.format(copy="a.detach().requires_grad_()"),
    "4-stale": STALE,
}


def drawn_from(name: str) -> Callable[[], Figure]:
    """The picture of a program of its own, so that line numbers are those that a reader would
    count."""

    def make() -> Figure:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / f"{name}.py"
            program = {**README, **PROGRAMS}[name]
            file.write_text(program, encoding="utf-8")
            with gv.record() as rec, contextlib.suppress(RuntimeError):
                exec(compile(program, str(file), "exec"), {"torch": torch})
            return Figure(rec.graph)

    return make


clone, detach, _, stale = (drawn_from(name) for name in README)


def many_cuts() -> Figure:
    with gv.record() as rec:
        a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        b = a.detach()
        c = a.argmax()
        d = a > 2
        e = a.tolist()
        f = a.sum().item()
        loss = (a * b).sum()
        loss.backward()
    assert None not in (c, d, e, f)
    return Figure(rec.graph)


def twelve_cards() -> Figure:
    with gv.record() as rec:
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        v = torch.tensor([3.0, 4.0], requires_grad=True)
        bias = torch.tensor(0.5, requires_grad=True)
        h = w * v
        h2 = h + bias
        h3 = h2.relu()
        h4 = h3 * w
        h5 = h4.detach()
        h6 = h5 * v
        h7 = h6 - h
        loss = h7.sum() + h4.sum()
        loss.backward()
    return Figure(rec.graph)


def model() -> Figure:
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
    x = torch.ones(2, 3)
    with gv.record() as rec:
        loss = net(x).pow(2).mean()
        loss.backward()
    return Figure(rec.graph)


def nine_leaves() -> Figure:
    leaves = [torch.tensor(float(i), requires_grad=True) for i in range(9)]
    with gv.record() as rec:
        loss = torch.stack(leaves).sum()
        loss.backward()
    return Figure(rec.graph)


def no_grad_region() -> Figure:
    with gv.record() as rec:
        a = torch.tensor([1.0, 2.0], requires_grad=True)
        b = a * 2
        with torch.no_grad():
            c = b + 1
            d = c * c
        loss = (b * d).sum()
        loss.backward()
    return Figure(rec.graph)


def outputs() -> Figure:
    with gv.record() as rec:
        a = torch.arange(6.0).reshape(3, 2).requires_grad_()
        x, _y, z = a.unbind(0)
        s = (x * z).sum()
        s.backward()
    return Figure(rec.graph)


def training() -> Figure:
    with gv.record() as rec:
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        x = torch.tensor([3.0, 4.0])
        for _ in range(2):
            loss = ((w * x).sum() - 1) ** 2
            loss.backward()
            with torch.no_grad():
                w -= 0.1 * w.grad
            w.grad = None
    return Figure(rec.graph)


def nodes() -> Figure:
    a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    b = a * a
    loss = (b + a.clone()).sum()
    return show(loss)


TRAINING = """\
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
x = torch.ones(2, 3)
with torch.no_grad():
    target = net(x) + 1
loss = torch.nn.functional.mse_loss(net(x), target)
loss.backward()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
opt.step()
"""
EIGHT_CUTS = """\
a = torch.tensor([1., 2., 3.], requires_grad=True)
b = a.detach()
c = a.argmax()
d = a > 2
e = a.tolist()
f = a.sum().item()
g = a.data
h = a.long()
with torch.no_grad():
    k = a * 2
"""
LONG_NAMES = """\
the_first_weights = torch.tensor([1., 2., 3.], requires_grad=True)
intermediate_result_one = the_first_weights * 1
intermediate_result_two = the_first_weights * 2
intermediate_result_three = the_first_weights * 3
intermediate_result_four = the_first_weights * 4
intermediate_result_five = the_first_weights * 5
results = intermediate_result_one, intermediate_result_two, intermediate_result_three, intermediate_result_four
loss = torch.stack([*results, intermediate_result_five]).sum()
loss.backward()
"""
RENAMED = """\
x = torch.ones(1, requires_grad=True)
w = torch.ones(1, requires_grad=True)
x = x.detach()
y = x * w
y.retain_grad()
y.pow(2).backward()
"""
DETACHED_FACTOR = """\
x = torch.tensor(2., requires_grad=True)
y = x * x
z = y.detach() * x + y
z.backward()
"""
MOMENTUM = """\
k, q = torch.nn.Linear(1, 1, bias=False), torch.nn.Linear(1, 1, bias=False)
loss = (k(torch.ones(1, 1)) * q(torch.ones(1, 1))).sum()
loss.backward()
with torch.no_grad():
    k.weight.copy_(k.weight * .9 + q.weight * .1)
"""
ROWS_OF_A_BUFFER = """\
a = torch.tensor([1., 2., 3.], requires_grad=True)
b = torch.tensor([4., 5., 6.], requires_grad=True)
rows = torch.zeros(2, 3)
rows[0].copy_(a)
rows[1].copy_(b)
loss = (rows * torch.tensor([[2.], [3.]])).sum()
loss.backward()
"""
HOOKS = """\
x = torch.tensor([1., 2., 3.], requires_grad=True)
x.register_hook(lambda grad: grad / 3)
y = x / 3
y.register_hook(lambda grad: grad * 10)
z = y.exp()
y.grad_fn.register_prehook(lambda grads: (grads[0] + 1,))
z.register_hook(print)
loss = (z * 2 + z / 7).sum()
loss.backward()
"""
PROGRAMS = {
    "training_step": TRAINING,
    "eight_cuts": EIGHT_CUTS,
    "long_names": LONG_NAMES,
    "renamed": RENAMED,
    "detached_factor": DETACHED_FACTOR,
    "momentum": MOMENTUM,
    "rows_of_a_buffer": ROWS_OF_A_BUFFER,
    "hooks": HOOKS,
}
MORE = {
    f.__name__: f
    for f in (many_cuts, twelve_cards, model, nine_leaves, no_grad_region, outputs, training, nodes)
}
ALL = {**{name: drawn_from(name) for name in (*README, *PROGRAMS)}, **MORE}
every_picture = pytest.mark.parametrize("make", ALL.values(), ids=ALL.keys())


@every_picture
def test_fits_a_notebook_and_is_large_enough_to_read(make: Callable[[], Figure]) -> None:
    picture = drawn.read(make().svg)
    assert 0 < picture.width <= 860
    sizes = {t.size * 4 / 3 for g in picture.groups for t in g.texts}
    assert min(sizes) >= 13
    for group in picture.groups:
        for box in [*group.shapes, *(Rect(x, y, x, y) for line in group.lines for x, y in line)]:
            assert picture.view.contains(
                Rect(box.x0 + 0.1, box.y0 + 0.1, box.x1 - 0.1, box.y1 - 0.1)
            ), group


@every_picture
def test_no_words_cover_a_card_other_words_or_a_line(make: Callable[[], Figure]) -> None:
    picture = drawn.read(make().svg)
    chips = [(g.kind, g.chip) for g in picture.groups if g.kind not in ("node", "graph") and g.chip]
    cards = [max(g.shapes, key=lambda r: r.x1 - r.x0) for g in picture.of("node")]
    for (_, one), (_, other) in itertools.combinations(chips, 2):
        assert not one.meets(other), (one, other)
    legend = [t.room for g in picture.of("graph") for t in g.texts]
    for kind, chip in chips:
        assert not any(chip.meets(sign) for sign in legend), (kind, chip)
        for card in cards:
            assert not chip.meets(card), (kind, chip, card)
        for group in picture.groups:
            for line in group.lines:
                assert not any(chip.holds(point) for point in line), (kind, chip, group.kind)


@pytest.mark.parametrize("family", drawn.FONTS)
@every_picture
def test_text_fits_its_box(make: Callable[[], Figure], family: str) -> None:
    fonts = drawn.installed(family)
    if fonts is None:
        pytest.skip(f"{family} fonts are not installed, so their widths cannot be measured")
    regular, bold, mono = fonts
    for group in drawn.read(make().svg).groups:
        for t in group.texts:
            font = mono if t.mono else bold if t.bold else regular
            width = sum(font.get(ord(c), 0.9) for c in t.text) * t.size
            assert width <= t.room.x1 - t.room.x0, t
            if group.kind != "graph":
                assert abs(t.x - (t.room.x0 + t.room.x1) / 2) < 0.1, (
                    "text stands in the middle of its box"
                )


def test_every_meaning_has_a_shape_and_a_word_besides_its_colour() -> None:
    picture = drawn.read(detach().svg)
    (cut,) = picture.of("cut")
    assert cut.dashed
    assert cut.texts[0].text == "✂ detach"
    assert not any(g.dashed for g in picture.of("gradient", "forward"))
    thick, thin = (picture.of(kind)[0].stroke_width for kind in ("gradient", "forward"))
    assert thick > 1.5 * thin
    untracked = [g for g in picture.of("node") if any("not tracked" in t.text for t in g.texts)]
    assert len(untracked) == 2
    assert all(g.dashed for g in untracked)
    assert not any(g.dashed for g in picture.of("node") if g not in untracked)
    (memory,) = picture.of("cluster")
    assert memory.dashed
    assert memory.texts[0].text == "shared memory"
    (stopped,) = drawn.read(stale().svg).of("raise")
    assert stopped.dashed
    assert stopped.texts[0].text == "backward raises here"


def test_both_lines_of_a_pair_run_side_by_side() -> None:
    picture = drawn.read(clone().svg)
    forward = {g.lines[0][0]: g.lines[0] for g in picture.of("forward")}
    assert len(picture.of("gradient")) == len(forward) == 6
    for group in picture.of("gradient"):
        (line,) = group.lines
        partner = min(
            forward.values(),
            key=lambda other: math.dist(line[0], other[0]) + math.dist(line[-1], other[-1]),
        )
        for point in line[3:-3]:
            assert 3 < min(math.dist(point, other) for other in partner) < 8


@pytest.mark.parametrize("name", README)
def test_the_readme_pictures(name: str, overwrite_golden: bool) -> None:
    figure = drawn_from(name)()
    golden = GOLDEN / f"{name}.dot"
    if overwrite_golden:
        GOLDEN.mkdir(exist_ok=True)
        DOCS.mkdir(parents=True, exist_ok=True)
        golden.write_text(figure.source, encoding="utf-8")
        figure.save(DOCS / f"{name}.svg")
        figure.save(DOCS / f"{name}.png")
    assert figure.source == golden.read_text(encoding="utf-8"), (
        "rewrite with: pytest --overwrite-golden"
    )
    assert (DOCS / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_the_clone_picture_says_what_the_engine_did() -> None:
    text = clone().text
    assert "engine adds [3, 3, 3] + [2, 2, 2]" in text
    assert "AccumulateGrad · arrives once: [5, 5, 5]" in text
    assert ".grad: None → [5, 5, 5]" in text
    assert "[1, 2, 3] in new memory" in text
    assert "SumBackward0 · backward() starts with 1" in text


def test_the_stale_picture_says_what_is_stale_and_where() -> None:
    text = stale().text
    assert "SigmoidBackward0 saved result at version 0" in text
    assert "STALE: it is at version 1 now" in text
    assert "then k.zero_()  # line 4" in text
    assert "AccumulateGrad · never reached" in text
    assert "raised RuntimeError" in text
