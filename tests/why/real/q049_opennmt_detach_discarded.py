# https://github.com/OpenNMT/OpenNMT-py/issues/403
import torch
import torch.nn as nn


class RNNDecoderState:
    def __init__(self, hidden, input_feed):
        self.hidden = (hidden,)
        self.input_feed = input_feed

    @property
    def _all(self):
        return self.hidden + (self.input_feed,)

    def detach(self):
        for h in self._all:
            if h is not None:
                h.detach()


cell, generator = nn.GRUCell(10, 6), nn.Linear(6, 9)
optim = torch.optim.SGD([*cell.parameters(), *generator.parameters()], lr=0.1)
dec_state = RNNDecoderState(torch.zeros(2, 6), torch.zeros(2, 6))
words, target = torch.randn(8, 2, 4), torch.randint(9, (8, 2))

# %%
trunc_size = 4
for j in range(0, 8, trunc_size):
    loss = 0
    for t in range(j, j + trunc_size):
        h = cell(torch.cat([words[t], dec_state.input_feed], 1), dec_state.hidden[0])
        dec_state.hidden, dec_state.input_feed = (h,), torch.tanh(h)
        loss = loss + nn.functional.cross_entropy(generator(h), target[t])
    optim.zero_grad()
    loss.backward()
    optim.step()
    dec_state.detach()
