# https://discuss.pytorch.org/t/2nd-order-differential-for-pinn-model/117834
import torch
import torch.nn as nn

torch.manual_seed(0)
n = 50
mlp = nn.Sequential(nn.Linear(2, 20), nn.Tanh(), nn.Linear(20, 20), nn.Tanh(), nn.Linear(20, 1))
X = torch.rand(n, 2)  # x and t

# %%
X.requires_grad = True
p = mlp(X)
grads, = torch.autograd.grad(p, X, grad_outputs=p.data.new(p.shape).fill_(1), create_graph=True, only_inputs=True)
grads1, = torch.autograd.grad(grads, X, grad_outputs=grads.data.new(grads.shape).fill_(1), create_graph=True, only_inputs=True)
dpdx, dpdt = grads[:, 0], grads[:, 1]
dpdxx = grads1[:, 0]

# %%
residual = dpdt - 0.1 * dpdxx
loss = (residual ** 2).mean()
loss.backward()
print(loss.item(), dpdxx[:3])
