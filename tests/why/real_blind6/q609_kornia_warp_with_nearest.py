# https://github.com/kornia/kornia/issues/827
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class HomographyWarper(nn.Module):
    def __init__(self, height, width, mode='bilinear'):
        super().__init__()
        self.mode = mode
        ys, xs = torch.meshgrid(torch.linspace(-1, 1, height), torch.linspace(-1, 1, width), indexing='ij')
        self.register_buffer('grid', torch.stack([xs, ys, torch.ones_like(xs)], -1).view(1, -1, 3))
        self.size = height, width

    def forward(self, patch_src, theta):
        points = self.grid @ theta.transpose(1, 2)
        grid = (points[..., :2] / (points[..., 2:] + 1e-8)).view(-1, *self.size, 2)
        return F.grid_sample(patch_src.expand(theta.size(0), -1, -1, -1), grid, mode=self.mode, align_corners=True)


class MyModel(nn.Module):
    def __init__(self, out_channels, h, w):
        super().__init__()
        # Custom resnet:
        self.resnet = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, out_channels))
        # Image that will be warped:
        self.template = torch.rand(1, 1, h, w)
        self.warper = HomographyWarper(h, w, mode='nearest')
        # Regressor that outputs the 3x3 homography matrix:
        self.reg = nn.Sequential(
            nn.Linear(out_channels, 32),
            nn.ReLU(True),
            nn.Linear(32, 3 * 3)
        )
        nn.init.normal_(self.reg[-1].weight, std=0.01)
        self.reg[-1].bias.data.copy_(torch.tensor([1, 0, 0, 0, 1, 0, 0, 0, 1], dtype=torch.float))

    def forward(self, x):
        x = self.resnet(x)
        theta = self.reg(x).view(-1, 3, 3)
        return self.warper(self.template, theta), theta


# %%
model = MyModel(16, 12, 12)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.MSELoss()

# %%
for i in range(3):
    x, target = torch.rand(4, 3, 16, 16), torch.rand(4, 1, 12, 12)
    warped, theta = model(x)
    loss = criterion(warped, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(i, loss.item(), model.reg[2].weight.grad.abs().mean().item())
