# https://github.com/facebookresearch/higher/issues/69
import contextlib
import types

import torch
import torch.nn as nn
import torch.optim as optim
from torch.func import functional_call

torch.manual_seed(0)


class _FunctionalModel:
    def __init__(self, model, params):
        self._model, self._params = model, params

    def parameters(self):
        return list(self._params.values())

    def __call__(self, x):
        return functional_call(self._model, self._params, (x,))


class _DifferentiableSGD:
    def __init__(self, fmodel, lr):
        self.fmodel, self.lr = fmodel, lr

    def step(self, loss):
        names = list(self.fmodel._params)
        grads = torch.autograd.grad(loss, self.fmodel.parameters(), create_graph=True)
        self.fmodel._params = {n: self.fmodel._params[n] - self.lr * g for n, g in zip(names, grads)}


@contextlib.contextmanager
def innerloop_ctx(model, opt, copy_initial_weights=True):
    params = dict(model.named_parameters())
    if copy_initial_weights:
        params = {n: p.clone().detach().requires_grad_() for n, p in params.items()}
    fmodel = _FunctionalModel(model, params)
    yield fmodel, _DifferentiableSGD(fmodel, opt.param_groups[0]['lr'])


H = types.SimpleNamespace(innerloop_ctx=innerloop_ctx)

# %%
# configure in and out and model
x = torch.ones(1, 1)
y = torch.ones(1, 1)

model = nn.Linear(1, 1, bias=False)
for p in model.parameters():
    nn.init.constant_(p, 0.5)

criterion = nn.MSELoss()
opt = optim.SGD(model.parameters(), lr=1e-1)

# %%
with H.innerloop_ctx(model, opt) as (fmodel, diffopt):

    # unrolling loop
    out = fmodel(x)
    loss = criterion(out, y)
    diffopt.step(loss)

    # update params
    out = fmodel(x)
    error = criterion(out, y)
    error.backward()

opt.step()

# %%
print('Model params:')
for p in model.parameters():
    print(p)

print('fModel params:')
for p in fmodel.parameters():
    print(p)

print('grad of model weight:')
print(model.weight.grad)
