# https://github.com/WeiChengTseng/Pytorch-PCGrad/blob/master/pcgrad.py
import copy
import random

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(4)


class PCGrad:
    def __init__(self, optimizer):
        self._optim = optimizer

    def zero_grad(self):
        return self._optim.zero_grad(set_to_none=True)

    def step(self):
        return self._optim.step()

    def pc_backward(self, objectives):
        grads, shapes = [], []
        for obj in objectives:
            self._optim.zero_grad(set_to_none=True)
            obj.backward(retain_graph=True)
            grad, shape = self._retrieve_grad()
            grads.append(torch.cat([g.flatten() for g in grad]))
            shapes.append(shape)
        pc_grad = self._project_conflicting(grads)
        idx, length = 0, 0
        for p, shape in zip((p for g in self._optim.param_groups for p in g["params"]), shapes[0]):
            length = int(np.prod(shape))
            p.grad = pc_grad[idx : idx + length].view(shape).clone()
            idx += length

    def _project_conflicting(self, grads):
        pc_grad = copy.deepcopy(grads)
        for g_i in pc_grad:
            random.shuffle(grads)
            for g_j in grads:
                g_i_g_j = torch.dot(g_i, g_j)
                if g_i_g_j < 0:
                    g_i -= (g_i_g_j) * g_j / (g_j.norm() ** 2)
        return torch.stack(pc_grad).mean(dim=0)

    def _retrieve_grad(self):
        grad, shape = [], []
        for group in self._optim.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    shape.append(p.shape)
                    grad.append(torch.zeros_like(p))
                    continue
                shape.append(p.grad.shape)
                grad.append(p.grad.clone())
        return grad, shape


class MultiHeadTestNet(nn.Module):
    def __init__(self):
        super().__init__()
        self._linear = nn.Linear(3, 2)
        self._head1 = nn.Linear(2, 4)
        self._head2 = nn.Linear(2, 4)

    def forward(self, x):
        feat = self._linear(x)
        return self._head1(feat), self._head2(feat)


net = MultiHeadTestNet()
pc_adam = PCGrad(optim.Adam(net.parameters()))
loss1_fn, loss2_fn = nn.MSELoss(), nn.MSELoss()
before = net._linear.weight.detach().clone()

# %%
for _ in range(3):
    x, y = torch.randn(2, 3), torch.randn(2, 4)
    y_pred_1, y_pred_2 = net(x)
    pc_adam.zero_grad()
    loss1, loss2 = loss1_fn(y_pred_1, y), loss2_fn(y_pred_2, y)
    pc_adam.pc_backward([loss1, loss2])
    for p in net.parameters():
        print(p.grad.norm())
    pc_adam.step()
