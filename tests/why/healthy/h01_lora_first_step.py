# LoRA in its first step: B is zeros, so A gets zeros, as it is meant.
import torch
import torch.nn.functional as F
from torch import nn

class LoRA(nn.Module):
    def __init__(self, base, r=2):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.A = nn.Parameter(torch.randn(r, base.in_features) * 0.1)
        self.B = nn.Parameter(torch.zeros(base.out_features, r))

    def forward(self, x):
        return self.base(x) + x @ self.A.T @ self.B.T


model = nn.Sequential(LoRA(nn.Linear(4, 8)), nn.ReLU(), LoRA(nn.Linear(8, 2)))
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)
x, y = torch.randn(16, 4), torch.randint(0, 2, (16,))
loss = F.cross_entropy(model(x), y)
optimizer.zero_grad()
loss.backward()
optimizer.step()
assert all(p.grad is not None for p in model.parameters() if p.requires_grad)
