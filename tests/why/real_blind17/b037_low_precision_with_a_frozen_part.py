# https://github.com/Tiiiger/QPyTorch/issues/40
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim import SGD, Adam, Optimizer

torch.manual_seed(0)


def fixed_point_quantize(x, wl, fl):
    """Round stochastically to wl bits with fl of them after the point"""
    limit = 2.0 ** (wl - fl - 1)
    x = torch.floor(x * 2**fl + torch.rand_like(x)) / 2**fl
    return x.clamp(-limit, limit - 2.0 ** -fl)


def quantizer(wl, fl):
    return lambda x: fixed_point_quantize(x.detach(), wl, fl)


class OptimLP(Optimizer):
    """A low-precision optimizer wrapper that handles weight, gradient, accumulator quantization."""

    def __init__(self, optim, weight_quant=None, grad_scaling=1.0, grad_quant=None, momentum_quant=None,
                 acc_quant=None):
        assert isinstance(optim, SGD) or isinstance(optim, Adam)
        super(OptimLP, self).__init__(optim.param_groups, optim.defaults)  # place holder
        self.param_groups = optim.param_groups
        self.optim = optim
        self.grad_scaling = grad_scaling
        self.weight_quant = weight_quant
        self.grad_quant = grad_quant
        self.momentum_quant = momentum_quant
        self.acc_quant = acc_quant
        self.momentum_keys = ["momentum_buffer"] if isinstance(optim, SGD) else ["exp_avg", "exp_avg_sq"]
        if self.acc_quant is not None:
            self.weight_acc = {}
            for group in self.param_groups:
                for p in group["params"]:
                    self.weight_acc[p] = p.detach().clone()

    def step(self, closure=None):
        # quantize gradient
        if self.grad_quant is not None:
            for group in self.param_groups:
                for p in group["params"]:
                    p.grad.data = self.grad_quant(p.grad.data * self.grad_scaling)

        # switch acc into weight before stepping
        if self.acc_quant is not None:
            for group in self.param_groups:
                for p in group["params"]:
                    p.data = self.weight_acc[p].data

        loss = self.optim.step()

        # switch weight into acc after stepping and quantize
        if self.acc_quant is not None:
            for group in self.param_groups:
                for p in group["params"]:
                    p.data = self.weight_acc[p].data = self.acc_quant(p.data).data

        # quantize weight from acc
        if self.weight_quant is not None:
            for group in self.param_groups:
                for p in group["params"]:
                    p.data = self.weight_quant(p.data).data

        # quantize momentum
        if self.momentum_quant is not None:
            for group in self.param_groups:
                if isinstance(self.optim, SGD) and group["momentum"] == 0:
                    continue
                for p in group["params"]:
                    param_state = self.optim.state[p]
                    for key in self.momentum_keys:
                        param_state[key] = self.momentum_quant(param_state[key])

        return loss


def make_optimizer(model):
    optimizer = SGD(model.parameters(), lr=0.05, momentum=0.9)
    return OptimLP(optimizer, weight_quant=quantizer(8, 6), grad_quant=quantizer(8, 6),
                   momentum_quant=quantizer(8, 6), acc_quant=quantizer(16, 13))


def train(model, optimizer, x, y, steps):
    for step in range(steps):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(step, loss.item())


x = torch.randn(64, 10)
y = (x[:, :2].sum(dim=1) > 0).long()

# %%
net = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 2))
train(net, make_optimizer(net), x, y, steps=5)

# %%
for p in net[0].parameters():
    p.requires_grad = False
optimizer = make_optimizer(net)
net.zero_grad(set_to_none=True)
train(net, optimizer, x, y, steps=5)
