# https://whosebug.com/question/3488019/Lack-of-Sparse-Solution-with-L1-Regularization-in-Pytorch
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
np.random.seed(0)


class Network(nn.Module):
    def __init__(self, nf, nh, nc):
        super(Network, self).__init__()
        self.lin1 = nn.Linear(nf, nh)
        self.lin2 = nn.Linear(nh, nc)

    def forward(self, x):
        l1out = F.relu(self.lin1(x))
        out = F.softmax(self.lin2(l1out), dim=1)
        return out, l1out


def l1loss(layer):
    return torch.norm(layer.weight.data, p=1)


nf = 10
nc = 2
nh = 6
learningrate = 0.02
lmbda = 10.
batchsize = 50

net = Network(nf, nh, nc)
crit = nn.MSELoss()
optimizer = torch.optim.Adagrad(net.parameters(), lr=learningrate)

# 10 features, of which the first two are relevant
xtr = np.random.randn(400, nf)
labels = (xtr[:, 0] + xtr[:, 1] > 0).astype(int)
xtr = torch.Tensor(xtr)
ytr = torch.Tensor(np.eye(nc)[labels])

# %%
it = 30
for epoch in range(it):
    per = torch.randperm(len(xtr))
    for i in range(0, len(xtr), batchsize):
        ind = per[i:i + batchsize]
        bx, by = xtr[ind], ytr[ind]
        optimizer.zero_grad()
        output, l1out = net(bx)
        loss = crit(output, by) + lmbda * l1loss(net.lin1)
        loss.backward()
        optimizer.step()
    if epoch % 10 == 0:
        print('Epoch [%i/%i], Loss: %.4f' % (epoch + 1, it, loss.item()))

corr = (net(xtr)[0].argmax(1) == torch.tensor(labels)).sum()
print(corr, net.lin1.weight)
