# https://github.com/PINA-org/PINA/issues/718
import torch
import torch.nn as nn

model = nn.Linear(2, 1)
x, xb = torch.rand(20, 2), torch.rand(10, 2)
losses = {'interior': lambda: model(x).pow(2).mean(), 'boundary': lambda: (model(xb) - 1).pow(2).mean()}


# %%
def compute_loss_grad_norms(losses):
    loss_grads = {}
    for condition, loss in losses.items():
        loss().backward(retain_graph=True)
        grads = torch.cat([p.grad.flatten() for p in model.parameters()])
        loss_grads[condition] = grads.norm()
    return loss_grads


# %%
norms = compute_loss_grad_norms(losses)
true_norm = torch.cat([g.flatten() for g in torch.autograd.grad(losses['boundary'](), list(model.parameters()))]).norm()
print(norms, true_norm)
