# https://whosebug.com/question/5929912/Why-is-the-clip-grad-norm-function-used-here
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)

text = "the quick brown fox jumps over the lazy dog and runs away again. " * 30
chars = tuple(sorted(set(text)))
char2int = {ch: ii for ii, ch in enumerate(chars)}
encoded = np.array([char2int[ch] for ch in text])


def one_hot_encode(arr, n_labels):
    one_hot = np.zeros((arr.size, n_labels), dtype=np.float32)
    one_hot[np.arange(one_hot.shape[0]), arr.flatten()] = 1.
    return one_hot.reshape((*arr.shape, n_labels))


def get_batches(arr, batch_size, seq_length):
    n_batches = len(arr) // (batch_size * seq_length)
    arr = arr[:n_batches * batch_size * seq_length].reshape((batch_size, -1))
    for n in range(0, arr.shape[1], seq_length):
        x = arr[:, n:n + seq_length]
        y = np.zeros_like(x)
        try:
            y[:, :-1], y[:, -1] = x[:, 1:], arr[:, n + seq_length]
        except IndexError:
            y[:, :-1], y[:, -1] = x[:, 1:], arr[:, 0]
        yield x, y


class CharRNN(nn.Module):
    def __init__(self, tokens, n_hidden=64, n_layers=2, drop_prob=0.1):
        super().__init__()
        self.n_layers, self.n_hidden, self.n_chars = n_layers, n_hidden, len(tokens)
        self.lstm = nn.LSTM(self.n_chars, n_hidden, n_layers, dropout=drop_prob, batch_first=True)
        self.dropout = nn.Dropout(drop_prob)
        self.fc = nn.Linear(n_hidden, self.n_chars)

    def forward(self, x, hidden):
        r_output, hidden = self.lstm(x, hidden)
        out = self.dropout(r_output)
        out = out.contiguous().view(-1, self.n_hidden)
        return self.fc(out), hidden

    def init_hidden(self, batch_size):
        weight = next(self.parameters()).data
        return (weight.new(self.n_layers, batch_size, self.n_hidden).zero_(),
                weight.new(self.n_layers, batch_size, self.n_hidden).zero_())


# %%
net = CharRNN(chars)
batch_size, seq_length, clip = 8, 20, 5
opt = torch.optim.Adam(net.parameters(), lr=0.005)
criterion = nn.CrossEntropyLoss()

# %%
net.train()
counter, losses = 0, []
for e in range(15):
    h = net.init_hidden(batch_size)
    for x, y in get_batches(encoded, batch_size, seq_length):
        counter += 1
        x = one_hot_encode(x, net.n_chars)
        inputs, targets = torch.from_numpy(x), torch.from_numpy(y)

        h = tuple([each.data for each in h])
        net.zero_grad()

        output, h = net(inputs, h)

        loss = criterion(output, targets.view(batch_size * seq_length).long())
        loss.backward()

        nn.utils.clip_grad_norm_(net.parameters(), clip)
        opt.step()
        losses.append(loss.item())

# %%
print(counter, losses[0], losses[-1])
assert losses[-1] < 0.6 * losses[0] and all(p.grad is not None for p in net.parameters())
