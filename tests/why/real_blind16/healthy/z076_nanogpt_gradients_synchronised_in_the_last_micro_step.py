# https://github.com/karpathy/build-nanogpt/pull/30
import math
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

torch.manual_seed(1337)
if not dist.is_initialized():
    dist.init_process_group('gloo', store=dist.HashStore(), rank=0, world_size=1)
VOCAB, T, B, GRAD_ACCUM_STEPS = 7, 8, 16, 4


class CausalSelfAttention(nn.Module):
    def __init__(self, n_embd, n_head):
        super().__init__()
        self.c_attn, self.c_proj = nn.Linear(n_embd, 3 * n_embd), nn.Linear(n_embd, n_embd)
        self.n_head = n_head

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (part.view(b, t, self.n_head, c // self.n_head).transpose(1, 2) for part in self.c_attn(x).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).reshape(b, t, c))


class Block(nn.Module):
    def __init__(self, n_embd, n_head):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)
        self.attn = CausalSelfAttention(n_embd, n_head)
        self.mlp = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, n_embd=48, n_head=4, n_layer=2):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(VOCAB, n_embd), nn.Embedding(T, n_embd)
        self.h = nn.ModuleList(Block(n_embd, n_head) for _ in range(n_layer))
        self.ln_f, self.lm_head = nn.LayerNorm(n_embd), nn.Linear(n_embd, VOCAB, bias=False)
        self.wte.weight = self.lm_head.weight
        nn.init.normal_(self.wte.weight, std=0.02)
        nn.init.normal_(self.wpe.weight, std=0.02)

    def forward(self, idx, targets=None):
        x = self.wte(idx) + self.wpe(torch.arange(idx.shape[1]))
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        loss = F.cross_entropy(logits.view(-1, VOCAB), targets.reshape(-1)) if targets is not None else None
        return logits, loss


def next_batch():
    """Rows that count on in steps of one to three; the first two numbers tell which."""
    rows = (torch.randint(0, VOCAB, (B, 1)) + torch.randint(1, 4, (B, 1)) * torch.arange(T + 1)) % VOCAB
    return rows[:, :-1], rows[:, 1:]


def get_lr(it, warmup_steps=10, max_steps=90, max_lr=4e-3):
    if it < warmup_steps:
        return max_lr * (it + 1) / warmup_steps
    ratio = (it - warmup_steps) / (max_steps - warmup_steps)
    return max_lr * (0.1 + 0.45 * (1 + math.cos(math.pi * ratio)))


# %%
raw_model = GPT()
model = DDP(raw_model)
decay = [p for p in raw_model.parameters() if p.dim() >= 2]
no_decay = [p for p in raw_model.parameters() if p.dim() < 2]
optimizer = torch.optim.AdamW([{'params': decay, 'weight_decay': 0.1}, {'params': no_decay, 'weight_decay': 0.0}], lr=4e-3, betas=(0.9, 0.95))
losses, error = [], None

# %%
for step in range(90):
    optimizer.zero_grad()
    loss_accum, seen = 0.0, []
    for micro_step in range(GRAD_ACCUM_STEPS):
        x, y = next_batch()
        seen.append((x, y))
        # set before the forward pass as well, which prepares the reduction
        model.require_backward_grad_sync = micro_step == GRAD_ACCUM_STEPS - 1
        logits, loss = model(x, y)
        loss = loss / GRAD_ACCUM_STEPS
        loss_accum += loss.detach()
        loss.backward()
    if error is None:
        x, y = (torch.cat(parts) for parts in zip(*seen))
        whole = torch.autograd.grad(raw_model(x, y)[1], list(raw_model.parameters()))
        error = max((p.grad - g).abs().max().item() for p, g in zip(raw_model.parameters(), whole))
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    for param_group in optimizer.param_groups:
        param_group['lr'] = get_lr(step)
    optimizer.step()
    losses.append(loss_accum.item())

# %%
raw_model.eval()
with torch.no_grad():
    x, y = next_batch()
    accuracy = (raw_model(x)[0].argmax(-1) == y)[:, 1:].float().mean().item()
print(losses[0], losses[-1], error, accuracy)
assert error < 1e-5
assert losses[-1] < 0.4 * losses[0] and accuracy > 0.9
dist.destroy_process_group()
