# https://github.com/WisconsinAIVision/YoLLaVA/issues/2
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
WORDS, LENGTH, PREFIX = 20, 6, 4


class LanguageModel(nn.Module):
    def __init__(self, vocab, dim=32):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.lm_head = nn.Linear(dim, vocab, bias=False)

    def forward(self, input_ids):
        return self.lm_head(self.rnn(self.embed_tokens(input_ids))[0])

    def resize_token_embeddings(self, vocab):
        old_embed, old_head = self.embed_tokens.weight.data, self.lm_head.weight.data
        added, dim = vocab - len(old_embed), old_embed.size(1)
        self.embed_tokens = nn.Embedding(vocab, dim)
        self.lm_head = nn.Linear(dim, vocab, bias=False)
        self.embed_tokens.weight.data.copy_(torch.cat([old_embed, 0.1 * torch.randn(added, dim)]))
        self.lm_head.weight.data.copy_(torch.cat([old_head, 0.1 * torch.randn(added, dim)]))


def sentences(n):
    """The first word is said again at every second place."""
    first = torch.randint(1, WORDS, (n, 1))
    ids = torch.randint(1, WORDS, (n, LENGTH))
    ids[:, ::2] = first
    return ids


def lm_loss(model, ids, labels):
    logits = model(ids)[:, :-1]
    return F.cross_entropy(logits.reshape(-1, logits.size(-1)), labels[:, 1:].reshape(-1), ignore_index=-100)


# %%
model = LanguageModel(WORDS)
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
for _ in range(150):
    ids = sentences(64)
    labels = ids.clone()
    labels[:, 1::2] = -100
    optimizer.zero_grad()
    lm_loss(model, ids, labels).backward()
    optimizer.step()

# %%
sks = WORDS
placeholder_token_ids = list(range(WORDS, WORDS + 1 + PREFIX))
model.resize_token_embeddings(WORDS + 1 + PREFIX)
orig_embeds_params = model.embed_tokens.weight.data.clone()
orig_lm_params = model.lm_head.weight.data.clone()
rnn_before = [p.detach().clone() for p in model.rnn.parameters()]
model.requires_grad_(False)
model.embed_tokens.weight.requires_grad_(True)
model.lm_head.weight.requires_grad_(True)
optimizer = torch.optim.AdamW([model.embed_tokens.weight, model.lm_head.weight], lr=2e-2, weight_decay=1e-2)
index_no_updates = torch.ones(len(orig_embeds_params), dtype=torch.bool)
index_no_updates[placeholder_token_ids] = False


def personalized(n):
    """<token0> ... <token3>, a word, and the name of the one that is meant."""
    prompt = torch.tensor(placeholder_token_ids[1:]).expand(n, PREFIX)
    ids = torch.cat([prompt, torch.randint(1, WORDS, (n, 1)), torch.full((n, 1), sks)], 1)
    labels = ids.clone()
    labels[:, :-1] = -100
    return ids, labels


losses = []
for step in range(60):
    optimizer.zero_grad()
    loss = lm_loss(model, *personalized(16))
    loss.backward()
    optimizer.step()
    # only the rows of the new words may change
    with torch.no_grad():
        model.embed_tokens.weight[index_no_updates] = orig_embeds_params[index_no_updates]
        model.lm_head.weight[index_no_updates] = orig_lm_params[index_no_updates]
    losses.append(loss.item())

# %%
with torch.no_grad():
    ids, _ = personalized(100)
    named = (model(ids)[:, -2].argmax(-1) == sks).float().mean().item()
print(losses[0], losses[-1], named)
assert torch.equal(model.embed_tokens.weight[:WORDS], orig_embeds_params[:WORDS])
assert torch.equal(model.lm_head.weight[:WORDS], orig_lm_params[:WORDS])
assert not torch.equal(model.embed_tokens.weight[WORDS + 1:], orig_embeds_params[WORDS + 1:])
assert all(torch.equal(a, b) for a, b in zip(rnn_before, model.rnn.parameters()))
assert losses[-1] < 0.1 * losses[0] and named > 0.95
