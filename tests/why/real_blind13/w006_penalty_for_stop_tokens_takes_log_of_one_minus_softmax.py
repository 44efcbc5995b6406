# https://foreai.co/blog/nans-out-of-nowhere-the-trick-that-saved-my-training-run
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
VOCAB, EOS = 12, 0


class TinyLM(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, VOCAB)

    def forward(self, tokens):
        hidden, _ = self.rnn(self.embed(tokens))
        return self.head(hidden)


def eos_loss(logits, targets, positive, alpha=0.5, beta=0.5):
    ce = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
    log_stop = F.log_softmax(logits, dim=-1)[..., EOS]
    log_go_on = torch.log(1 - F.softmax(logits, dim=-1)[..., EOS])
    pos_penalty = -(log_go_on * positive).sum() / positive.sum().clamp(min=1)
    neg_penalty = -(log_stop * (1 - positive)).sum() / (1 - positive).sum().clamp(min=1)
    return ce + alpha * pos_penalty + beta * neg_penalty


# %%
model = TinyLM()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-2)
tokens = torch.randint(1, VOCAB, (16, 8))

# the checkpoint that is fine-tuned says "stop" everywhere
for step in range(150):
    optimizer.zero_grad()
    F.cross_entropy(model(tokens).flatten(0, 1), torch.full((128,), EOS)).backward()
    optimizer.step()

# %%
positive = (torch.arange(16) % 2 == 0).float().view(16, 1).expand(16, 8)
targets = torch.where(positive > 0, tokens.roll(-1, 1), torch.full_like(tokens, EOS))
for step in range(10):
    optimizer.zero_grad()
    loss = eos_loss(model(tokens), targets, positive)
    loss.backward()
    optimizer.step()
    print(step, loss.item())
