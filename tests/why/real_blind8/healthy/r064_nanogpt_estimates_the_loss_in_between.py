# https://github.com/karpathy/nanoGPT/blob/master/train.py
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1337)
block_size, vocab_size, batch_size = 8, 20, 8
data = torch.randint(0, vocab_size, (400,))


class GPT(nn.Module):
    def __init__(self, n_embd=16):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab_size, n_embd), nn.Embedding(block_size, n_embd)
        self.h = nn.TransformerEncoderLayer(n_embd, 2, 32, dropout=0.1, batch_first=True)
        self.lm_head = nn.Linear(n_embd, vocab_size, bias=False)
        self.wte.weight = self.lm_head.weight

    def forward(self, idx, targets=None):
        x = self.wte(idx) + self.wpe(torch.arange(idx.size(1)))
        x = self.h(x, src_mask=nn.Transformer.generate_square_subsequent_mask(idx.size(1)), is_causal=True)
        logits = self.lm_head(x)
        return logits, F.cross_entropy(logits.view(-1, vocab_size), targets.reshape(-1))


def get_batch(split):
    ix = torch.randint(300, (batch_size,)) if split == 'train' else torch.randint(300, 400 - block_size - 1, (batch_size,))
    x = torch.stack([data[i:i+block_size] for i in ix])
    y = torch.stack([data[i+1:i+1+block_size] for i in ix])
    return x, y


# %%
model = GPT()
learning_rate, warmup_iters, eval_interval, max_iters, grad_clip = 1e-3, 2, 2, 4, 1.0
optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, betas=(0.9, 0.95))


# helps estimate an arbitrarily accurate loss over either split using many batches
@torch.no_grad()
def estimate_loss():
    out = {}
    model.eval()
    for split in ['train', 'val']:
        losses = torch.zeros(3)
        for k in range(3):
            X, Y = get_batch(split)
            logits, loss = model(X, Y)
            losses[k] = loss.item()
        out[split] = losses.mean()
    model.train()
    return out


# %%
X, Y = get_batch('train')
for iter_num in range(max_iters):
    # determine and set the learning rate for this iteration
    lr = learning_rate * (iter_num + 1) / (warmup_iters + 1) if iter_num < warmup_iters else learning_rate
    for param_group in optimizer.param_groups:
        param_group['lr'] = lr
    if iter_num % eval_interval == 0:
        losses = estimate_loss()
        print(f"step {iter_num}: train loss {losses['train']:.4f}, val loss {losses['val']:.4f}")
    logits, loss = model(X, Y)
    X, Y = get_batch('train')
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), grad_clip)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
