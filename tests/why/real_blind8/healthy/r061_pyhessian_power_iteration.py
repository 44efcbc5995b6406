# https://github.com/amirgholami/PyHessian/blob/master/pyhessian/hessian.py
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 10), nn.Tanh(), nn.Linear(10, 3))
inputs, targets = torch.randn(32, 6), torch.randint(0, 3, (32,))
criterion = nn.CrossEntropyLoss()


def get_params_grad(model):
    params, grads = [], []
    for param in model.parameters():
        if not param.requires_grad:
            continue
        params.append(param)
        grads.append(0. if param.grad is None else param.grad + 0.)
    return params, grads


def group_product(xs, ys):
    return sum([torch.sum(x * y) for (x, y) in zip(xs, ys)])


def normalization(v):
    s = group_product(v, v) ** 0.5
    return [vi / (s + 1e-6) for vi in v]


def hessian_vector_product(gradsH, params, v):
    return torch.autograd.grad(gradsH, params, grad_outputs=v, only_inputs=True, retain_graph=True)


# %%
model = model.eval()  # make model is in evaluation model
loss = criterion(model(inputs), targets)
loss.backward(create_graph=True)
params, gradsH = get_params_grad(model)

# %%
v = normalization([torch.randn(p.size()) for p in params])
eigenvalue = None
for i in range(30):
    model.zero_grad()
    Hv = hessian_vector_product(gradsH, params, v)
    tmp_eigenvalue = group_product(Hv, v).item()
    v = normalization(Hv)
    if eigenvalue is not None and abs(eigenvalue - tmp_eigenvalue) / (abs(eigenvalue) + 1e-6) < 1e-3:
        break
    eigenvalue = tmp_eigenvalue
print(eigenvalue)
