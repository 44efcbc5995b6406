"""A fix names every line that has to change, and none that need not: programs that look as if more
had to be mended, and in which the first mend is enough. What has to be told besides, and that it
works, is tried in ``test_fixes.py``.
"""

from __future__ import annotations

import pytest
from test_fixes import executed, names

import gradviz as gv

# by what it looks like: the program, words of the fix that is told, what it must not say, and an
# edit with which nothing raises
ENOUGH = {
    "a second write that stands under no_grad": (
        """
w, b = torch.zeros(2, requires_grad=True), torch.zeros(2, requires_grad=True)
w += 1
with torch.no_grad():
    b += 1
""",
        "with torch.no_grad(): around w += 1.",
        "b += 1",
        ("w += 1", "with torch.no_grad():\n    w += 1"),
    ),
    "a second write into what is no leaf": (
        """
w = torch.zeros(2, requires_grad=True)
h = w * 2
w += 1
h += 1
""",
        "with torch.no_grad(): around w += 1.",
        "h += 1",
        ("w += 1", "with torch.no_grad():\n    w += 1"),
    ),
    "a second write in the other branch": (
        """
w, is_first = torch.zeros(2, requires_grad=True), True
if is_first:
    w += 1
else:
    w *= 2
""",
        "with torch.no_grad(): around w += 1.",
        "w *= 2",
        ("w += 1", "with torch.no_grad():\n        w += 1"),
    ),
    "a second write into a variable that is another tensor by then": (
        """
w = torch.zeros(2, requires_grad=True)
w += 1
w = torch.zeros(3)
w += 2
""",
        "with torch.no_grad(): around w += 1.",
        "w += 2",
        ("w += 1", "with torch.no_grad():\n    w += 1"),
    ),
    "a second write into a frozen one": (
        """
w, b = torch.zeros(2, requires_grad=True), torch.zeros(2)
w += 1
b += 1
""",
        "with torch.no_grad(): around w += 1.",
        "b += 1",
        ("w += 1", "with torch.no_grad():\n    w += 1"),
    ),
    "a second detach behind an input that is used elsewhere": (
        """
a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
one = a.detach()
two = b.detach()
loss = (one * two * b).sum()
torch.autograd.grad(loss, (a, b))
""",
        "leave detach() out where the gradient is wanted; clone() copies and stays connected.",
        "for b",
        ("a.detach()", "a"),
    ),
    "a second detach on a side way to the loss": (
        """
net = nn.Linear(3, 3)
out = net(torch.ones(2, 3)).detach()
scale = out.data.abs().max()
loss = (out / scale).sum()
loss.backward()
""",
        "leave detach() out",
        "That alone gives no gradient yet",
        (".detach()", ""),
    ),
    "whole numbers that were given": (
        """
net = nn.Linear(3, 3)
x, y = torch.randn(4, 3), torch.ones(4, 3).long()
out = net(x).detach()
weight = torch.logical_and(y > 0, y < 2).float()
loss = (out * weight).sum()
loss.backward()
""",
        "leave detach() out",
        "logical_and",
        (".detach()", ""),
    ),
    "labels that choose entries": (
        """
net, table = nn.Linear(3, 4), torch.randn(4, 4)
out = net(torch.randn(5, 3))
loss = (table[out.argmax(dim=1)] - 1).pow(2).sum()
loss.backward()
""",
        "weigh the entries with floats instead",
        "cross_entropy",
        ("table[out.argmax(dim=1)]", "(torch.softmax(out, -1) @ table)"),
    ),
    "labels beside targets that are no classes": (
        """
net = nn.Linear(3, 4)
out = net(torch.randn(5, 3))
wanted = torch.randn(5)
loss = F.mse_loss(out.argmax(dim=1).float(), wanted)
loss.backward()
""",
        "an index has no gradient",
        "F.cross_entropy(out",
        ("out.argmax(dim=1).float()", "out.max(dim=1).values"),
    ),
    "a second embedding that each iteration computes": (
        """
one, two, head = nn.Linear(2, 3), nn.Linear(2, 3), nn.Linear(3, 1)
opt = torch.optim.SGD([*one.parameters(), *two.parameters(), *head.parameters()], lr=0.1)
x = torch.randn(4, 2)
h = one(x).tanh()
for step in range(3):
    e = two(x).tanh()
    loss = head(h * e).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
        "compute it anew in each iteration",
        "e = two(x)",
        ("    e = two", "    h = one(x).tanh()\n    e = two"),
    ),
    "a second value before the loop that has no history": (
        """
one, head = nn.Linear(2, 3), nn.Linear(3, 1)
opt = torch.optim.SGD([*one.parameters(), *head.parameters()], lr=0.1)
x = torch.randn(4, 2)
h = one(x).tanh()
e = torch.randn(4, 3).tanh()
for step in range(3):
    loss = head(h * e).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
        "compute it anew in each iteration",
        "e = torch",
        ("    loss = head", "    h = one(x).tanh()\n    loss = head"),
    ),
    "a mask that chooses entries together with another": (
        """
net, x = nn.Linear(3, 3), torch.randn(4, 3)
out, valid = net(x), torch.ones(4, 3).bool()
keep = out > -9
loss = torch.ones(4, 3)[keep & valid].sum()
loss.backward()
""",
        "weigh the entries with floats instead",
        "takes no floats",
        ("torch.ones(4, 3)[keep & valid]", "(torch.ones(4, 3) * torch.sigmoid(out))"),
    ),
    "truth values of the targets": (
        """
net, x, y = nn.Linear(3, 3), torch.randn(4, 3), torch.ones(4, 3)
hard = net(x) > 0
weight = ((y > 0) & (y < 2)).float()
loss = (hard.float() * weight).sum()
loss.backward()
""",
        "in the place of net(x) > 0",
        "takes no floats",
        ("net(x) > 0", "torch.sigmoid(net(x))"),
    ),
    "a second state that begins anew": (
        """
one, two = nn.GRUCell(2, 3), nn.GRUCell(3, 3)
opt = torch.optim.SGD([*one.parameters(), *two.parameters()], lr=0.1)
h = torch.zeros(1, 3)
for step in range(3):
    s = torch.zeros(1, 3)
    h = one(torch.randn(1, 2), h)
    s = two(h, s)
    loss = s.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
        "h = h.detach() after each backward",
        "s.detach()",
        ("    opt.step()", "    opt.step()\n    h = h.detach()"),
    ),
    "what is frozen inside of a no_grad": (
        """
net, decoder = nn.Linear(3, 3), nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
decoder.requires_grad_(False)
out = net(torch.ones(2, 3))
with torch.no_grad():
    loss = decoder(out).pow(2).mean()
loss.backward()
""",
        "out of the no_grad of line 5",
        "requires_grad on",
        ("with torch.no_grad():", "if True:"),
    ),
    "a second write into what nothing saved": (
        """
w = torch.ones(3, requires_grad=True)
h = w.exp()
h += 1
g = w + 2
g += 3
(h + g).sum().backward()
""",
        "h = h + 1 in the place of h += 1",
        "likewise",
        ("h += 1", "h = h + 1"),
    ),
    "a second write into the new tensor of the first": (
        """
w = torch.ones(3, requires_grad=True)
h = w.exp()
h += 1
h *= 2
h.sum().backward()
""",
        "h = h + 1 in the place of h += 1",
        "likewise",
        ("h += 1", "h = h + 1"),
    ),
    "a second input of einsum that nothing writes": (
        """
w, x = torch.ones(3, 3, requires_grad=True), torch.ones(3, 3)
total, out = torch.zeros(3, 3), 0
for i in range(3):
    total += w
    out = out + torch.einsum("ab,bc->ac", total, x).sum() * torch.einsum("ab,bc->ac", w, x).sum()
    out = out + torch.einsum("ab,bc->ac", w, total).sum()
out.backward()
""",
        "total = total + w in the place of total += w",
        "likewise",
        ("total += w", "total = total + w"),
    ),
    "another result of the model that is shown": (
        """
G, D = nn.Linear(4, 8), nn.Linear(8, 1)
opt_g, opt_d = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (G, D))
for _ in range(2):
    fake = G(torch.ones(6, 4))
    opt_d.zero_grad()
    D(fake).mean().backward()
    opt_d.step()
    opt_g.zero_grad()
    shown = G(torch.zeros(6, 4))
    print(shown.mean().item())
    D(fake).mean().neg().backward()
    opt_g.step()
""",
        "fake.detach() in D(fake)",
        "D(shown)",
        (
            "D(fake).mean().backward()\n    opt_d.step()",
            "D(fake.detach()).mean().backward()\n    opt_d.step()",
        ),
    ),
    "a loop that writes at one line": (
        """
w = torch.ones(3, requires_grad=True)
h = w * 1
for i in range(4):
    g = h * w
    h += g
h.sum().backward()
""",
        "h = h + g in the place of h += g",
        "likewise",
        ("h += g", "h = h + g"),
    ),
}


@pytest.mark.parametrize("look", ENOUGH)
def test_one_mend_is_enough(look: str) -> None:
    program, says, never, (old, new) = ENOUGH[look]
    name = f"{look}.py"
    with gv.record() as recording:
        known, error = executed(program, name)
    assert error is not None, "it raises nothing"
    variables = {key: value for key, value in known.items() if key not in names()}
    answer = gv.explain(error=error, recording=recording, names=variables)
    assert says in answer.mend, answer.mend
    assert never not in answer.mend, answer.mend
    assert never not in answer.verdict, answer.verdict
    assert executed(program.replace(old, new), name)[1] is None


def test_what_is_frozen_is_told_where_that_alone_is_enough() -> None:
    """Beside a detach that is a cut of its own: one of the two is meant, and both are told."""
    program = """
net, head = nn.Linear(3, 3), nn.Linear(3, 1)
head.requires_grad_(False)
loss = head(net(torch.ones(2, 3)).detach()).pow(2).mean()
loss.backward()
"""
    with gv.record() as recording:
        error = executed(program, "both.py")[1]
    answer = gv.explain(error=error, recording=recording, names={})
    assert "leave requires_grad on" in answer.mend, answer.mend
    assert "leave detach() out" in answer.mend, answer.mend
