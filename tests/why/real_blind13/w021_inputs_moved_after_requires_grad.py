# https://github.com/pytorch/pytorch/issues/12627
import torch
from torch import nn, optim
import torch.nn.functional as F

torch.manual_seed(0)
gpu = torch.float64  # a copy, as the move to a GPU is

inputs = torch.Tensor(torch.randn(3, 5))
targets = torch.Tensor([1, 2, 3]).long()
inputs.requires_grad = True

inputs, targets = inputs.to(gpu), targets

# %%
Net = nn.Sequential(
    nn.Linear(5, 5),
    nn.Softmax(dim=0)
).to(gpu)

Net.train()
out = Net(inputs[0])
optimizer = optim.Adam(Net.parameters(), lr=0.001)
loss_fn = nn.NLLLoss()

for i in range(1):
    optimizer.zero_grad()

    loss = loss_fn(out.view(1, 5), targets[0].view(1))
    loss.backward(retain_graph=True)
    print(inputs.grad)
    optimizer.step()
