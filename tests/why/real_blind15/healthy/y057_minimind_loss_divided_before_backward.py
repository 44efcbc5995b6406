# https://github.com/jingyaogong/minimind/issues/335
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
VOCAB, PAD, LENGTH = 12, 0, 12


class PretrainDataset(Dataset):
    """Counting up in steps of one or two, padded at the end."""

    def __init__(self, n):
        self.samples = []
        for _ in range(n):
            first, step, size = (int(torch.randint(*r, (1,))) for r in ((0, 11), (1, 3), (6, LENGTH + 2)))
            self.samples.append([1 + (first + step * i) % (VOCAB - 1) for i in range(size)])

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        ids = torch.tensor(self.samples[index] + [PAD] * (LENGTH + 1 - len(self.samples[index])))
        return ids[:-1], ids[1:], (ids[1:] != PAD).long()


class MOEFeedForward(nn.Module):
    def __init__(self, dim, experts=2):
        super().__init__()
        self.gate = nn.Linear(dim, experts, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(dim, 2 * dim), nn.SiLU(), nn.Linear(2 * dim, dim)) for _ in range(experts)
        )

    def forward(self, x):
        scores = self.gate(x).softmax(-1)
        chosen = F.one_hot(scores.argmax(-1), scores.size(-1)).float()
        self.aux_loss = 0.01 * scores.size(-1) * (scores.mean((0, 1)) * chosen.mean((0, 1))).sum()
        return sum(scores[..., i:i + 1] * expert(x) for i, expert in enumerate(self.experts))


class MiniMindLM(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.tok_embeddings = nn.Embedding(VOCAB, dim)
        self.pos = nn.Parameter(0.02 * torch.randn(LENGTH, dim))
        self.norm1, self.norm2, self.norm = nn.LayerNorm(dim), nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attention = nn.MultiheadAttention(dim, 4, batch_first=True)
        self.feed_forward = MOEFeedForward(dim)
        self.output = nn.Linear(dim, VOCAB, bias=False)

    def forward(self, X):
        h = self.tok_embeddings(X) + self.pos
        mask = torch.triu(torch.ones(LENGTH, LENGTH, dtype=torch.bool), 1)
        n = self.norm1(h)
        h = h + self.attention(n, n, n, attn_mask=mask, need_weights=False)[0]
        h = h + self.feed_forward(self.norm2(h))
        return self.output(self.norm(h)), self.feed_forward.aux_loss


def get_lr(current_step, total_steps, lr):
    return lr / 10 + 0.5 * lr * (1 + math.cos(math.pi * current_step / total_steps))


# %%
epochs, accumulation_steps, learning_rate, grad_clip = 4, 4, 3e-3, 1.0
train_loader = DataLoader(PretrainDataset(1280), batch_size=16)
iter_per_epoch = len(train_loader)
model = MiniMindLM()
scaler = torch.amp.GradScaler('cpu', enabled=False)
optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
loss_fct = nn.CrossEntropyLoss(reduction='none')
logged = []

# %%
for epoch in range(epochs):
    for step, (X, Y, loss_mask) in enumerate(train_loader):
        for param_group in optimizer.param_groups:
            param_group['lr'] = get_lr(epoch * iter_per_epoch + step, epochs * iter_per_epoch, learning_rate)
        with torch.autocast('cpu', dtype=torch.bfloat16):
            logits, aux_loss = model(X)
            loss = loss_fct(logits.float().view(-1, VOCAB), Y.view(-1)).view(Y.size())
            loss = (loss * loss_mask).sum() / loss_mask.sum()
            loss += aux_loss
            loss = loss / accumulation_steps
        scaler.scale(loss).backward()
        if (step + 1) % accumulation_steps == 0:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), grad_clip)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
        if step % 20 == 0:
            logged.append(loss.item() * accumulation_steps)

# %%
model.eval()
X, Y, mask = next(iter(DataLoader(PretrainDataset(200), batch_size=200)))
with torch.no_grad():
    hits = (model(X)[0].argmax(-1) == Y)[:, 1:][mask[:, 1:] == 1].float().mean().item()
print(logged[0], logged[-1], hits)
assert logged[-1] < 0.4 * logged[0] and hits > 0.9
assert all(p.grad is None for p in model.parameters())  # cleared after the last step
