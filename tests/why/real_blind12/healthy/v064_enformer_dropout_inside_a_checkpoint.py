# https://github.com/lucidrains/enformer-pytorch/issues/33
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint_sequential

torch.manual_seed(0)


class Residual(nn.Module):
    def __init__(self, fn):
        super().__init__()
        self.fn = fn

    def forward(self, x, **kwargs):
        return self.fn(x, **kwargs) + x


class Attention(nn.Module):
    def __init__(self, dim, heads=4, attn_dropout=0.05):
        super().__init__()
        self.heads = heads
        self.to_qkv = nn.Linear(dim, dim * 3, bias=False)
        self.to_out = nn.Linear(dim, dim)
        nn.init.zeros_(self.to_out.weight)
        nn.init.zeros_(self.to_out.bias)
        self.attn_dropout = nn.Dropout(attn_dropout)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = (t.view(b, n, self.heads, -1).transpose(1, 2) for t in self.to_qkv(x).chunk(3, dim=-1))
        attn = (q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5).softmax(dim=-1)
        out = (self.attn_dropout(attn) @ v).transpose(1, 2).reshape(b, n, d)
        return self.to_out(out)


class Enformer(nn.Module):
    def __init__(self, dim=32, depth=4, tracks=6, dropout_rate=0.4, use_checkpointing=False):
        super().__init__()
        self.use_checkpointing = use_checkpointing
        self.stem = nn.Conv1d(4, dim, 5, padding=2)
        self.transformer = nn.Sequential(*[nn.Sequential(
            Residual(nn.Sequential(nn.LayerNorm(dim), Attention(dim), nn.Dropout(dropout_rate))),
            Residual(nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim * 2), nn.Dropout(dropout_rate), nn.ReLU(),
                                   nn.Linear(dim * 2, dim), nn.Dropout(dropout_rate)))
        ) for _ in range(depth)])
        self.head = nn.Sequential(nn.Linear(dim, tracks), nn.Softplus())

    def forward(self, seq, target):
        x = self.stem(seq.transpose(1, 2)).transpose(1, 2)
        if self.use_checkpointing:
            x = checkpoint_sequential(self.transformer, len(self.transformer), x, use_reentrant=False)
        else:
            x = self.transformer(x)
        pred = self.head(x)
        return (pred - target * torch.log(pred + 1e-6)).mean()  # poisson loss


# %%
model = Enformer(use_checkpointing=True)
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
seq = torch.nn.functional.one_hot(torch.randint(0, 4, (6, 40)), 4).float()
target = 3 * torch.rand(6, 1, 6) + 2 * seq[..., :1]

# %%
losses = []
for _ in range(30):
    loss = model(seq, target)
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
assert losses[-1] < losses[0]

# %%
# the same dropout is drawn when a layer runs for the second time
grads = []
for use_checkpointing in (True, False):
    model.use_checkpointing = use_checkpointing
    model.zero_grad()
    torch.manual_seed(7)
    model(seq, target).backward()
    grads.append([p.grad.clone() for p in model.parameters()])
assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(*grads))
