# https://github.com/SeungyounShin/minimal-r1/issues/2
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

model = nn.Sequential(nn.Embedding(12, 16), nn.Linear(16, 12))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
before = model[1].weight.detach().clone()

# %%
for step in range(3):
    tokens = torch.randint(12, (4, 6))
    advantages = torch.randn(4)
    logp = F.log_softmax(model(tokens[:, :-1]), -1).gather(2, tokens[:, 1:, None]).squeeze(-1)
    per_token_loss = -torch.exp(logp - logp.detach()) * advantages.unsqueeze(1)
    loss = per_token_loss.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
