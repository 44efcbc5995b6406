# https://github.com/pytorch/pytorch/issues/47899
import torch

torch.manual_seed(0)
head = torch.nn.Linear(8, 25)
features = torch.rand(2, 8)

# %%
b = head(features).view(2, 5, 5)
for bb in b:
    bb[:, 0].clamp_(min=0, max=0.3)
    bb[:, 1].clamp_(min=0, max=0.3)
loss = b.pow(2).sum()
loss.backward()
print(head.weight.grad.abs().sum())
