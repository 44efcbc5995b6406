# https://github.com/pytorch/pytorch/issues/41508
import torch
import torch.nn as nn

torch.manual_seed(0)


def local_mask(length, width=2):
    """Each position sees itself and the width - 1 positions before it"""
    i = torch.arange(length)
    distance = i.unsqueeze(1) - i.unsqueeze(0)
    allowed = (distance >= 0) & (distance < width)
    return torch.zeros(length, length).masked_fill(~allowed, float("-inf"))


class LocalEncoder(nn.Module):
    def __init__(self, vocab=12, dim=8, heads=2, classes=3):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.attn = nn.MultiheadAttention(dim, heads)
        self.out = nn.Linear(dim, classes)

    def forward(self, tokens, key_padding_mask, attn_mask):
        x = self.embed(tokens).transpose(0, 1)
        y, weights = self.attn(x, x, x, key_padding_mask=key_padding_mask, attn_mask=attn_mask)
        return self.out(y), weights


lengths = torch.tensor([6, 4])
tokens = torch.zeros(2, 6, dtype=torch.long)
for row, length in enumerate(lengths):
    tokens[row, :length] = torch.randint(1, 12, (int(length),))
labels = torch.randint(0, 3, (6, 2))
key_padding_mask = tokens == 0
attn_mask = local_mask(6)

# %%
model = LocalEncoder()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
logits, weights = model(tokens, key_padding_mask, attn_mask)
valid = ~key_padding_mask.transpose(0, 1)
loss = nn.functional.cross_entropy(logits[valid], labels[valid])
print(loss.item())

# %%
optimizer.zero_grad()
loss.backward()
for name, p in model.named_parameters():
    print(name, p.grad.norm().item())
optimizer.step()
