# https://github.com/microsoft/protein-frame-flow/issues/23
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 3)
x, y, z = torch.randn(8, 4), torch.randn(8, 3), torch.randn(8, 3)


def model_step(out):
    se3_vf_loss = ((out - y) ** 2).mean()
    auxiliary_loss = (out - z).abs().mean()
    se3_vf_loss += auxiliary_loss
    return {"se3_vf_loss": se3_vf_loss, "auxiliary_loss": auxiliary_loss}


def training_step():
    total_losses = model_step(model(x))
    train_loss = total_losses["se3_vf_loss"] + total_losses["auxiliary_loss"]
    return train_loss


optimizer = torch.optim.SGD(model.parameters(), lr=0.0001)
optimizer.zero_grad()
train_loss = training_step()
train_loss.backward()
print(train_loss.item())
(plain,) = torch.autograd.grad(((model(x) - y) ** 2).mean(), model.weight)
(aux,) = torch.autograd.grad((model(x) - z).abs().mean(), model.weight)
