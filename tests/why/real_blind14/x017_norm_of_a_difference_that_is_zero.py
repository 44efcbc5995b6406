# https://github.com/pytorch/pytorch/issues/2421
import torch
import torch.nn as nn

torch.manual_seed(0)


class Step(nn.Module):
    """Moves x towards the solution of A x = b; the distance moved is penalised."""

    def __init__(self, n=4):
        super().__init__()
        self.size = nn.Parameter(torch.tensor(0.0))

    def forward(self, A, b, x):
        direction = A.t() @ (b - A @ x)
        return x + self.size * direction


# %%
A, b = torch.randn(6, 4), torch.randn(6)
model = Step()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
x = torch.zeros(4)
for it in range(3):
    new = model(A, b, x)
    residual = (b - A @ new).pow(2).sum()
    moved = (new - x).pow(2).sum().sqrt()
    loss = residual + 0.1 * moved
    optimizer.zero_grad()
    loss.backward()
    # a line search that starts at size 0
    optimizer.step()
    print(it, loss.item(), model.size.item())
