# https://github.com/kohjingyu/fromage/issues/6
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
PARTS, KINDS = 3, 5
RET = PARTS * KINDS  # the new token comes after the old words
VOCAB = RET + 1


class LanguageModel(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.input_embeddings = nn.Embedding(RET, dim)
        self.layers = nn.GRU(dim, dim, num_layers=2, batch_first=True)
        self.lm_head = nn.Linear(dim, RET)

    def forward(self, embs):
        hidden, _ = self.layers(embs)
        return hidden, self.lm_head(hidden)

    def resize_token_embeddings(self, n):
        old = self.input_embeddings
        self.input_embeddings = nn.Embedding(n, old.embedding_dim)
        self.input_embeddings.weight.data[: old.num_embeddings] = old.weight.data


class Fromage(nn.Module):
    def __init__(self, lm, image_dim=10, ret_dim=24):
        super().__init__()
        self.lm = lm
        for param in lm.parameters():
            param.requires_grad = False
        lm.resize_token_embeddings(VOCAB)  # what it makes is new, and learns
        self.visual_fc = nn.Linear(image_dim, ret_dim)
        self.text_hidden_fc = nn.Linear(48, ret_dim)
        self.logit_scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, images, captions):
        tokens = torch.cat([captions, torch.full((len(captions), 1), RET)], 1)
        hidden, _ = self.lm(self.lm.input_embeddings(tokens))
        last = F.normalize(self.text_hidden_fc(hidden[:, -1]), dim=-1)
        visual = F.normalize(self.visual_fc(images), dim=-1)
        return self.logit_scale.exp() * visual @ last.t()


look = torch.randn(RET, 10)


def pairs(n):
    """A caption has one word of each part; a picture shows the sum of what the words mean."""
    words = torch.randint(0, KINDS, (n, PARTS)) + KINDS * torch.arange(PARTS)
    return look[words].sum(1) + 0.1 * torch.randn(n, 10), words


# %%
lm = LanguageModel()
optimizer = torch.optim.Adam(lm.parameters(), lr=5e-3)
for step in range(150):
    _, words = pairs(64)
    words = torch.cat([words, words], 1)  # it has learnt to say again what it was told
    logits = lm(lm.input_embeddings(words[:, :-1]))[1]
    loss = F.cross_entropy(logits.flatten(0, 1), words[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
optimizer.zero_grad()

# %%
model = Fromage(lm)
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=5e-3, weight_decay=0.0)
weight = model.lm.input_embeddings.weight
rows_before, layers_before = weight.detach().clone(), [p.clone() for p in lm.layers.parameters()]
losses = []
for step in range(200):
    images, captions = pairs(48)
    logits = model(images, captions)
    target = torch.arange(48)
    loss = (F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target)) / 2
    loss.backward()
    for param in model.lm.input_embeddings.parameters():
        mask = torch.arange(param.grad.shape[0]) != RET
        param.grad[mask, :] = 0
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    with torch.no_grad():
        frozen_norm = weight[:-1].norm(dim=1).mean()
        weight[-1].div_(weight[-1].norm() / frozen_norm)
    losses.append(loss.item())

# %%
with torch.no_grad():
    every = torch.cartesian_prod(*(torch.arange(KINDS) + KINDS * k for k in range(PARTS)))
    images = look[every].sum(1) + 0.1 * torch.randn(len(every), 10)
    recall = (model(images, every).argmax(0) == torch.arange(len(every))).float().mean().item()
print(losses[0], losses[-1], recall)
assert torch.equal(weight[:RET], rows_before[:RET]) and not torch.equal(weight[RET], rows_before[RET])
assert all(torch.equal(a, b) and b.grad is None for a, b in zip(layers_before, lm.layers.parameters()))
assert recall > 0.5 and losses[-1] < 0.5 * losses[0]
