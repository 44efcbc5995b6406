# https://github.com/MC-E/Deep-Generalized-Unfolding-Networks-for-Image-Restoration/issues/6
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class CharbonnierLoss(nn.Module):
    def __init__(self, eps=1e-3):
        super().__init__()
        self.eps = eps

    def forward(self, x, y):
        diff = x - y
        return torch.mean(torch.sqrt((diff * diff) + (self.eps * self.eps)))


class EdgeLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.kernel = torch.tensor([[0.0, 1.0, 0.0], [1.0, -4.0, 1.0], [0.0, 1.0, 0.0]]).repeat(3, 1, 1, 1)
        self.loss = CharbonnierLoss()

    def laplacian_kernel(self, img):
        return F.conv2d(img, self.kernel, groups=3, padding=1)

    def forward(self, x, y):
        return self.loss(self.laplacian_kernel(x), self.laplacian_kernel(y))


class DGUNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stage1 = nn.Conv2d(3, 3, 3, padding=1)
        self.stage2 = nn.Conv2d(3, 3, 3, padding=1)

    def forward(self, x):
        x1 = x + self.stage1(x)
        return [x1 + self.stage2(x1), x1]


# %%
model_restoration = DGUNet()
optimizer = torch.optim.Adam(model_restoration.parameters(), lr=1e-4)
criterion_char = CharbonnierLoss()
criterion_edge = EdgeLoss()

# %%
for epoch in range(3):
    target = torch.rand(2, 3, 8, 8)
    input_ = target + 0.1 * torch.randn_like(target)
    for param in model_restoration.parameters():
        param.grad = None
    restored = model_restoration(input_)
    loss_char = torch.tensor([criterion_char(restored[j], target) for j in range(len(restored))], requires_grad=True).sum()
    loss_edge = torch.tensor([criterion_edge(restored[j], target) for j in range(len(restored))], requires_grad=True).sum()
    loss = (loss_char) + (0.05 * loss_edge)
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
