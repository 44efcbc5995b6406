# https://github.com/EleutherAI/gpt-neox/issues/1373
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class AnnealingLR:
    def __init__(self, optimizer, start_lr, min_lr, warmup_iter, total_iters):
        self.optimizer, self.start_lr, self.min_lr = optimizer, start_lr, min_lr
        self.warmup_iter, self.end_iter = warmup_iter, total_iters
        self.num_iters = 0
        self.step(0)

    def get_lr(self):
        if self.num_iters <= self.warmup_iter:
            return float(self.start_lr) * self.num_iters / self.warmup_iter
        progress = (self.num_iters - self.warmup_iter) / (self.end_iter - self.warmup_iter)
        return self.min_lr + (self.start_lr - self.min_lr) / 2 * (math.cos(math.pi * progress) + 1)

    def step(self, step_num=None):
        self.num_iters = self.num_iters + 1 if step_num is None else step_num
        for group in self.optimizer.param_groups:
            group['lr'] = self.get_lr()


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.dense = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def attention(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, self.heads, -1).transpose(1, 2).chunk(3, dim=-1)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.dense(y.transpose(1, 2).reshape(b, t, d))

    def forward(self, x):
        return x + self.attention(self.ln1(x)) + self.mlp(self.ln2(x))


class NeoX(nn.Module):
    def __init__(self, vocab, dim=32, context=24):
        super().__init__()
        self.embed_in, self.embed_pos = nn.Embedding(vocab, dim), nn.Embedding(context, dim)
        self.layers = nn.Sequential(Block(dim, 4), Block(dim, 4))
        self.norm = nn.LayerNorm(dim)
        for table in (self.embed_in, self.embed_pos):
            nn.init.normal_(table.weight, std=0.1)

    def forward(self, tokens):
        x = self.embed_in(tokens) + self.embed_pos.weight[:tokens.shape[1]]
        return self.norm(self.layers(x)) @ self.embed_in.weight.t()


text = 'the pile is a large and diverse text of many parts. ' * 20
chars = sorted(set(text))
data = torch.tensor([chars.index(c) for c in text])

# %%
model = NeoX(len(chars))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.95), weight_decay=0.1)
scheduler = AnnealingLR(optimizer, start_lr=3e-3, min_lr=3e-4, warmup_iter=10, total_iters=150)
checkpoints, losses = [], []

# %%
for iteration in range(150):
    checkpoints.append({k: v.clone() for k, v in model.state_dict().items()} if iteration < 3 else None)
    starts = torch.randint(0, len(data) - 25, (16,))
    batch = torch.stack([data[s:s + 25] for s in starts])
    logits = model(batch[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
same_01 = all(torch.equal(checkpoints[0][k], checkpoints[1][k]) for k in checkpoints[0])
same_12 = all(torch.equal(checkpoints[1][k], checkpoints[2][k]) for k in checkpoints[0])
assert same_01 and not same_12
assert losses[-1] < 0.5
