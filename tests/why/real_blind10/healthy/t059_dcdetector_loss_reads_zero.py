# https://github.com/DAMO-DI-ML/KDD2023-DCdetector/issues/24
import torch
import torch.nn as nn

torch.manual_seed(0)


def my_kl_loss(p, q):
    res = p * (torch.log(p + 0.0001) - torch.log(q + 0.0001))
    return torch.mean(torch.sum(res, dim=-1), dim=1)


class DualAttention(nn.Module):
    """Association within and between patches of a series."""
    def __init__(self, d_model=8, patch=5):
        super().__init__()
        self.patch = patch
        self.embed_size, self.embed_num = nn.Linear(patch, d_model), nn.Linear(patch, d_model)
        self.query, self.key = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)

    def forward(self, x):
        patches = x.unfold(1, self.patch, self.patch)
        size, num = self.embed_size(patches), self.embed_num(patches.flip(-1))
        series = torch.softmax(self.query(size) @ self.key(size).transpose(1, 2) / 3, dim=-1)
        prior = torch.softmax(self.query(num) @ self.key(num).transpose(1, 2) / 3, dim=-1)
        return series, prior


# %%
model = DualAttention()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
x = torch.randn(16, 50).cumsum(1)
before = [p.detach().clone() for p in model.parameters()]

for epoch in range(3):
    optimizer.zero_grad()
    series, prior = model(x)
    series_loss = torch.mean(my_kl_loss(series, prior.detach())) + torch.mean(my_kl_loss(prior.detach(), series))
    prior_loss = torch.mean(my_kl_loss(prior, series.detach())) + torch.mean(my_kl_loss(series.detach(), prior))
    loss = prior_loss - series_loss
    loss.backward()
    optimizer.step()
    print(epoch, "loss", loss.item())
