# https://github.com/sunlicai/MAE-DFER/issues/15
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Attention(nn.Module):
    def __init__(self, dim, num_heads=2):
        super().__init__()
        self.num_heads, self.scale = num_heads, (dim // num_heads) ** -0.5
        self.qkv = nn.Linear(dim, dim * 3, bias=False)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        B, N, C = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, self.num_heads, C // self.num_heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0] * self.scale, qkv[1], qkv[2]
        attn = (q @ k.transpose(-2, -1)).softmax(dim=-1)
        return self.proj((attn @ v).transpose(1, 2).reshape(B, N, C))


class LGBlock(nn.Module):
    """Attention within each region, then between the messenger tokens of the regions."""

    def __init__(self, dim=16):
        super().__init__()
        self.first_attn = Attention(dim)
        self.second_attn = Attention(dim)
        self.norm = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 32), nn.GELU(), nn.Linear(32, dim))

    def forward(self, x, b):
        # x: (b*n, 1 + s, c), the messenger token comes first
        n, c = x.shape[0] // b, x.shape[-1]
        x = x + self.first_attn(x)
        messenger_tokens = x[:, 0].view(b, n, c)
        messenger_tokens = messenger_tokens + self.second_attn(messenger_tokens)  # attn on 'n' dim
        x[:, 0] = messenger_tokens.reshape(b * n, c)
        return x + self.mlp(self.norm(x))


# %%
block, head = LGBlock(), nn.Linear(16, 7)
optimizer = torch.optim.AdamW([*block.parameters(), *head.parameters()], lr=1e-3)
x, labels = torch.randn(4 * 6, 1 + 9, 16), torch.randint(0, 7, (4,))

# %%
for step in range(2):
    out = block(x, b=4)
    logits = head(out.view(4, -1, 16).mean(1))
    loss = F.cross_entropy(logits, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
