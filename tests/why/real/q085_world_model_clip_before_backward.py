# https://github.com/simchowitzlabpublic/nano-world-model/pull/22
import torch
from torch import nn


class WorldModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 4)
        self.gradient_clip_norm = 1.0

    def training_step(self, batch):
        loss = (self.net(batch) - 50).pow(2).mean()
        torch.nn.utils.clip_grad_norm_(self.parameters(), self.gradient_clip_norm)
        return loss

    def configure_gradient_clipping(self, optimizer):
        pass


# %%
model = WorldModel()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for batch in torch.randn(2, 8, 4):
    loss = model.training_step(batch)
    optimizer.zero_grad()
    loss.backward()
    model.configure_gradient_clipping(optimizer)
    optimizer.step()

# %%
print(model.net.weight.grad.norm())
