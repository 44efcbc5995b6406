# https://github.com/pytorch/pytorch/issues/51794
import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(10, 10), torch.nn.Linear(10, 10))
params = [{"params": model[0].parameters()}, {"params": model[1].parameters()}]

# %%
# a short warm-up with small steps ...
a = torch.optim.SGD(params, lr=0.01)
x = torch.randn(32, 10)
for _ in range(2):
    loss = (model(x) - x).pow(2).mean()
    a.zero_grad()
    loss.backward()
    a.step()

# ... and then large ones
b = torch.optim.SGD(params, lr=0.5)
for _ in range(10):
    loss = (model(x) - x).pow(2).mean()
    b.zero_grad()
    loss.backward()
    b.step()
print(loss.item(), f"Expected 0.5, got: {b.param_groups[0]['lr']}")
