# https://github.com/fabiodimarco/torch-levenberg-marquardt/issues/7
import math as m

import torch
import torch.nn as nn
from torch.func import functional_call, jacrev

torch.manual_seed(0)
num_steps = 20


class LevenbergMarquardtModule:
    """The trainer of the package, in short: one damped Gauss-Newton step for a batch."""

    def __init__(self, model, damping=1.0):
        self.model, self.damping = model, damping

    @torch.no_grad()
    def training_step(self, inputs, targets):
        outputs = self.model(inputs)
        residuals = (targets - outputs).flatten()
        loss = residuals.square().mean()
        params = {k: p.detach() for k, p in self.model.named_parameters()}
        jac = jacrev(lambda p: functional_call(self.model, p, (inputs,)).flatten())(params)
        J = torch.cat([j.reshape(len(residuals), -1) for j in jac.values()], dim=1)
        JJ = J.t() @ J + self.damping * torch.eye(J.size(1))
        update = torch.linalg.solve(JJ, J.t() @ residuals)
        for p, u in zip(self.model.parameters(), update.split([p.numel() for p in self.model.parameters()])):
            p += u.view_as(p)
        return outputs, loss


# %%
t = torch.rand((num_steps, 1)).requires_grad_(True)


class PINN(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(nn.Linear(1, 6), nn.Tanh(), nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 1))

    def forward(self, dummy=None):
        u_ic = self.model(torch.tensor([[0.0]]))
        u = self.model(t)
        u_t = torch.autograd.grad(u, t, grad_outputs=torch.ones_like(u), create_graph=True)[0]

        out0 = (u_ic - 1.0).expand(num_steps, 1)
        out1 = u_t - 4.0 * m.pi * torch.cos(2.0 * m.pi * t)
        return torch.cat([m.sqrt(2.0) * out0, m.sqrt(2.0) * out1], dim=1)


pinn = PINN()
module = LevenbergMarquardtModule(pinn)
dummy, zeros = torch.zeros(num_steps, 1), torch.zeros(num_steps, 2)

# %%
for step in range(3):
    outputs, loss = module.training_step(dummy, zeros)
    print(step, loss.item())
