# https://github.com/karpathy/nanoGPT/issues/605
import math

import torch
import torch.nn as nn
from torch.nn import functional as F

torch.manual_seed(1337)
gradient_accumulation_steps, block_size, batch_size, vocab_size, n_embd = 4, 8, 3, 17, 16
learning_rate, grad_clip, max_iters = 1e-3, 1.0, 2


class CausalSelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_attn, self.c_proj = nn.Linear(n_embd, 3 * n_embd), nn.Linear(n_embd, n_embd)

    def forward(self, x):
        q, k, v = self.c_attn(x).split(n_embd, dim=2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(n_embd))
        att = att.masked_fill(torch.tril(torch.ones(x.size(1), x.size(1))) == 0, float('-inf'))
        return self.c_proj(F.softmax(att, dim=-1) @ v)


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab_size, n_embd), nn.Embedding(block_size, n_embd)
        self.ln_1, self.attn, self.ln_f = nn.LayerNorm(n_embd), CausalSelfAttention(), nn.LayerNorm(n_embd)
        self.lm_head = nn.Linear(n_embd, vocab_size, bias=False)
        self.wte.weight = self.lm_head.weight  # weight tying

    def forward(self, idx, targets):
        x = self.wte(idx) + self.wpe(torch.arange(idx.size(1)))
        logits = self.lm_head(self.ln_f(x + self.attn(self.ln_1(x))))
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))


# %%
model = GPT()
optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
data = torch.randint(vocab_size, (500,))


def get_batch():
    ix = torch.randint(len(data) - block_size, (batch_size,))
    return torch.stack([data[i:i + block_size] for i in ix]), torch.stack([data[i + 1:i + 1 + block_size] for i in ix])


micro_batches = [[get_batch() for _ in range(gradient_accumulation_steps)] for _ in range(max_iters)]
X, Y = (torch.cat(z) for z in zip(*micro_batches[0]))
whole = torch.autograd.grad(model(X, Y)[1], list(model.parameters()))  # one big batch instead

# %%
accumulated = None
for iter_num in range(max_iters):
    for micro_step in range(gradient_accumulation_steps):
        X, Y = micro_batches[iter_num][micro_step]
        logits, loss = model(X, Y)
        loss = loss / gradient_accumulation_steps  # scale the loss to account for gradient accumulation
        loss.backward()
    if accumulated is None:
        accumulated = [p.grad.clone() for p in model.parameters()]
    nn.utils.clip_grad_norm_(model.parameters(), grad_clip)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    print(f"iter {iter_num}: loss {loss.item() * gradient_accumulation_steps:.4f}")
