# https://github.com/ironjr/grokfast/pull/3
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def gradfilter_ema(m, grads=None, alpha=0.98, lamb=2.0):
    if grads is None:
        grads = {n: p.grad.data.detach() for n, p in m.named_parameters() if p.requires_grad}

    for n, p in m.named_parameters():
        if p.requires_grad:
            grads[n] = grads[n] * alpha + p.grad.data.detach() * (1 - alpha)
            p.grad.data = p.grad.data + grads[n] * lamb
    return grads


class Block(nn.Module):
    """Causal transformer block"""

    def __init__(self, dim, num_heads):
        super().__init__()
        self.ln_1 = nn.LayerNorm(dim)
        self.ln_2 = nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, num_heads)
        self.mlp = nn.Sequential(nn.Linear(dim, dim * 4), nn.GELU(), nn.Linear(dim * 4, dim))

    def forward(self, x):
        attn_mask = torch.triu(torch.full((len(x), len(x)), -float("Inf")), diagonal=1)
        x = self.ln_1(x)
        a, _ = self.attn(x, x, x, attn_mask=attn_mask, need_weights=False)
        x = x + a
        return x + self.mlp(self.ln_2(x))


class Decoder(nn.Module):
    """Causal Transformer decoder"""

    def __init__(self, dim=32, num_layers=2, num_heads=4, num_tokens=97, seq_len=5):
        super().__init__()
        self.token_embeddings = nn.Embedding(num_tokens, dim)
        self.position_embeddings = nn.Embedding(seq_len, dim)
        self.layers = nn.ModuleList(Block(dim, num_heads) for _ in range(num_layers))
        self.ln_f = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, num_tokens, bias=False)
        self.value_head = nn.Linear(dim, 1)

    def forward(self, x):
        h = self.token_embeddings(x)
        positions = torch.arange(x.shape[0], device=x.device).unsqueeze(-1)
        h = h + self.position_embeddings(positions).expand_as(h)
        for layer in self.layers:
            h = layer(h)
        return self.head(self.ln_f(h))


def multiplication_mod_p_data(p, eq_token, op_token):
    x, y = torch.cartesian_prod(torch.arange(p), torch.arange(1, p)).T
    eq = torch.ones_like(x) * eq_token
    op = torch.ones_like(x) * op_token
    return torch.stack([x, op, y, eq, x * y % p])


p = 13
model = Decoder(num_tokens=p + 2)
data = multiplication_mod_p_data(p, p, p + 1)
train_idx, valid_idx = torch.randperm(data.shape[1]).split(data.shape[1] // 2)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.98))

# %%
grads = None
for e in range(3):
    train_data = data[:, train_idx[torch.randperm(len(train_idx))]]
    for input in torch.split(train_data, 32, dim=1):
        logits = model(input[:-1])
        loss = F.cross_entropy(logits[-1], input[-1])
        model.zero_grad()
        loss.backward()
        grads = gradfilter_ema(model, grads=grads, alpha=0.98, lamb=2.0)
        optimizer.step()
    print(e, loss.item())
