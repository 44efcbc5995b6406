# https://github.com/ginobilinie/asdnet/issues/2
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

net = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 3, 3, padding=1))
netD = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 1, 3, padding=1), nn.Sigmoid())
optimizer = torch.optim.SGD(net.parameters(), lr=1e-2)
optimizerD = torch.optim.SGD(netD.parameters(), lr=1e-2)

# %%
for iteration in range(3):
    source, target = torch.rand(2, 1, 8, 8), torch.randint(3, (2, 8, 8))
    real = F.one_hot(target, 3).permute(0, 3, 1, 2).float()
    net.zero_grad()
    netD.zero_grad()
    outputG = net(source)
    fake = F.softmax(outputG, dim=1)
    outputD = netD(real)
    loss_real = F.binary_cross_entropy(outputD, torch.ones_like(outputD))
    loss_real.backward()
    outputD = netD(fake)
    loss_fake = F.binary_cross_entropy(outputD, torch.zeros_like(outputD))
    loss_fake.backward()
    outputG = net(source)
    lossG = F.cross_entropy(outputG, target)
    lossG.backward()
    optimizer.step()
    optimizerD.step()
    print(iteration, lossG.item(), loss_fake.item())
