# https://github.com/Eric-mingjie/rethinking-network-pruning/issues/38
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def BN_grad_zero():
    for m in model.modules():
        if isinstance(m, nn.BatchNorm2d) or isinstance(m, nn.BatchNorm1d):
            mask = (m.weight.data != 0)
            mask = mask.float()
            m.weight.grad.data.mul_(mask)
            m.bias.grad.data.mul_(mask)


def train(batches, pruned):
    for data, target in batches:
        optimizer.zero_grad()
        output = model(data)
        loss = F.cross_entropy(output, target)
        loss.backward()
        if pruned:
            BN_grad_zero()
        optimizer.step()


# %%
batches = [(torch.randn(8, 3, 10, 10), torch.randint(0, 4, (8,))) for _ in range(6)]
train(batches, pruned=False)

# %%
# set the smallest channels to zero
zeroed = model[1].weight.data.abs() < model[1].weight.data.abs().median()
model[1].weight.data[zeroed] = 0
model[1].bias.data[zeroed] = 0
train(batches[:1], pruned=True)
print(model[1].weight.data[zeroed])
