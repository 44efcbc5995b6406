# https://github.com/idstcv/SoftTriple/issues/4
from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parameter import Parameter

torch.manual_seed(0)
args = SimpleNamespace(freeze_BN=True, modellr=1e-3, centerlr=1e-2, la=20, gamma=0.1, tau=0.2, margin=0.01, dim=8, C=4, K=2,
                       weight_decay=1e-4, eps=0.01)


class SoftTriple(nn.Module):
    def __init__(self, la, gamma, tau, margin, dim, cN, K):
        super(SoftTriple, self).__init__()
        self.la, self.gamma, self.tau, self.margin = la, 1. / gamma, tau, margin
        self.cN, self.K = cN, K
        self.fc = Parameter(torch.Tensor(dim, cN * K))
        self.weight = torch.zeros(cN * K, cN * K, dtype=torch.bool)
        for i in range(0, cN):
            for j in range(0, K):
                self.weight[i * K + j, i * K + j + 1:(i + 1) * K] = 1
        nn.init.kaiming_uniform_(self.fc, a=5**0.5)

    def forward(self, input, target):
        centers = F.normalize(self.fc, p=2, dim=0)
        simInd = input.matmul(centers)
        simStruc = simInd.reshape(-1, self.cN, self.K)
        prob = F.softmax(simStruc * self.gamma, dim=2)
        simClass = torch.sum(prob * simStruc, dim=2)
        marginM = torch.zeros(simClass.shape)
        marginM[torch.arange(0, marginM.shape[0]), target] = self.margin
        lossClassify = F.cross_entropy(self.la * (simClass - marginM), target)
        if self.tau > 0 and self.K > 1:
            simCenter = centers.t().matmul(centers)
            reg = torch.sum(torch.sqrt(2.0 + 1e-5 - 2. * simCenter[self.weight])) / (self.cN * self.K * (self.K - 1.))
            return lossClassify + self.tau * reg
        return lossClassify


# %%
model = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                      nn.Linear(8, args.dim))
criterion = SoftTriple(args.la, args.gamma, args.tau, args.margin, args.dim, args.C, args.K)
optimizer = torch.optim.Adam([{"params": model.parameters(), "lr": args.modellr},
                              {"params": criterion.parameters(), "lr": args.centerlr}],
                             eps=args.eps, weight_decay=args.weight_decay)
train_loader = [(torch.rand(8, 3, 8, 8), torch.randint(4, (8,))) for _ in range(3)]
stat_before, weight_before = model[1].running_mean.clone(), model[1].weight.detach().clone()


def train(train_loader, model, criterion, optimizer, args):
    # switch to train mode
    model.train()
    if args.freeze_BN:
        for m in model.modules():
            if isinstance(m, nn.BatchNorm2d):
                m.eval()
    for i, (input, target) in enumerate(train_loader):
        # compute output
        output = F.normalize(model(input), p=2, dim=1)
        loss = criterion(output, target)
        # compute gradient and do SGD step
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(i, loss.item())


train(train_loader, model, criterion, optimizer, args)
print((model[1].weight - weight_before).abs().max().item())
