# https://github.com/kozistr/pytorch_optimizer/issues/64
import torch
import torch.nn as nn

torch.manual_seed(0)


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, **kwargs):
        super().__init__(params, dict(rho=rho, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        grad_norm = torch.norm(torch.stack([p.grad.norm() for g in self.param_groups for p in g["params"]]))
        for group in self.param_groups:
            scale = group["rho"] / (grad_norm + 1e-12)
            for p in group["params"]:
                self.state[p]["old_p"] = p.clone()
                p.add_(p.grad * scale)
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for group in self.param_groups:
            for p in group["params"]:
                p.copy_(self.state[p]["old_p"])
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()


# %%
model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 100), nn.ReLU(), nn.Linear(100, 10))
criterion = nn.CrossEntropyLoss()
optimizer = SAM(model.parameters(), torch.optim.SGD, lr=0.1, momentum=0.9)
data = [(torch.randn(16, 20), torch.randint(0, 10, (16,))) for _ in range(3)]

# %%
for epoch, (inputs, labels) in enumerate(data):
    # -----------------SAM Optimizer -------------------
    loss = criterion(model(inputs), labels)
    loss.backward(retain_graph=True)
    optimizer.first_step(zero_grad=True)

    criterion(model(inputs), labels)  # second
    loss.backward(retain_graph=True)
    optimizer.second_step(zero_grad=True)
    print(epoch, loss.item())
