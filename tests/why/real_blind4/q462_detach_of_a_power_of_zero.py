# https://github.com/pytorch/pytorch/issues/7462
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class FocalLoss(nn.Module):
    def __init__(self, class_num, gamma=0, with_pt=True):
        super(FocalLoss, self).__init__()
        self.class_num, self.gamma, self.with_pt = class_num, gamma, with_pt

    def forward(self, inputs, targets):
        P = F.softmax(inputs, dim=1)
        class_mask = F.one_hot(targets, self.class_num).float()
        probs = (P*class_mask).sum(1).view(-1, 1)
        pt = torch.pow(1-probs, self.gamma)
        pt.detach_()
        if self.with_pt:
            batch_loss = -pt*probs.log()
        else:
            batch_loss = -probs.log()
        return batch_loss.mean(), probs, pt


# %%
model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 5))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
criterion, criterion_without = FocalLoss(5), FocalLoss(5, with_pt=False)
differences = []

for epoch in range(4):
    x, target = torch.randn(32, 12), torch.randint(5, (32,))
    output = model(x)
    loss, probs, pt = criterion(output, target)
    other, _, _ = criterion_without(output, target)
    # the two losses beside each other
    grad1, = torch.autograd.grad(other, output, retain_graph=True)
    grad2, = torch.autograd.grad(loss, output, retain_graph=True)
    differences.append((grad1 - grad2).abs().sum().item())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item(), "Difference", differences[-1])
