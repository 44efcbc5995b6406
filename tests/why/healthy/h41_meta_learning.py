# One inner step by hand, the outer gradient through it.
import torch

w = torch.randn(4, requires_grad=True)
outer = torch.optim.SGD([w], lr=0.1)
xa, ya, xb, yb = torch.randn(8, 4), torch.randn(8), torch.randn(8, 4), torch.randn(8)
inner = (xa @ w - ya).pow(2).mean()
(g,) = torch.autograd.grad(inner, w, create_graph=True)
fast = w - 0.1 * g
loss = (xb @ fast - yb).pow(2).mean()
outer.zero_grad()
loss.backward()
outer.step()
assert w.grad is not None
