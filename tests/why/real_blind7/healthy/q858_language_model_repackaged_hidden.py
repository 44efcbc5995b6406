# https://github.com/pytorch/examples/blob/main/word_language_model/main.py
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1111)


class RNNModel(nn.Module):
    def __init__(self, ntoken, ninp, nlayers):
        super(RNNModel, self).__init__()
        self.ntoken, self.ninp, self.nlayers = ntoken, ninp, nlayers
        self.drop = nn.Dropout(0.2)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, ninp, nlayers)
        self.decoder = nn.Linear(ninp, ntoken)
        self.decoder.weight = self.encoder.weight
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)

    def forward(self, input, hidden):
        output, hidden = self.rnn(self.drop(self.encoder(input)), hidden)
        decoded = self.decoder(self.drop(output)).view(-1, self.ntoken)
        return F.log_softmax(decoded, dim=1), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        return (weight.new_zeros(self.nlayers, bsz, self.ninp), weight.new_zeros(self.nlayers, bsz, self.ninp))


def repackage_hidden(h):
    """Wraps hidden states in new Tensors, to detach them from their history."""
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


# %%
model, criterion, lr = RNNModel(30, 16, 1), nn.NLLLoss(), 20
before = model.encoder.weight.detach().clone()

# %%
model.train()
total_loss = 0.
hidden = model.init_hidden(4)
for batch in range(4):
    data, targets = torch.randint(0, 30, (7, 4)), torch.randint(0, 30, (28,))
    # Starting each batch, we detach the hidden state from how it was previously produced.
    model.zero_grad()
    hidden = repackage_hidden(hidden)
    output, hidden = model(data, hidden)
    loss = criterion(output, targets)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
    for p in model.parameters():
        p.data.add_(p.grad, alpha=-lr)
    total_loss += loss.item()
print(total_loss / 4)
