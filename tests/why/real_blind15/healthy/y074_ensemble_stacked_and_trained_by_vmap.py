# https://docs.pytorch.org/docs/stable/generated/torch.func.stack_module_state.html
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call, stack_module_state, vmap

torch.manual_seed(0)


class SimpleMLP(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.l1 = nn.Linear(1, hidden)
        self.l2 = nn.Linear(hidden, hidden)
        self.l3 = nn.Linear(hidden, 1)

    def forward(self, x):
        x = torch.tanh(self.l1(x))
        x = torch.tanh(self.l2(x))
        return self.l3(x)


num_models = 5
models = [SimpleMLP() for _ in range(num_models)]
originals = [[p.detach().clone() for p in m.parameters()] for m in models]

# %%
# the stacked parameters are leaves of their own, no longer those of the models
params, buffers = stack_module_state(models)
base_model = copy.deepcopy(models[0]).to('meta')


def fmodel(params, buffers, x):
    return functional_call(base_model, (params, buffers), (x,))


def observe(n):
    """Nothing was measured between minus one and one."""
    x = torch.rand(n, 1) * 2 + 1
    x = x * torch.randint(0, 2, (n, 1)).mul(2).sub(1)
    return x, torch.sin(2 * x) + 0.05 * torch.randn(n, 1)


data, targets = observe(200)

# %%
optimizer = torch.optim.Adam(params.values(), lr=1e-2)
losses = []
for step in range(400):
    minibatches = torch.randint(0, len(data), (num_models, 64))
    predictions = vmap(fmodel, in_dims=(0, 0, 0))(params, buffers, data[minibatches])
    loss = F.mse_loss(predictions, targets[minibatches], reduction='none').mean((1, 2)).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item() / num_models)

# %%
with torch.no_grad():
    x = torch.tensor([[-2.0], [2.0], [0.0], [5.0]])
    every = vmap(fmodel, in_dims=(0, 0, None))(params, buffers, x)
    spread = every.std(0).squeeze(1)
print(losses[0], losses[-1], spread.tolist())
assert all(p.is_leaf and p.grad is not None and p.shape[0] == num_models for p in params.values())
assert all(torch.equal(a, b) for m, kept in zip(models, originals) for a, b in zip(m.parameters(), kept))
assert all(p.grad is None for m in models for p in m.parameters())
assert losses[-1] < 0.02 and spread[3] > 1.5 * spread[:2].max()
