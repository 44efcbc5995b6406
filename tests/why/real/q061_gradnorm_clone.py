# https://github.com/hosseinshn/GradNorm/issues/10
import torch
import torch.nn as nn

shared, head1, head2 = nn.Linear(4, 8), nn.Linear(8, 1), nn.Linear(8, 1)
x, y1, y2 = torch.randn(16, 4), torch.randn(16, 1), torch.randn(16, 1)
weights = [torch.tensor(1.0, requires_grad=True), torch.tensor(1.0, requires_grad=True)]

# %%
h = torch.relu(shared(x))
L1 = weights[0] * nn.functional.mse_loss(head1(h), y1)
L2 = weights[1] * nn.functional.mse_loss(head2(h), y2)

# %%
param = list(shared.parameters())
G1R = torch.autograd.grad(L1, param[0].clone(), retain_graph=True, create_graph=True)
G1 = torch.norm(G1R[0], 2)
print(G1)
