# https://github.com/pytorch/pytorch/issues/17124
from types import SimpleNamespace

import torch
import torch.nn as nn

torch.manual_seed(0)


class SNLIClassifier(nn.Module):
    def __init__(self, config):
        super(SNLIClassifier, self).__init__()
        self.config = config
        self.projection = nn.Linear(config.d_embed, config.d_proj)
        self.rnn = nn.LSTM(config.d_proj, config.d_hidden)
        self.out = nn.Sequential(
            nn.Linear(2 * config.d_hidden, config.d_hidden), nn.ReLU(),
            nn.Linear(config.d_hidden, config.d_out))

    def encode(self, embed):
        _, (h, _) = self.rnn(torch.relu(self.projection(embed)))
        return h[-1]

    def forward(self, prem_embed, hypo_embed):
        if self.config.fix_emb:
            prem_embed = prem_embed.detach()
            hypo_embed = hypo_embed.detach()
        premise = self.encode(prem_embed)
        hypothesis = self.encode(hypo_embed)
        return self.out(torch.cat([premise, hypothesis], 1))


# %%
config = SimpleNamespace(d_embed=10, d_proj=8, d_hidden=12, d_out=3, fix_emb=True)
model = SNLIClassifier(config)
embed = nn.Embedding(50, config.d_embed)
prem_embed = embed(torch.randint(0, 50, (6, 1))).detach()  # [#num_words, 1, embed_dim]
hypo_embed = embed(torch.randint(0, 50, (4, 1))).detach()
prem_embed.requires_grad = True
hypo_embed.requires_grad = True

# %%
model.train()
answer = model(prem_embed, hypo_embed)
label = answer.argmax(1).item()
sg = torch.autograd.grad(answer[0, label], (prem_embed, hypo_embed), retain_graph=True)
print([g.shape for g in sg])
