# https://github.com/pytorch/examples/blob/main/word_language_model/model.py
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1111)


class RNNModel(nn.Module):
    def __init__(self, ntoken=14, ninp=10, nhid=10, nlayers=2, dropout=0.2, tie_weights=True):
        super().__init__()
        self.ntoken, self.drop, self.encoder = ntoken, nn.Dropout(dropout), nn.Embedding(ntoken, ninp)
        self.rnn, self.decoder = nn.LSTM(ninp, nhid, nlayers, dropout=dropout), nn.Linear(nhid, ntoken)
        if tie_weights:
            self.decoder.weight = self.encoder.weight
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)
        self.nhid, self.nlayers = nhid, nlayers

    def forward(self, input, hidden):
        emb = self.drop(self.encoder(input))
        output, hidden = self.rnn(emb, hidden)
        decoded = self.decoder(self.drop(output)).view(-1, self.ntoken)
        return F.log_softmax(decoded, dim=1), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        return (weight.new_zeros(self.nlayers, bsz, self.nhid), weight.new_zeros(self.nlayers, bsz, self.nhid))


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    return data.narrow(0, 0, nbatch * bsz).view(bsz, -1).t().contiguous()


def repackage_hidden(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


def get_batch(source, i, bptt=5):
    seq_len = min(bptt, len(source) - 1 - i)
    return source[i : i + seq_len], source[i + 1 : i + 1 + seq_len].view(-1)


train_data, val_data = batchify(torch.randint(0, 14, (80,)), 4), batchify(torch.randint(0, 14, (40,)), 2)
model, criterion = RNNModel(), nn.NLLLoss()
before = model.encoder.weight.detach().clone()


def evaluate(data_source):
    model.eval()
    total_loss, hidden = 0.0, model.init_hidden(2)
    with torch.no_grad():
        for i in range(0, data_source.size(0) - 1, 5):
            data, targets = get_batch(data_source, i)
            output, hidden = model(data, hidden)
            hidden = repackage_hidden(hidden)
            total_loss += len(data) * criterion(output, targets).item()
    return total_loss / (len(data_source) - 1)


def train(lr):
    model.train()
    total_loss, hidden = 0.0, model.init_hidden(4)
    for batch, i in enumerate(range(0, train_data.size(0) - 1, 5)):
        data, targets = get_batch(train_data, i)
        model.zero_grad()
        hidden = repackage_hidden(hidden)
        output, hidden = model(data, hidden)
        loss = criterion(output, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-lr)
        total_loss += loss.item()
    print(total_loss / (batch + 1))


# %%
lr, best_val_loss = 20.0, None
for epoch in range(1, 3):
    train(lr)
    val_loss = evaluate(val_data)
    print(epoch, val_loss, math.exp(min(val_loss, 20)))
    if not best_val_loss or val_loss < best_val_loss:
        best_state, best_val_loss = {k: v.clone() for k, v in model.state_dict().items()}, val_loss
    else:
        lr /= 4.0
