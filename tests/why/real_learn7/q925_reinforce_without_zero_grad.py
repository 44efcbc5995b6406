# https://discuss.pytorch.org/t/vanilla-reinforce-for-continuous-distributions/25718
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)

batch = 64
iterations = 20
h = 128
model = nn.Sequential(nn.Linear(1, h), nn.Sigmoid(), nn.Linear(h, 8))
opt = torch.optim.Adam(model.parameters(), lr=0.0005)

# %%
for i in range(iterations):
    x = torch.randn(batch, 1)
    y = torch.cat([x, x**2, x**3, torch.sin(x)], dim=1)
    res = model(x)
    means, sigs = res[:, :4], torch.exp(res[:, 4:])
    dists = torch.distributions.Normal(means, sigs)
    samples = dists.sample()
    mloss = F.mse_loss(samples, y, reduction="none")
    loss = -dists.log_prob(samples) * -mloss
    loss = loss.mean()
    loss.backward()
    opt.step()
    if i % 10 == 0:
        print("      ", "loss", F.mse_loss(samples.data, y.data, reduction="none").mean(dim=0))
        print("      ", "sigs", sigs.mean(dim=0))
last = model[2].bias.grad.norm().item()
