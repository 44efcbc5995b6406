# https://discuss.pytorch.org/t/how-can-custom-loss-function-be-backpropagated/90501
import math

import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self, in_features=8, hidden=16, out_features=6):
        super(Net, self).__init__()
        self.fc1 = nn.Linear(in_features, hidden)
        self.fc2 = nn.Linear(hidden, out_features)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        return torch.sigmoid(self.fc2(x))


def myloss(data):
    tmp = 0
    for i in range(len(data)):
        if data[i] > 0.5:
            tmp += 1
        else:
            tmp += 2
    loss = math.log10(tmp)
    return loss


# %%
net = Net()
optimizer = optim.SGD(net.parameters(), lr=0.1)
inputs = torch.randn(20, 8)

# %%
losses = []
for epoch in range(3):
    for x in inputs:
        optimizer.zero_grad()
        output = net(x)
        loss = myloss(output)
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    print(epoch, sum(losses[-20:]) / 20)
