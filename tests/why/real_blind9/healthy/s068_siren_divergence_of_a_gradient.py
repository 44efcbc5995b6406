# https://github.com/vsitzmann/siren/blob/master/diff_operators.py
import torch
from torch.autograd import grad

torch.manual_seed(0)


def laplace(y, x):
    grad = gradient(y, x)
    return divergence(grad, x)


def divergence(y, x):
    div = 0.
    for i in range(y.shape[-1]):
        div += grad(y[..., i], x, torch.ones_like(y[..., i]), create_graph=True)[0][..., i:i+1]
    return div


def gradient(y, x, grad_outputs=None):
    if grad_outputs is None:
        grad_outputs = torch.ones_like(y)
    grad = torch.autograd.grad(y, [x], grad_outputs=grad_outputs, create_graph=True)[0]
    return grad


# %%
net = torch.nn.Sequential(torch.nn.Linear(2, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
optim = torch.optim.Adam(lr=1e-3, params=net.parameters())
coords = torch.rand(64, 2) * 2 - 1
gt_laplace = torch.sin(3 * coords[:, :1])

# %%
for step in range(5):
    # allows to take derivative w.r.t. input
    x = coords.clone().detach().requires_grad_(True)
    y = net(x)
    laplacian = laplace(y, x)
    train_loss = torch.mean((laplacian - gt_laplace) ** 2)
    optim.zero_grad()
    train_loss.backward()
    optim.step()
    print(step, train_loss.item())
