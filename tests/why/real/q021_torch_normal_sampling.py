# https://github.com/pytorch/pytorch/issues/4620
import torch
from torch.autograd import Variable

mu = Variable(torch.Tensor([1]), requires_grad=True)
sigma = Variable(torch.Tensor([1]), requires_grad=True)

# %%
loss = torch.pow(torch.normal(mu, sigma), 2)
loss.backward()

# %%
print(mu.grad, sigma.grad)
