# https://github.com/jadore801120/attention-is-all-you-need-pytorch/issues/16
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

proj = nn.Linear(8, 24)
optimizer = torch.optim.Adam(proj.parameters(), lr=1e-3)
before = proj.weight.detach().clone()

# %%
for step in range(3):
    x, attn_mask = torch.randn(2, 5, 8), torch.ones(5, 5).triu(1).bool().expand(2, 5, 5)
    q, k, v = proj(x).chunk(3, dim=-1)
    attn = torch.bmm(q, k.transpose(1, 2)) / 8**0.5
    attn.data.masked_fill_(attn_mask, -float("inf"))
    attn = torch.softmax(attn, dim=-1)
    loss = F.mse_loss(torch.bmm(attn, v), x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
