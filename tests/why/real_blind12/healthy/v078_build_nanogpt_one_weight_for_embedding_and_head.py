# https://github.com/karpathy/build-nanogpt/issues/89
import math
import torch
import torch.nn as nn
from torch.nn import functional as F

torch.manual_seed(1337)
n_embd, n_head, n_layer, block_size, vocab_size = 32, 4, 2, 24, 27


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)
        self.c_attn, self.c_proj = nn.Linear(n_embd, 3 * n_embd), nn.Linear(n_embd, n_embd)
        self.mlp = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(approximate='tanh'), nn.Linear(4 * n_embd, n_embd))

    def attn(self, x):
        B, T, C = x.size()
        q, k, v = (z.view(B, T, n_head, C // n_head).transpose(1, 2) for z in self.c_attn(x).split(n_embd, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).reshape(B, T, C))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.transformer = nn.ModuleDict(dict(
            wte=nn.Embedding(vocab_size, n_embd), wpe=nn.Embedding(block_size, n_embd),
            h=nn.ModuleList([Block() for _ in range(n_layer)]), ln_f=nn.LayerNorm(n_embd)))
        self.lm_head = nn.Linear(n_embd, vocab_size, bias=False)
        # weight sharing scheme
        self.transformer.wte.weight = self.lm_head.weight
        self.apply(self._init_weights)

    def _init_weights(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            torch.nn.init.zeros_(module.bias)

    def forward(self, idx, targets):
        x = self.transformer.wte(idx) + self.transformer.wpe(torch.arange(idx.size(1)))
        for block in self.transformer.h:
            x = block(x)
        logits = self.lm_head(self.transformer.ln_f(x))
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))

    def configure_optimizers(self, weight_decay, learning_rate):
        optim_groups = [{'params': [p for p in self.parameters() if p.dim() >= 2], 'weight_decay': weight_decay},
                        {'params': [p for p in self.parameters() if p.dim() < 2], 'weight_decay': 0.0}]
        return torch.optim.AdamW(optim_groups, lr=learning_rate, betas=(0.9, 0.95), eps=1e-8)


def get_lr(it, max_lr=6e-3, warmup_steps=10, max_steps=80):
    if it < warmup_steps:
        return max_lr * (it + 1) / warmup_steps
    return 0.1 * max_lr + 0.45 * max_lr * (1.0 + math.cos(math.pi * (it - warmup_steps) / (max_steps - warmup_steps)))


# %%
text = "the weights of the embedding are the weights of the head, and the head is the embedding. " * 12
tokens = torch.tensor([ord(c) - 96 if 'a' <= c <= 'z' else 0 for c in text])
model = GPT()
optimizer = model.configure_optimizers(weight_decay=0.1, learning_rate=6e-3)
grad_accum_steps, losses = 2, []

# %%
for step in range(80):
    optimizer.zero_grad()
    loss_accum = 0.0
    for micro_step in range(grad_accum_steps):
        ix = torch.randint(len(tokens) - block_size - 1, (8,))
        x = torch.stack([tokens[i:i + block_size] for i in ix])
        y = torch.stack([tokens[i + 1:i + 1 + block_size] for i in ix])
        logits, loss = model(x, y)
        loss = loss / grad_accum_steps
        loss_accum += loss.item()
        loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    for param_group in optimizer.param_groups:
        param_group['lr'] = get_lr(step)
    optimizer.step()
    losses.append(loss_accum)
print(losses[0], losses[-1], norm.item())
assert abs(losses[0] - math.log(vocab_size)) < 0.2
assert losses[-1] < 0.5 * losses[0]
assert model.transformer.wte.weight is model.lm_head.weight
