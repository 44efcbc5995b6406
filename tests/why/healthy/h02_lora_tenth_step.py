# LoRA after ten steps.
import torch
import torch.nn.functional as F
from torch import nn

class LoRA(nn.Module):
    def __init__(self, base, r=2):
        super().__init__()
        self.base = base
        for p in base.parameters():
            p.requires_grad = False
        self.A = nn.Parameter(torch.randn(r, base.in_features) * 0.1)
        self.B = nn.Parameter(torch.zeros(base.out_features, r))

    def forward(self, x):
        return self.base(x) + x @ self.A.T @ self.B.T


model = LoRA(nn.Linear(4, 2))
optimizer = torch.optim.AdamW([model.A, model.B], lr=1e-2)
x, y = torch.randn(16, 4), torch.randint(0, 2, (16,))
for _ in range(10):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
assert bool(model.A.grad.any())
