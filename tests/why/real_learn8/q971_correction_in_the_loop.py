# https://github.com/xiaoboxia/T-Revision/pull/3
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


def reweighting_revision_loss(out, T, correction, target):
    loss = 0.0
    out_softmax = F.softmax(out, dim=1)
    for i in range(len(target)):
        temp_softmax = out_softmax[i]
        T = T + correction
        T_result = T
        out_T = torch.matmul(T_result.t(), temp_softmax)
        loss = loss - torch.log(out_T[target[i]].clamp(min=1e-6))
    return loss / len(target)


model = nn.Linear(4, 3)
correction = nn.Parameter(torch.full((3, 3), 0.01))
T = torch.eye(3) * 0.7 + 0.1
data, target = torch.randn(8, 4), torch.randint(3, (8,))
optimizer = torch.optim.SGD([*model.parameters(), correction], lr=1e-6)
for epoch in range(3):
    optimizer.zero_grad()
    loss = reweighting_revision_loss(model(data), T, correction, target)
    loss.backward()
    optimizer.step()
    print(loss.item())
p = F.softmax(model(data), 1) @ (T + correction)
(one,) = torch.autograd.grad(F.nll_loss(p.log(), target), correction)
