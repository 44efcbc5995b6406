# https://github.com/princeton-nlp/OptiPrompt/issues/2
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim import AdamW

torch.manual_seed(0)


class Embeddings(nn.Module):
    def __init__(self, vocab_size, hidden):
        super().__init__()
        self.word_embeddings = nn.Embedding(vocab_size, hidden)
        self.position_embeddings = nn.Embedding(16, hidden)

    def forward(self, ids):
        return self.word_embeddings(ids) + self.position_embeddings(torch.arange(ids.size(1)))


class BaseModel(nn.Module):
    def __init__(self, vocab_size, hidden):
        super().__init__()
        self.embeddings = Embeddings(vocab_size, hidden)
        layer = nn.TransformerEncoderLayer(hidden, 2, 2 * hidden, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1)

    def forward(self, ids):
        return self.encoder(self.embeddings(ids))


class Prober:
    def __init__(self, vocab_size=50, hidden=32):
        self.base_model = BaseModel(vocab_size, hidden)
        self.bias = torch.zeros(vocab_size)
        self.vocab_size, self.mask_id = vocab_size, 1

    def run_batch(self, ids, labels):
        hidden = self.base_model(ids)[ids == self.mask_id]
        logits = F.linear(hidden, self.base_model.embeddings.word_embeddings.weight.detach(), self.bias)
        return F.cross_entropy(logits, labels)


def prepare_for_dense_prompt(model, num_vectors):
    old = model.base_model.embeddings.word_embeddings
    new = nn.Embedding(model.vocab_size + num_vectors, old.embedding_dim)
    with torch.no_grad():
        new.weight[:model.vocab_size] = old.weight
    model.base_model.embeddings.word_embeddings = new
    model.bias = torch.zeros(model.vocab_size + num_vectors)
    return model.vocab_size


# %%
num_vectors = 5
model = Prober()
original_vocab_size = prepare_for_dense_prompt(model, num_vectors)
for param in model.base_model.parameters():
    param.requires_grad = False
model.base_model.embeddings.word_embeddings.weight.requires_grad = True
# Add word embeddings to the optimizer
optimizer = AdamW([{'params': model.base_model.embeddings.word_embeddings.parameters()}], lr=3e-2, weight_decay=0.0)
before = model.base_model.embeddings.word_embeddings.weight.detach().clone()

# %%
subjects = torch.arange(10, 18)
objects = torch.tensor([20, 20, 20, 20, 20, 21, 20, 20])
prompt = torch.arange(original_vocab_size, original_vocab_size + num_vectors).expand(8, -1)
ids = torch.cat([subjects[:, None], prompt, torch.full((8, 1), model.mask_id)], 1)

# %%
losses = []
for step in range(150):
    loss = model.run_batch(ids, objects)
    loss.backward()
    # set normal tokens' gradients to be zero
    for p in model.base_model.embeddings.word_embeddings.parameters():
        # only update new tokens
        p.grad[:original_vocab_size, :] = 0.0
    optimizer.step()
    model.base_model.zero_grad()
    losses.append(loss.item())

# %%
after = model.base_model.embeddings.word_embeddings.weight.detach()
same = torch.equal(after[:original_vocab_size], before[:original_vocab_size])
moved = (after[original_vocab_size:] - before[original_vocab_size:]).abs().max().item()
print(losses[0], losses[-1], same, moved)
assert same and moved > 0.1 and losses[-1] < 0.6 * losses[0]
