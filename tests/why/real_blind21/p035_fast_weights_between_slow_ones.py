# https://github.com/facebookresearch/higher/issues/130
import contextlib
import types

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call

torch.manual_seed(0)


class _FModel:
    def __init__(self, model):
        self.model, self.fast_params = model, dict(model.named_parameters())

    def __call__(self, x):
        return functional_call(self.model, self.fast_params, (x,))


class _DiffOpt:
    def __init__(self, fmodel, opt):
        self.fmodel, self.lr = fmodel, opt.param_groups[0]['lr']
        chosen = {id(p) for group in opt.param_groups for p in group['params']}
        self.names = [n for n, p in fmodel.model.named_parameters() if id(p) in chosen]

    def step(self, loss):
        params = self.fmodel.fast_params
        grads = torch.autograd.grad(loss, [params[n] for n in self.names], create_graph=True)
        self.fmodel.fast_params = {**params, **{n: params[n] - self.lr * g for n, g in zip(self.names, grads)}}


@contextlib.contextmanager
def innerloop_ctx(model, opt):
    fmodel = _FModel(model)
    yield fmodel, _DiffOpt(fmodel, opt)


higher = types.SimpleNamespace(innerloop_ctx=innerloop_ctx)


# %%
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.slow_in = nn.Linear(4, 16)
        self.fast_mid = nn.Linear(16, 16)
        self.slow_mid = nn.Linear(16, 16)
        self.fast_out = nn.Linear(16, 1)

    def forward(self, x):
        x = torch.tanh(self.fast_mid(torch.tanh(self.slow_in(x))))
        return self.fast_out(torch.tanh(self.slow_mid(x)))


model = Model()
fast_weights = [p for n, p in model.named_parameters() if n.startswith('fast')]
slow_weights = [p for n, p in model.named_parameters() if n.startswith('slow')]
fast_weight_optimizer = torch.optim.SGD(fast_weights, lr=0.1)
slow_weight_optimizer = torch.optim.Adam(slow_weights, lr=1e-3)
target = torch.randn(4, 1)
fast_before = [p.detach().clone() for p in fast_weights]
slow_before = [p.detach().clone() for p in slow_weights]

# %%
for step in range(50):
    x, x_meta = torch.randn(32, 4), torch.randn(32, 4)
    with higher.innerloop_ctx(model, fast_weight_optimizer) as (fmodel, diffopt):
        loss = F.mse_loss(fmodel(x), x @ target)
        diffopt.step(loss)
        meta_loss = F.mse_loss(fmodel(x_meta), x_meta @ target)

    slow_weight_optimizer.zero_grad()
    meta_loss.backward()
    slow_weight_optimizer.step()
    if step % 10 == 0:
        print(step, loss.item(), meta_loss.item())

# %%
fast_moved = [(p - b).abs().max().item() for p, b in zip(fast_weights, fast_before)]
slow_moved = [(p - b).abs().max().item() for p, b in zip(slow_weights, slow_before)]
print('slow weights moved by', slow_moved)
print('fast weights moved by', fast_moved)
