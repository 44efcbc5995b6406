# https://github.com/SimonThomine/RememberingNormality/issues/7
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class NM(nn.Module):
    """Normality memory: the features are put together of stored ones."""

    def __init__(self, channel, L=12):
        super().__init__()
        self.keys = torch.randn(L, channel)
        self.values = torch.randn(L, channel)

    def forward(self, x):
        b, c, h, w = x.shape
        query = x.permute(0, 2, 3, 1).reshape(-1, c)
        attention = F.softmax(query @ self.keys.t() / c ** 0.5, dim=1)
        out = attention @ self.values
        return out.view(b, h, w, c).permute(0, 3, 1, 2)


# %%
encoder, memory, decoder = nn.Conv2d(3, 8, 3, padding=1), NM(8), nn.Conv2d(8, 3, 3, padding=1)
student = nn.Sequential(encoder, memory, decoder)
optimizer = torch.optim.Adam(student.parameters(), lr=0.005)
keys_before = memory.keys.clone()

# %%
for epoch in range(5):
    image = torch.rand(2, 3, 6, 6)
    loss = F.mse_loss(student(image), image)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
