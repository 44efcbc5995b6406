# Weights without a module, stepped by hand under no_grad.
import torch

w, b = torch.zeros(3, requires_grad=True), torch.zeros(1, requires_grad=True)
x, y = torch.randn(20, 3), torch.randn(20)
for _ in range(4):
    loss = (x @ w + b - y).pow(2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
        b -= 0.1 * b.grad
        w.grad.zero_()
        b.grad.zero_()
assert w.requires_grad
