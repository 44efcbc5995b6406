# https://discuss.pytorch.org/t/differentiable-indexing-with-float-tensors
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

img_size = 40
width = 0.25


class Detector(nn.Module):
    def __init__(self):
        super(Detector, self).__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(8, 8, 3, stride=2, padding=1), nn.ReLU(),
        )
        self.head = nn.Linear(8 * 10 * 10, 1)

    def forward(self, x):
        return torch.sigmoid(self.head(self.features(x).flatten(1)))


def draw_square(x_center, y_center, value=0.2):
    img = torch.full((3, img_size, img_size), fill_value=1.0, dtype=torch.float32)
    x1 = (x_center - (width / 2)) * img_size
    x2 = (x_center + (width / 2)) * img_size
    y1 = (y_center - (width / 2)) * img_size
    y2 = (y_center + (width / 2)) * img_size
    img[:, int(y1):int(y2), int(x1):int(x2)] = value
    return img


# %%
detector = Detector()
for p in detector.parameters():
    p.requires_grad = False
x_center = (torch.rand(1) * 0.5 + 0.25).requires_grad_()
y_center = (torch.rand(1) * 0.5 + 0.25).requires_grad_()
optimizer = torch.optim.Adam([x_center, y_center], lr=0.01)

# %%
for i in range(5):
    optimizer.zero_grad()
    patched = draw_square(x_center, y_center)
    score = detector(patched.unsqueeze(0))
    loss = F.binary_cross_entropy(score, torch.zeros_like(score))
    loss.backward()
    optimizer.step()
    print(i, loss.item(), x_center.item(), y_center.item())
