# https://github.com/LiJunnan1992/MLNT/issues/8
import random
from collections import OrderedDict

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
random.seed(0)


class Net(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, stride=2, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, stride=2, padding=1)
        self.fc = nn.Linear(16, classes)

    def forward(self, x, weights=None, get_feat=False):
        w = weights or OrderedDict(self.named_parameters())
        x = F.relu(F.conv2d(x, w["conv1.weight"], w["conv1.bias"], stride=2, padding=1))
        x = F.relu(F.conv2d(x, w["conv2.weight"], w["conv2.bias"], stride=2, padding=1))
        feat = x.mean((2, 3))
        out = F.linear(feat, w["fc.weight"], w["fc.bias"])
        return (out, feat) if get_feat else out


lr, meta_lr, num_fast, perturb_ratio, eps = 0.01, 0.02, 3, 0.5, 0.99
patterns = torch.randn(4, 1, 8, 8)


def train_loader(n=10, batch_size=32):
    for _ in range(n):
        y = torch.randint(0, 4, (batch_size,))
        noisy = torch.where(torch.rand(batch_size) < 0.3, torch.randint(0, 4, (batch_size,)), y)
        yield patterns[y] + 0.5 * torch.randn(batch_size, 1, 8, 8), noisy


net, tch_net, pretrain_net = Net(), Net(), Net()
for param in [*tch_net.parameters(), *pretrain_net.parameters()]:
    param.requires_grad = False
criterion = nn.CrossEntropyLoss()
consistent_criterion = nn.KLDivLoss(reduction="batchmean")
optimizer = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9, weight_decay=1e-3)

# %%
for batch_idx, (inputs, targets) in enumerate(train_loader()):
    optimizer.zero_grad()
    outputs = net(inputs)
    class_loss = criterion(outputs, targets)
    class_loss.backward(retain_graph=True)

    for param, param_tch in zip(net.parameters(), tch_net.parameters()):
        param_tch.data.mul_(eps).add_(param.data, alpha=1 - eps)
    _, feats = pretrain_net(inputs, get_feat=True)
    p_tch = F.softmax(tch_net(inputs), dim=1)

    consistent_loss = 0
    for i in range(num_fast):
        targets_fast = targets.clone()
        for idx in torch.randperm(len(targets))[:int(len(targets) * perturb_ratio)]:
            dist = ((feats[idx] - feats) ** 2).sum(dim=1)
            _, neighbor = torch.topk(dist, 11, largest=False)
            targets_fast[idx] = targets[neighbor[random.randint(1, 10)]]
        fast_loss = criterion(outputs, targets_fast)
        grads = torch.autograd.grad(fast_loss, net.parameters(), create_graph=True, retain_graph=True)
        for grad in grads:
            grad.detach_()
        fast_weights = OrderedDict((name, param - meta_lr * grad)
                                   for (name, param), grad in zip(net.named_parameters(), grads))
        logp_fast = F.log_softmax(net(inputs, fast_weights), dim=1)
        consistent_loss = consistent_loss + consistent_criterion(logp_fast, p_tch)

    meta_loss = consistent_loss / num_fast
    meta_loss.backward()
    optimizer.step()
    print(batch_idx, class_loss.item(), meta_loss.item())
