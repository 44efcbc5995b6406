# https://github.com/pytorch/examples/blob/main/snli/train.py
from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.optim as O

torch.manual_seed(0)


class Bottle(nn.Module):
    def forward(self, input):
        if len(input.size()) <= 2:
            return super(Bottle, self).forward(input)
        size = input.size()[:2]
        out = super(Bottle, self).forward(input.view(size[0] * size[1], -1))
        return out.view(size[0], size[1], -1)


class Linear(Bottle, nn.Linear):
    pass


class Encoder(nn.Module):
    def __init__(self, config):
        super(Encoder, self).__init__()
        self.config = config
        input_size = config.d_proj if config.projection else config.d_embed
        self.rnn = nn.LSTM(input_size=input_size, hidden_size=config.d_hidden, bidirectional=config.birnn)

    def forward(self, inputs):
        batch_size = inputs.size()[1]
        h0 = c0 = inputs.new_zeros((self.config.n_cells, batch_size, self.config.d_hidden))
        outputs, (ht, ct) = self.rnn(inputs, (h0, c0))
        return ht[-1] if not self.config.birnn else ht[-2:].transpose(0, 1).contiguous().view(batch_size, -1)


class SNLIClassifier(nn.Module):
    def __init__(self, config):
        super(SNLIClassifier, self).__init__()
        self.config = config
        self.embed = nn.Embedding(config.n_embed, config.d_embed)
        self.projection = Linear(config.d_embed, config.d_proj)
        self.encoder = Encoder(config)
        self.dropout = nn.Dropout(p=config.dp_ratio)
        self.relu = nn.ReLU()
        seq_in_size = 4 * config.d_hidden
        self.out = nn.Sequential(
            Linear(seq_in_size, seq_in_size), self.relu, self.dropout, Linear(seq_in_size, config.d_out))

    def forward(self, batch):
        prem_embed = self.embed(batch.premise)
        hypo_embed = self.embed(batch.hypothesis)
        if self.config.fix_emb:
            prem_embed = prem_embed.detach()
            hypo_embed = hypo_embed.detach()
        if self.config.projection:
            prem_embed = self.relu(self.projection(prem_embed))
            hypo_embed = self.relu(self.projection(hypo_embed))
        premise = self.encoder(prem_embed)
        hypothesis = self.encoder(hypo_embed)
        return self.out(torch.cat([premise, hypothesis], 1))


# %%
config = SimpleNamespace(n_embed=30, d_embed=16, d_proj=16, d_hidden=16, n_cells=2, d_out=3, dp_ratio=0.1,
                         projection=True, birnn=True, fix_emb=True, epochs=25, lr=0.005)
word_vectors = torch.randn(30, 16)
word_vectors[15:] = -word_vectors[:15]
premise = torch.randint(0, 30, (5, 480))
label = torch.randint(0, 3, (480,))
same, opposite = premise[2], (premise[2] + 15) % 30
other = torch.where(torch.rand(480) < 0.5, premise[2] + 3, premise[2] + 7) % 30
hypothesis = torch.randint(0, 30, (3, 480))
hypothesis[1] = torch.stack([same, opposite, other])[label, torch.arange(480)]
train_iter = [SimpleNamespace(premise=premise[:, i], hypothesis=hypothesis[:, i], label=label[i])
              for i in torch.arange(480).split(48)]

# %%
model = SNLIClassifier(config)
model.embed.weight.data.copy_(word_vectors)
criterion = nn.CrossEntropyLoss()
opt = O.Adam(model.parameters(), lr=config.lr)
costs, accs = [], []
for epoch in range(config.epochs):
    n_correct, n_total, total = 0, 0, 0.0
    for batch_idx, batch in enumerate(train_iter):
        model.train()
        opt.zero_grad()
        answer = model(batch)
        n_correct += (torch.max(answer, 1)[1].view(batch.label.size()) == batch.label).sum().item()
        n_total += len(batch.label)
        loss = criterion(answer, batch.label)
        loss.backward()
        opt.step()
        total += loss.item()
    costs.append(total / len(train_iter))
    accs.append(100. * n_correct / n_total)
print(costs[0], costs[-1], accs[-1], torch.equal(model.embed.weight.data, word_vectors))
