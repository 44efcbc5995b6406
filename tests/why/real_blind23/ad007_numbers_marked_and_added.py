# https://github.com/StefOe/indrnn-pytorch/issues/3
"""Module to solve the addition problem
The addition problem is stated in https://arxiv.org/abs/1803.04831.
"""
from types import SimpleNamespace

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
np.random.seed(0)

args = SimpleNamespace(lr=0.01, time_steps=10, hidden_size=32, log_interval=100, batch_size=50, cuda=False)


class LSTM(nn.Module):
    def __init__(self):
        super(LSTM, self).__init__()
        self.cell1 = nn.LSTM(2, args.hidden_size)
        self.lin = nn.Linear(args.hidden_size, 1)

    def forward(self, x, hidden=None):
        x, hidden = self.cell1(x, hidden)
        return self.lin(x[:, -1]).squeeze(1)


def get_batch():
    """Generate the adding problem dataset"""
    # Build the first sequence
    add_values = torch.rand(args.batch_size, args.time_steps)

    # Build the second sequence with one 1 in each half and 0s otherwise
    add_indices = torch.zeros_like(add_values)
    half = int(args.time_steps / 2)
    for i in range(args.batch_size):
        first_half = np.random.randint(half)
        second_half = np.random.randint(half, args.time_steps)
        add_indices[i, first_half] = 1
        add_indices[i, second_half] = 1

    # Zip the values and indices in a third dimension:
    # inputs has the shape (batch_size, time_steps, 2)
    inputs = torch.stack((add_values, add_indices), dim=-1)
    targets = torch.mul(add_values, add_indices).sum(dim=1)
    return inputs, targets


# %%
# build model
model = LSTM()
if args.cuda:
    model.cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

# %%
# Train the model
model.train()
step = 0
mse = []
while step < 600:
    losses = []
    for _ in range(args.log_interval):
        # Generate new input data
        data, target = get_batch()
        if args.cuda:
            data, target = data.cuda(), target.cuda()
        model.zero_grad()
        out = model(data)
        loss = F.mse_loss(out, target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        step += 1

    mse.append(np.mean(losses))
    print("MSE after {} iterations: {}".format(step, mse[-1]))
