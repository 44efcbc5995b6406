# https://github.com/rosinality/vq-vae-2-pytorch/issues/60
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class ResBlock(nn.Module):
    def __init__(self, in_channel, channel):
        super().__init__()

        self.conv = nn.Sequential(
            nn.ReLU(inplace=True),
            nn.Conv2d(in_channel, channel, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(channel, in_channel, 1),
        )

    def forward(self, input):
        out = self.conv(input)
        out += input

        return out


# %%
first = nn.Conv2d(3, 8, 4, stride=2, padding=1)
block = ResBlock(8, 4)
last = nn.ConvTranspose2d(8, 3, 4, stride=2, padding=1)
optimizer = torch.optim.Adam([*first.parameters(), *block.parameters(), *last.parameters()], lr=3e-4)

# %%
for i in range(3):
    img = torch.rand(4, 3, 12, 12) * 2 - 1
    x = first(img)
    out = last(block(x))
    recon_loss = F.mse_loss(out, img)
    optimizer.zero_grad()
    recon_loss.backward()
    optimizer.step()
    print(i, recon_loss.item())
