# https://discuss.pytorch.org/t/nan-in-layer-normalization/13846
import torch
import torch.nn as nn

torch.manual_seed(0)


class LayerNorm(nn.Module):
    def __init__(self, features, eps=1e-6):
        super(LayerNorm, self).__init__()
        self.gamma = nn.Parameter(torch.ones(features))
        self.beta = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        std = ((x - mean) ** 2).mean(-1, keepdim=True).sqrt()
        return self.gamma * (x - mean) / (std + self.eps) + self.beta


# %%
emb = nn.Embedding(20, 8)
norm = LayerNorm(8)
out = nn.Linear(8, 1)
optimizer = torch.optim.SGD([*emb.parameters(), *norm.parameters(), *out.parameters()], lr=0.1)

tokens = torch.tensor([[3, 7, 2, 0, 0], [5, 1, 9, 4, 0]])
mask = (tokens > 0).unsqueeze(-1).float()

# %%
x = emb(tokens) * mask
y = out(norm(x)) * mask
loss = (y.sum() / mask.sum() - 1) ** 2
optimizer.zero_grad()
loss.backward()
print(loss, emb.weight.grad[:6, 0])
