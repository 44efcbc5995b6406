# https://github.com/MrChenFeng/Adaptive-Soft-Contrastive-Learning_ICPR2022/issues/2
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ASCL(nn.Module):
    def __init__(self, name="byol"):
        super().__init__()
        self.name = name
        self.encoder_q = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 8))
        self.encoder_k = copy.deepcopy(self.encoder_q).requires_grad_(False)
        self.predictor = nn.Linear(8, 8)

    def forward(self, im_q, im_k):
        q = self.encoder_q(im_q)
        with torch.no_grad():
            k = F.normalize(self.encoder_k(im_k), dim=1)
        if self.name == "byol":
            p, z = F.normalize(self.predictor(q), dim=1), k
            loss = 2 - 2 * (p * z).sum(dim=-1)
            return loss
        logits = F.normalize(q, dim=1) @ k.t() / 0.1
        return F.cross_entropy(logits, torch.arange(len(q)))


# %%
model = ASCL("byol")
optimizer = torch.optim.SGD(model.parameters(), lr=0.06)

# %%
im_q, im_k = torch.randn(8, 12), torch.randn(8, 12)
loss = model(im_q, im_k)
optimizer.zero_grad()
loss.backward()
optimizer.step()
