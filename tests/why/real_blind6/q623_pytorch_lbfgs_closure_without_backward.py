# https://github.com/pytorch/pytorch/issues/38006
import torch
import torch.nn as nn

torch.manual_seed(0)

model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
loss_fn = nn.MSELoss()
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5)
x = torch.rand(64, 2)
dataset = [(x, (3 * x[:, :1] - x[:, 1:]).sin())]
before = [p.detach().clone() for p in model.parameters()]

# %%
for epoch in range(5):
    for input, target in dataset:

        def closure():
            # should not change the parameter gradients
            output = model(input)
            loss = loss_fn(output, target)
            return loss

        loss = optimizer.step(closure)
    print(epoch, loss.item())
