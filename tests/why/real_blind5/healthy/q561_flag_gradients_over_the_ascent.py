# https://github.com/devnkong/FLAG/issues/1
from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
args = SimpleNamespace(m=3, step_size=8e-3, lr=0.01)


class GNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin1, self.lin2 = nn.Linear(8, 16), nn.Linear(16, 4)

    def forward(self, x, adj_t):
        return self.lin2(adj_t @ F.relu(self.lin1(adj_t @ x)))


def flag(model_forward, perturb_shape, y, args, optimizer, device, criterion):
    model, forward = model_forward
    model.train()
    optimizer.zero_grad()

    perturb = torch.FloatTensor(*perturb_shape).uniform_(-args.step_size, args.step_size).to(device)
    perturb.requires_grad_()
    out = forward(perturb)
    loss = criterion(out, y)
    loss /= args.m

    for _ in range(args.m - 1):
        loss.backward()
        perturb_data = perturb.detach() + args.step_size * torch.sign(perturb.grad.detach())
        perturb.data = perturb_data.data
        perturb.grad[:] = 0

        out = forward(perturb)
        loss = criterion(out, y)
        loss /= args.m

    loss.backward()
    optimizer.step()
    return loss, out, perturb


# %%
x, y = torch.randn(20, 8), torch.randint(0, 4, (20,))
adj_t = torch.softmax(torch.randn(20, 20), 1)
model = GNN()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
before = model.lin1.weight.detach().clone()

# %%
for epoch in range(3):
    forward = lambda perturb: model(x + perturb, adj_t)
    loss, out, perturb = flag((model, forward), x.shape, y, args, optimizer, 'cpu', F.cross_entropy)
    print(epoch, loss.item() * args.m)
