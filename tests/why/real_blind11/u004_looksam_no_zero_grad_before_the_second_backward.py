# https://github.com/rollovd/LookSAM/issues/3
import torch
import torch.nn as nn

torch.manual_seed(0)


class SAM(torch.optim.Optimizer):
    def __init__(self, model, base_optimizer, criterion, rho=0.05, **kwargs):
        defaults = dict(rho=rho, **kwargs)
        self.model = model
        super(SAM, self).__init__(self.model.parameters(), defaults)
        self.criterion = criterion
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups

    def step(self, samples, targets):
        group = self.param_groups[0]
        scale = group['rho'] / (self._grad_norm() + 1e-8)
        for p in group['params']:
            self.state[p]['old_p'] = p.data.clone()
            with torch.no_grad():
                e_w = p.grad * scale.to(p)
                p.add_(e_w)

        self.criterion(self.model(samples), targets).backward()

        for p in group['params']:
            p.data = self.state[p]['old_p']
        self.base_optimizer.step()

    def _grad_norm(self):
        return torch.norm(torch.stack([p.grad.norm(p=2) for p in self.param_groups[0]['params']]), p=2)


# %%
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 3))
criterion = nn.CrossEntropyLoss()
optimizer = SAM(model, torch.optim.SGD, criterion, rho=0.05, lr=0.1)
samples, targets = torch.randn(64, 10), torch.randint(0, 3, (64,))

# %%
for train_index in range(5):
    optimizer.zero_grad()
    loss = criterion(model(samples), targets)
    loss.backward()
    optimizer.step(samples=samples, targets=targets)
    print(train_index, loss.item(), model[0].weight.grad.norm().item())
