# https://github.com/OpenMined/PySyft/issues/3208
import torch
from torch import nn, optim

torch.manual_seed(0)

# A Toy Dataset
data = torch.tensor([[0, 0], [0, 1], [1, 0], [1, 1.]], requires_grad=True)
target = torch.tensor([[0], [0], [1], [1.]], requires_grad=True)

# A Toy Model
model = nn.Linear(2, 1)
data_before, weight_before = data.detach().clone(), model.weight.detach().clone()


def train():
    # Training Logic
    opt = optim.SGD(params=model.parameters(), lr=0.1)
    for iter in range(20):
        # 1) erase previous gradients (if they exist)
        opt.zero_grad()

        # 2) make a prediction
        pred = model(data)

        # 3) calculate how much we missed
        loss = ((pred - target)**2).sum()

        # 4) figure out which weights caused us to miss
        loss.backward()

        # 5) change those weights
        opt.step()

        # 6) print our progress
        if iter % 5 == 0:
            print(loss.data)


train()
