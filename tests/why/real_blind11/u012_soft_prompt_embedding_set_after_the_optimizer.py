# https://github.com/kipgparker/soft-prompt-tuning/issues/4
import torch
import torch.nn as nn

torch.manual_seed(0)
n_tokens, vocab, dim = 5, 50, 16


class SoftEmbedding(nn.Module):
    def __init__(self, wte, n_tokens=10, random_range=0.5, initialize_from_vocab=True):
        super(SoftEmbedding, self).__init__()
        self.wte = wte
        self.n_tokens = n_tokens
        self.learned_embedding = nn.parameter.Parameter(
            self.initialize_embedding(wte, n_tokens, random_range, initialize_from_vocab))

    def initialize_embedding(self, wte, n_tokens, random_range, initialize_from_vocab):
        if initialize_from_vocab:
            return self.wte.weight[:n_tokens].clone().detach()
        return torch.FloatTensor(n_tokens, wte.weight.size(1)).uniform_(-random_range, random_range)

    def forward(self, tokens):
        input_embedding = self.wte(tokens[:, self.n_tokens:])
        learned_embedding = self.learned_embedding.repeat(input_embedding.size(0), 1, 1)
        return torch.cat([learned_embedding, input_embedding], 1)


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.block = nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.0, batch_first=True)
        self.lm_head = nn.Linear(dim, vocab)

    def get_input_embeddings(self):
        return self.wte

    def set_input_embeddings(self, new):
        self.wte = new

    def forward(self, input_ids):
        return self.lm_head(self.block(self.wte(input_ids)))


# %%
model = LM()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
s_wte = SoftEmbedding(model.get_input_embeddings(), n_tokens=n_tokens, initialize_from_vocab=True)
model.set_input_embeddings(s_wte)

input_ids = torch.randint(0, vocab, (8, 12))
# pad the place of the learned tokens
input_ids = torch.cat([torch.full((8, n_tokens), vocab - 1), input_ids], 1)
before = model.wte.learned_embedding.detach().clone()

# %%
for step in range(5):
    logits = model(input_ids)
    loss = nn.functional.cross_entropy(logits[:, n_tokens:-1].flatten(0, 1), input_ids[:, n_tokens + 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
print((model.wte.learned_embedding - before).abs().max())
