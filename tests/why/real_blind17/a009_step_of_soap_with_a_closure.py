# https://github.com/nikhilvyas/SOAP/pull/21
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)


class SOAP(optim.Optimizer):
    def __init__(self, params, lr=3e-3, betas=(0.95, 0.95), eps=1e-8, weight_decay=.01, precondition_frequency=10):
        defaults = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
                    "precondition_frequency": precondition_frequency}
        super().__init__(params, defaults)

    @torch.no_grad()
    def step(self, closure=None):
        """
        Performs a single optimization step.

        Arguments:
            closure (`Callable`, *optional*): A closure that reevaluates the model and returns the loss.
        """
        if closure is None:
            loss = None
        else:
            loss = closure()

        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                grad = p.grad
                state = self.state[p]

                if "step" not in state:
                    state["step"] = 0
                    state["exp_avg"] = torch.zeros_like(grad)
                    state["exp_avg_sq"] = torch.zeros_like(grad)
                    state["GG"] = [torch.zeros(sh, sh) for sh in grad.shape] if grad.dim() == 2 else []
                    self.update_preconditioner(grad, state, group)
                    continue

                grad_projected = self.project(grad, state)
                state["step"] += 1
                beta1, beta2 = group["betas"]
                state["exp_avg"].mul_(beta1).add_(grad_projected, alpha=1.0 - beta1)
                state["exp_avg_sq"].mul_(beta2).add_(grad_projected.square(), alpha=1.0 - beta2)
                denom = state["exp_avg_sq"].sqrt().add_(group["eps"])

                step_size = group["lr"] * (1.0 - beta2 ** state["step"]) ** .5 / (1.0 - beta1 ** state["step"])
                p.add_(self.project_back(state["exp_avg"] / denom, state), alpha=-step_size)
                p.add_(p, alpha=-group["lr"] * group["weight_decay"])
                self.update_preconditioner(grad, state, group)
        return loss

    def update_preconditioner(self, grad, state, group):
        for GG, outer in zip(state["GG"], (grad @ grad.mT, grad.mT @ grad) if state["GG"] else ()):
            GG.lerp_(outer, 0.05)
        if state["step"] % group["precondition_frequency"] == 0:
            state["Q"] = [torch.linalg.eigh(GG + 1e-30 * torch.eye(len(GG)))[1].flip(1) for GG in state["GG"]]

    def project(self, grad, state):
        return state["Q"][0].mT @ grad @ state["Q"][1] if state["Q"] else grad

    def project_back(self, grad, state):
        return state["Q"][0] @ grad @ state["Q"][1].mT if state["Q"] else grad


X = torch.linspace(-1, 1, 64).unsqueeze(1)
y = torch.sin(3 * X)
model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
criterion = nn.MSELoss()
optimizer = SOAP(model.parameters(), lr=3e-3, weight_decay=.01, precondition_frequency=10)


# %%
def closure():
    optimizer.zero_grad()
    loss = criterion(model(X), y)
    loss.backward()
    return loss


for epoch in range(20):
    loss = optimizer.step(closure)
    if epoch % 5 == 0:
        print(epoch, loss.item())
