# https://github.com/openai/spinningup/issues/171
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

logits_net = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(logits_net.parameters(), lr=1e-2)
before = logits_net[0].weight.detach().clone()

# %%
for epoch in range(3):
    obs = torch.randn(20, 4)
    logp_all = F.log_softmax(logits_net(obs), dim=1)
    pi = torch.multinomial(logp_all.exp(), 1).squeeze(1)
    logp_pi = (F.one_hot(pi, 3) * logp_all).sum(1)
    rewards = (pi == obs.argmax(1).clamp(max=2)).float()
    loss = -(logp_pi * rewards).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
