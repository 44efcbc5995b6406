# https://github.com/pytorch/pytorch/issues/1450
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


def decoder(input_, embedding, lstm, projection, states):
    """ unroll the LSTM Cell, returns the flattened logits"""
    emb = embedding(input_.t())
    hs = []
    for i in range(input_.size(1)):
        h, c = lstm(emb[i], states)
        hs.append(h)
        states = (h, c)
    lstm_out = torch.stack(hs, dim=0)
    logit = projection(lstm_out.contiguous().view(-1, lstm.hidden_size))
    return logit


# %%
embedding = nn.Embedding(4, 64, padding_idx=0)
lstm = nn.LSTMCell(64, 64)
projection = nn.Linear(64, 4)

input_ = torch.tensor([[1, 2, 3], [3, 2, 1]])
states = (torch.zeros(2, 64), torch.zeros(2, 64))
target = torch.tensor([[3, 2, 1], [2, 3, 1]])
optimizer = torch.optim.Adam([*embedding.parameters(), *lstm.parameters(), *projection.parameters()], lr=1e-2)

# %%
losses = []
for step in range(60):
    logit = decoder(input_, embedding, lstm, projection, states)
    loss = F.cross_entropy(logit, target.t().contiguous().view(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

# %%
print(losses[0], losses[-1])
told = decoder(input_, embedding, lstm, projection, states).argmax(1).view(3, 2).t()
assert torch.equal(told, target) and losses[-1] < 0.1
assert embedding.weight.grad[0].abs().sum() == 0 and lstm.weight_hh.grad.abs().sum() > 0
