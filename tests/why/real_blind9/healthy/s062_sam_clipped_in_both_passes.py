# https://github.com/davda54/sam/issues/32
import torch
from torch import nn

torch.manual_seed(0)


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, **kwargs):
        super(SAM, self).__init__(params, dict(rho=rho, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        grad_norm = torch.norm(torch.stack([p.grad.norm(p=2) for g in self.param_groups for p in g["params"]]), p=2)
        for group in self.param_groups:
            scale = group["rho"] / (grad_norm + 1e-12)
            for p in group["params"]:
                self.state[p]["old_p"] = p.data.clone()
                p.add_(p.grad * scale)  # climb to the local maximum "w + e(w)"
        if zero_grad: self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for group in self.param_groups:
            for p in group["params"]:
                p.data = self.state[p]["old_p"]  # get back to "w" from "w + e(w)"
        self.base_optimizer.step()  # do the actual "sharpness-aware" update
        if zero_grad: self.zero_grad()


# %%
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = SAM(model.parameters(), torch.optim.SGD, lr=0.1, momentum=0.9)
loss_function = nn.CrossEntropyLoss()
input, output, v = torch.randn(24, 8), torch.randint(0, 3, (24,)), 1.0

# %%
for epoch in range(4):
    # first forward-backward pass
    loss = loss_function(model(input), output)  # use this loss for any training statistics
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), v)
    optimizer.first_step(zero_grad=True)

    # second forward-backward pass
    loss_function(model(input), output).backward()  # make sure to do a full forward pass
    torch.nn.utils.clip_grad_norm_(model.parameters(), v)
    optimizer.second_step(zero_grad=epoch < 3)
