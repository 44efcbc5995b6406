# https://github.com/yikangshen/Ordered-Neurons/issues/13
import torch
import torch.nn as nn

torch.manual_seed(0)
ntoken, ninp, nhid, batch_size, bptt, clip = 20, 8, 12, 4, 5, 0.25


class RNNModel(nn.Module):
    def __init__(self):
        super(RNNModel, self).__init__()
        self.drop = nn.Dropout(0.2)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, nhid)
        self.decoder = nn.Linear(nhid, ntoken)

    def init_hidden(self, bsz):
        weight = next(self.parameters()).data
        return weight.new_zeros(1, bsz, nhid), weight.new_zeros(1, bsz, nhid)

    def forward(self, input, hidden):
        emb = self.drop(self.encoder(input))
        output, hidden = self.rnn(emb, hidden)
        return self.decoder(self.drop(output)), hidden


def repackage_hidden(h):
    """Wraps hidden states in new Tensors, to detach them from their history."""
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    return data.narrow(0, 0, nbatch * bsz).view(bsz, -1).t().contiguous()


def get_batch(source, i):
    seq_len = min(bptt, len(source) - 1 - i)
    return source[i:i + seq_len], source[i + 1:i + 1 + seq_len].view(-1)


# %%
train_data = batchify(torch.randint(ntoken, (100,)), batch_size)
model = RNNModel()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=1.0, weight_decay=1.2e-6)

# %%
# train
model.train()
hidden = model.init_hidden(batch_size)
for batch, i in enumerate(range(0, train_data.size(0) - 1, bptt)):
    data, targets = get_batch(train_data, i)
    # Starting each batch, we detach the hidden state from how it was previously produced.
    hidden = repackage_hidden(hidden)
    optimizer.zero_grad()
    output, hidden = model(data, hidden)
    loss = criterion(output.view(-1, ntoken), targets)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    print('| batch {} | loss {:5.2f} | hidden norm {:.3f}'.format(batch, loss.item(), hidden[0].norm().item()))
