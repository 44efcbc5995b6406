# https://github.com/kipgparker/soft-prompt-tuning/blob/main/soft_embedding.py
import torch
import torch.nn as nn

torch.manual_seed(0)


class SoftEmbedding(nn.Module):
    def __init__(self, wte, n_tokens=4, random_range=0.5, initialize_from_vocab=True):
        super(SoftEmbedding, self).__init__()
        self.wte = wte
        self.n_tokens = n_tokens
        self.learned_embedding = nn.parameter.Parameter(self.initialize_embedding(wte, n_tokens, random_range, initialize_from_vocab))

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
        self.wte = nn.Embedding(40, 16)
        self.h = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
        self.lm_head = nn.Linear(16, 40)

    def get_input_embeddings(self):
        return self.wte

    def set_input_embeddings(self, e):
        self.wte = e

    def forward(self, tokens):
        return self.lm_head(self.h(self.wte(tokens)))


# %%
n_tokens = 4
model = LM()
s_wte = SoftEmbedding(model.get_input_embeddings(), n_tokens=n_tokens)
model.set_input_embeddings(s_wte)
for name, param in model.named_parameters():
    if 'learned_embedding' not in name:
        param.requires_grad = False
optimizer = torch.optim.Adam([s_wte.learned_embedding], lr=1e-2)

# %%
for step in range(3):
    tokens = torch.randint(0, 40, (4, 8))
    input_ids = torch.cat([torch.full((4, n_tokens), 1), tokens], 1)
    outputs = model(input_ids)
    loss = nn.functional.cross_entropy(outputs[:, n_tokens:-1].reshape(-1, 40), tokens[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
