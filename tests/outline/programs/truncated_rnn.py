import torch
import torch.nn as nn

torch.manual_seed(0)


class RNNModel(nn.Module):
    def __init__(self, ntoken, ninp, nhid):
        super().__init__()
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, nhid)
        self.decoder = nn.Linear(nhid, ntoken)

    def forward(self, input, hidden):
        emb = self.encoder(input)
        output, hidden = self.rnn(emb, hidden)
        return self.decoder(output).view(-1, 50), hidden

    def init_hidden(self, bsz):
        return torch.zeros(1, bsz, 32), torch.zeros(1, bsz, 32)


def repackage_hidden(h):
    return tuple(v.detach() for v in h)


model = RNNModel(50, 16, 32)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), 0.5)
data = torch.randint(0, 50, (41, 4))
# %% the recorded cell
hidden = model.init_hidden(4)
for i in range(0, data.size(0) - 1, 10):
    x, y = data[i : i + 10], data[i + 1 : i + 11].reshape(-1)
    model.zero_grad()
    hidden = repackage_hidden(hidden)
    output, hidden = model(x, hidden)
    loss = criterion(output, y)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
    optimizer.step()
