# https://github.com/Yonghongwei/Gradient-Centralization/blob/master/GC_code/CIFAR100/algorithm/SGD.py
import torch
from torch import nn

torch.manual_seed(0)


class SGD_GC(torch.optim.Optimizer):
    def __init__(self, params, lr, momentum=0.9, weight_decay=0.0):
        super().__init__(params, dict(lr=lr, momentum=momentum, weight_decay=weight_decay))

    def step(self, closure=None):
        for group in self.param_groups:
            for p in group['params']:
                if p.grad is None:
                    continue
                d_p = p.grad.data
                d_p.add_(p.data, alpha=group['weight_decay'])
                if d_p.dim() > 1:  # the gradient is centred, in place
                    d_p.sub_(d_p.mean(dim=tuple(range(1, d_p.dim())), keepdim=True))
                buf = self.state[p].setdefault('momentum_buffer', torch.zeros_like(d_p))
                buf.mul_(group['momentum']).add_(d_p)
                p.data.add_(buf, alpha=-group['lr'])


# %%
model = nn.Sequential(nn.Linear(20, 16), nn.ReLU(), nn.Linear(16, 4))
optimizer = SGD_GC(model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
criterion = nn.CrossEntropyLoss()
inputs, targets = torch.randn(30, 20), torch.randint(0, 4, (30,))

# %%
for batch_idx in range(5):
    optimizer.zero_grad()
    outputs = model(inputs)
    loss = criterion(outputs, targets)
    loss.backward()
    optimizer.step()
print(loss.item(), model[0].weight.grad.sum(1).abs().max())
