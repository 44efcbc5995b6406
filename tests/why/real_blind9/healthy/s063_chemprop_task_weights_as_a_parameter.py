# https://github.com/chemprop/chemprop/issues/657
import torch
from torch import nn

torch.manual_seed(0)


class MPNN(nn.Module):
    def __init__(self, n_tasks=2, task_weights=None):
        super().__init__()
        self.message_passing = nn.Sequential(nn.Linear(10, 16), nn.ReLU())
        self.bn = nn.BatchNorm1d(16)
        self.ffn = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, n_tasks))
        w_t = torch.ones(n_tasks) if task_weights is None else torch.tensor(task_weights)
        self.w_t = nn.Parameter(w_t.unsqueeze(0), False)

    def forward(self, bmg):
        return self.ffn(self.bn(self.message_passing(bmg)))

    def training_step(self, batch):
        bmg, targets, weights = batch
        mask = targets.isfinite()
        targets = targets.nan_to_num(nan=0.0)
        L = (self(bmg) - targets) ** 2 * weights * self.w_t * mask
        return L.sum() / mask.sum()


# %%
model = MPNN(task_weights=[1.0, 0.5])
opt = torch.optim.Adam(model.parameters(), 1e-4)
targets = torch.randn(32, 2)
targets[::5, 1] = torch.nan
batch = (torch.randn(32, 10), targets, torch.ones(32, 1))

# %%
for epoch in range(3):
    opt.zero_grad()
    loss = model.training_step(batch)
    loss.backward()
    opt.step()
    print(loss.item())
