# Hessian times vector, twice through the graph.
import torch

w = torch.randn(3, requires_grad=True)
f = (w**4).sum()
(g,) = torch.autograd.grad(f, w, create_graph=True)
v = torch.ones(3)
(hv,) = torch.autograd.grad((g * v).sum(), w)
assert torch.allclose(hv, 12 * w.detach() ** 2)
