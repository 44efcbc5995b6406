# https://github.com/karpathy/makemore/blob/master/makemore.py
import math
from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.nn import functional as F
from torch.utils.data import Dataset
from torch.utils.data.dataloader import DataLoader

torch.manual_seed(0)


@dataclass
class GPTConfig:
    n_layer: int = 2
    n_head: int = 2
    n_embd: int = 32
    vocab_size: int = None
    block_size: int = 7


class CausalSelfAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd)
        self.register_buffer("bias", torch.tril(torch.ones(config.block_size, config.block_size)).view(1, 1, config.block_size, config.block_size))
        self.n_head = config.n_head
        self.n_embd = config.n_embd

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = [t.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for t in self.c_attn(x).split(self.n_embd, dim=2)]
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float('-inf'))
        att = F.softmax(att, dim=-1)
        y = (att @ v).transpose(1, 2).contiguous().view(B, T, C)
        return self.c_proj(y)


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.ln_1 = nn.LayerNorm(config.n_embd)
        self.attn = CausalSelfAttention(config)
        self.ln_2 = nn.LayerNorm(config.n_embd)
        self.mlp = nn.ModuleDict(dict(
            c_fc=nn.Linear(config.n_embd, 4 * config.n_embd), c_proj=nn.Linear(4 * config.n_embd, config.n_embd), act=nn.GELU()))
        m = self.mlp
        self.mlpf = lambda x: m.c_proj(m.act(m.c_fc(x)))  # MLP forward

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlpf(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.block_size = config.block_size
        self.transformer = nn.ModuleDict(dict(
            wte=nn.Embedding(config.vocab_size, config.n_embd), wpe=nn.Embedding(config.block_size, config.n_embd),
            h=nn.ModuleList([Block(config) for _ in range(config.n_layer)]), ln_f=nn.LayerNorm(config.n_embd)))
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)

    def forward(self, idx, targets=None):
        pos = torch.arange(0, idx.size(1), dtype=torch.long).unsqueeze(0)
        x = self.transformer.wte(idx) + self.transformer.wpe(pos)
        for block in self.transformer.h:
            x = block(x)
        logits = self.lm_head(self.transformer.ln_f(x))
        loss = None
        if targets is not None:
            loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)
        return logits, loss

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        for _ in range(max_new_tokens):
            logits, _ = self(idx[:, -self.block_size:])
            idx_next = torch.multinomial(F.softmax(logits[:, -1, :], dim=-1), num_samples=1)
            idx = torch.cat((idx, idx_next), dim=1)
        return idx


class CharDataset(Dataset):
    def __init__(self, words):
        self.words = words

    def __len__(self):
        return len(self.words)

    def __getitem__(self, idx):
        ix = torch.tensor([chars.index(w) + 1 for w in self.words[idx]], dtype=torch.long)
        x, y = torch.zeros(7, dtype=torch.long), torch.zeros(7, dtype=torch.long)
        x[1:1 + len(ix)] = ix
        y[:len(ix)] = ix
        y[len(ix) + 1:] = -1  # index -1 will mask the loss at the inactive locations
        return x, y


@torch.inference_mode()
def evaluate(model, dataset, batch_size=50):
    model.eval()
    losses = [model(X, Y)[1].item() for X, Y in DataLoader(dataset, shuffle=True, batch_size=batch_size)]
    model.train()  # reset model back to training mode
    return torch.tensor(losses).mean().item()


# %%
consonants, vowels = 'bdgklmnprst', 'aeiou'
words = []
for _ in range(1000):
    n = int(torch.randint(1, 4, (1,)))
    words.append(''.join(consonants[int(torch.randint(11, (1,)))] + vowels[int(torch.randint(5, (1,)))] for _ in range(n)))
chars = sorted(list(set(''.join(words))))
train_dataset, test_dataset = CharDataset(words[:900]), CharDataset(words[900:])

model = GPT(GPTConfig(vocab_size=len(chars) + 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.99), weight_decay=0.01, eps=1e-8)
train_sampler = torch.utils.data.RandomSampler(train_dataset, replacement=True, num_samples=int(1e10))
data_iter = iter(DataLoader(train_dataset, batch_size=32, num_workers=0, sampler=train_sampler))

# %%
first = evaluate(model, test_dataset)
for step in range(190):
    X, Y = next(data_iter)
    logits, loss = model(X, Y)
    model.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()

# %%
test_loss = evaluate(model, test_dataset)
samples = []
for row in model.generate(torch.zeros(50, 1, dtype=torch.long), 6)[:, 1:].tolist():
    samples.append(''.join(chars[i - 1] for i in (row[:row.index(0)] if 0 in row else row)))
alternates = [len(w) % 2 == 0 and all((c in vowels) == (i % 2 == 1) for i, c in enumerate(w)) for w in samples]
share = sum(alternates) / 50
print(first, test_loss, samples[:8], share)
assert share > 0.85 and test_loss < 0.8 * first
