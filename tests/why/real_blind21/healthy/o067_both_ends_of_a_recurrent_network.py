# https://github.com/pytorch/pytorch/issues/619
import torch
from torch import nn
from torch import optim

torch.manual_seed(0)

batch_size = 64
num_classes = 2
num_input_symbols = 30
rnn_size = 24


class lstm_bi(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(num_input_symbols, rnn_size)
        self.rnn = nn.LSTM(rnn_size, rnn_size, 1, bidirectional=True)
        self.l_out = nn.Linear(rnn_size * 2, num_classes)

    def forward(self, x):
        embeds = self.embedding(x)
        _batch_size = embeds.size(1)
        h0 = torch.zeros(1 * 2, _batch_size, rnn_size)
        c0 = torch.zeros(1 * 2, _batch_size, rnn_size)
        rnn_out, (hn, cn) = self.rnn(embeds, (h0, c0))
        hn1 = hn.transpose(0, 1).contiguous().view(_batch_size, -1)
        hn2 = torch.cat([hn[0], hn[1]], 1)
        assert (hn1 == hn2).all()
        return self.l_out(hn1)


def batches(n):
    for _ in range(n):
        text = torch.randint(0, num_input_symbols, (8, batch_size))
        yield text, (text[0] + text[-1] >= num_input_symbols).long()


# %%
model = lstm_bi()
criterion = nn.CrossEntropyLoss()
opt = optim.Adam(model.parameters(), lr=1e-2)

# %%
losses, correct, total = [], 0, 0
model.train()
for batch_idx, (text, label) in enumerate(batches(200)):
    opt.zero_grad()
    answer = model(text)
    loss = criterion(answer, label)
    loss.backward()
    opt.step()
    losses.append(loss.item())
    if batch_idx >= 180:
        correct += (answer.argmax(1) == label).sum().item()
        total += batch_size

# %%
accuracy = correct / total
print(losses[0], losses[-1], accuracy)
assert accuracy > 0.85 and model.rnn.weight_ih_l0_reverse.grad.abs().sum() > 0
