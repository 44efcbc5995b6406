# https://github.com/nimarb/pytorch_influence_functions/blob/master/pytorch_influence_functions/influence_function.py
import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import grad

torch.manual_seed(0)


def calc_loss(y, t):
    y = torch.nn.functional.log_softmax(y, dim=1)
    return F.nll_loss(y, t, weight=None, reduction="mean")


def grad_z(z, t, model):
    model.eval()
    y = model(z)
    loss = calc_loss(y, t)
    return list(grad(loss, list(model.parameters()), create_graph=True))


def hvp(y, w, v):
    first_grads = grad(y, w, retain_graph=True, create_graph=True)
    elemwise_products = 0
    for grad_elem, v_elem in zip(first_grads, v):
        elemwise_products += torch.sum(grad_elem * v_elem)
    return grad(elemwise_products, w, create_graph=True)


def s_test(z_test, t_test, model, z_loader, damp=0.01, scale=25.0, recursion_depth=4):
    v = grad_z(z_test, t_test, model)
    h_estimate = v.copy()
    for i in range(recursion_depth):
        x, t = z_loader[i % len(z_loader)]
        y = model(x)
        loss = calc_loss(y, t)
        params = [p for p in model.parameters() if p.requires_grad]
        hv = hvp(loss, params, h_estimate)
        with torch.no_grad():
            h_estimate = [
                _v + (1 - damp) * _h_e - _hv / scale for _v, _h_e, _hv in zip(v, h_estimate, hv)
            ]
    return h_estimate


model = nn.Sequential(nn.Linear(6, 10), nn.Tanh(), nn.Linear(10, 3))
train_loader = [(torch.randn(5, 6), torch.randint(0, 3, (5,))) for _ in range(3)]
z_test, t_test = torch.randn(1, 6), torch.tensor([1])
influences = []

# %%
s_test_vec = s_test(z_test, t_test, model, train_loader)
for z, t in train_loader:
    grad_z_vec = grad_z(z, t, model)
    with torch.no_grad():
        tmp_influence = -sum(torch.sum(k * j).data for k, j in zip(grad_z_vec, s_test_vec)) / len(
            train_loader
        )
    influences.append(tmp_influence.item())
print(influences)
