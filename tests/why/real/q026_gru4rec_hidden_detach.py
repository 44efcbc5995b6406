# https://github.com/yhs968/pyGRU4REC/issues/8
import torch
import torch.nn as nn

gru = nn.GRUCell(5, 8)
h2o = nn.Linear(8, 5)
session = [torch.randn(3, 5) for _ in range(4)]
first_input = session[0].requires_grad_()
mask = torch.zeros(3, dtype=torch.bool)


def reset_hidden(hidden, mask):
    if mask.any():
        hidden = hidden.masked_fill(mask[:, None], 0)
    return hidden


# %%
hidden = torch.zeros(3, 8)
for x in session:
    hidden = reset_hidden(hidden, mask).detach()
    hidden = gru(x, hidden)
logit = h2o(hidden)

# %%
loss = logit.pow(2).mean()
loss.backward()
print(first_input.grad)
