# https://github.com/CSCYQJ/MICCAI23-ProtoContra-SFDA/issues/18
import torch
import torch.nn as nn


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.inc = nn.Conv2d(1, 4, 3, padding=1)
        self.outc = nn.Conv2d(4, 2, 1)

    def forward(self, x):
        return self.outc(torch.relu(self.inc(x)))


model = UNet()
model.outc.requires_grad = False
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
before = model.outc.weight.detach().clone()

# %%
x, y = torch.randn(2, 1, 8, 8), torch.randint(2, (2, 8, 8))
loss = nn.functional.cross_entropy(model(x), y)
optimizer.zero_grad()
loss.backward()
optimizer.step()

# %%
print(torch.equal(before, model.outc.weight))
