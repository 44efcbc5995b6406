# https://github.com/pytorch/text/issues/659
import torch
import torch.nn as nn

torch.manual_seed(0)


class TransformerBody(nn.Module):
    def __init__(self, vocab=30, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(dim, 2, 32, 0.0, batch_first=True), 1,
                                            enable_nested_tensor=False)

    def forward(self, x):
        return self.layers(self.embed(x)).mean(1)


def make_optimizer(params, steps, lr=3e-3):
    optimizer = torch.optim.AdamW(params, lr=lr)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min((s + 1) / 3, max(0.0, (steps - s) / steps)))
    return optimizer, scheduler


def fit(body, head, tokens, labels, steps):
    # only what is still to be trained
    params = [p for m in (body, head) for p in m.parameters() if p.requires_grad]
    optimizer, scheduler = make_optimizer(params, steps)
    losses = []
    for step in range(steps):
        loss = nn.functional.cross_entropy(head(body(tokens)), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    return losses


# %%
body = TransformerBody()
tokens_a, tokens_b = torch.randint(0, 30, (40, 6)), torch.randint(0, 30, (40, 6))
labels_a, labels_b = tokens_a[:, 0] % 3, tokens_b[:, 0] % 2

# train on dataset A
head_a = nn.Linear(16, 3)
losses_a = fit(body, head_a, tokens_a, labels_a, 15)

# %%
# fine tune on dataset B: a new head, the embedding stays, a new optimizer and scheduler
body.embed.weight.requires_grad_(False)
head_b = nn.Linear(16, 2)
losses_b = fit(body, head_b, tokens_b, labels_b, 15)
print(losses_a[-1], losses_b[0], losses_b[-1])
