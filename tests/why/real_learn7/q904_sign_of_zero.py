# https://discuss.pytorch.org/t/incorrect-gradient-computation
import torch
import torch.nn.functional as F

z = torch.tensor([1.0], requires_grad=True, dtype=torch.float64)
margin = torch.tensor([0.0, 0.5, -0.3], dtype=torch.float64)
thresh = 1e-10
beta = 1.0
tau = 1.0


def hinge(z):
    safe = margin + torch.sign(margin) * thresh
    return F.softplus(tau - z / safe, beta=beta) * torch.abs(safe)


# %%
loss = hinge(z).sum()
loss.backward()
manual_grad = (torch.sigmoid(beta * (tau - z / (margin + 1e-10))) * -torch.sign(margin)).sum()
print(loss, z.grad, manual_grad)
