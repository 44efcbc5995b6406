# https://github.com/chickenbestlover/RNN-Time-series-Anomaly-Detection/issues/42
import torch
import torch.nn as nn

torch.manual_seed(1111)


class RNNPredictor(nn.Module):
    def __init__(self, features, nhid=32):
        super().__init__()
        self.encoder = nn.Linear(features, nhid)
        self.rnn = nn.LSTM(nhid, nhid)
        self.decoder = nn.Linear(nhid, features)
        self.nhid = nhid

    def forward(self, inputs, hidden):
        hids, hidden = self.rnn(torch.tanh(self.encoder(inputs)), hidden)
        return self.decoder(hids), hidden, hids

    def init_hidden(self, bsz):
        return torch.zeros(1, bsz, self.nhid), torch.zeros(1, bsz, self.nhid)

    def repackage_hidden(self, h):
        if isinstance(h, tuple):
            return tuple(self.repackage_hidden(v) for v in h)
        return h.detach()


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    return data[:nbatch * bsz].view(bsz, nbatch, -1).transpose(0, 1).contiguous()


def get_batch(source, i, bptt):
    seq_len = min(bptt, len(source) - 1 - i)
    return source[i:i + seq_len], source[i + 1:i + 1 + seq_len]


t = torch.arange(1600).float()
series = torch.stack([torch.sin(t / 5), torch.cos(t / 9)], 1) + 0.02 * torch.randn(1600, 2)
train_data = batchify(series, 8)

# %%
model = RNNPredictor(features=2)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=1e-4)
criterion = nn.MSELoss()
bptt, history = 20, []

# %%
for epoch in range(8):
    hidden = model.init_hidden(8)
    total_loss = 0
    for i in range(0, train_data.size(0) - 1, bptt):
        inputSeq, targetSeq = get_batch(train_data, i, bptt)
        hidden = model.repackage_hidden(hidden)
        hidden_ = model.repackage_hidden(hidden)
        optimizer.zero_grad()
        # free running
        outVal, outVals, hids1 = inputSeq[0].unsqueeze(0), [], []
        for _ in range(inputSeq.size(0)):
            outVal, hidden_, hid = model(outVal, hidden_)
            outVals.append(outVal)
            hids1.append(hid)
        loss1 = criterion(torch.cat(outVals), targetSeq)
        # teacher forcing
        outSeq2, hidden, hids2 = model(inputSeq, hidden)
        loss2 = criterion(outSeq2, targetSeq)
        # the states of the free run should be like those of the forced one
        loss3 = criterion(torch.cat(hids1), hids2.detach())
        loss = loss1 + loss2 + loss3
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 10)
        optimizer.step()
        total_loss += loss2.item()
    history.append(total_loss / 10)
print(history[0], history[-1])
assert hidden[0].requires_grad and not model.repackage_hidden(hidden)[0].requires_grad
assert all(p.grad is not None for p in model.parameters())
assert history[-1] < 0.2 * history[0]
