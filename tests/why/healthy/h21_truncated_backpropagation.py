# The hidden state is detached between windows.
import torch
from torch import nn

rnn, head = nn.GRU(3, 8, batch_first=True), nn.Linear(8, 1)
optimizer = torch.optim.Adam([*rnn.parameters(), *head.parameters()])
h = torch.zeros(1, 2, 8)
for window in torch.randn(3, 2, 10, 3):
    out, h = rnn(window, h)
    loss = head(out).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    h = h.detach()
assert rnn.weight_hh_l0.grad is not None
