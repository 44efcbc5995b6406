# https://github.com/pytorch/pytorch/issues/60928
import numpy as np
import torch
import torch.nn as nn

loss_fn = nn.KLDivLoss()
w = torch.tensor(np.array([[-2.18, -0.60, -1.08]])).float().requires_grad_()
target = torch.from_numpy(np.array([[0.1541, 0.0511, 0.0947]])).float()
optimizer = torch.optim.SGD([w], lr=1.0)
losses = []
for step in range(20):
    output = w.softmax(1)
    loss = loss_fn(output.log(), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses)
