# https://github.com/pytorch/pytorch/issues/121416
import torch
from torch import nn

torch.manual_seed(0)

n_samples, n_features, n_targets = 64, 5, 3
X = torch.randn(n_samples, n_features)
Y = X @ torch.randn(n_features, n_targets) + 0.1 * torch.randn(n_samples, n_targets)
Y[torch.rand(n_samples, n_targets) < 0.2] = torch.nan

model = nn.Sequential(nn.Linear(n_features, 16), nn.ReLU(), nn.Linear(16, n_targets))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
L = nn.MSELoss(reduction="none")


def train_step(inputs, y):
    x = model(inputs)
    mask = torch.logical_not(torch.isnan(y))
    loss = L(x, y)[mask].mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


# %%
history = []
for epoch in range(3):
    for idx in torch.randperm(n_samples).split(16):
        history.append(train_step(X[idx], Y[idx]))
    print(epoch, history[-1])

print([p.grad.norm().item() for p in model.parameters()])
