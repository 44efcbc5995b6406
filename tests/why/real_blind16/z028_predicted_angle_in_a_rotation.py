# https://rubsky.top/post/tensor%E5%92%8Cstack%E5%9C%A8%E6%B1%82%E5%AF%BC%E6%97%B6%E7%9A%84%E5%8C%BA%E5%88%AB
import torch
import torch.nn as nn

torch.manual_seed(0)


class AngleNet(nn.Module):
    """Predicts the angle by which a set of points was turned."""

    def __init__(self, points=5, hidden=32):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(4 * points, hidden), nn.ReLU(),
            nn.Linear(hidden, hidden), nn.ReLU(),
            nn.Linear(hidden, 1),
        )

    def forward(self, a, b):
        return self.layers(torch.cat([a.flatten(), b.flatten()])).squeeze(0)


def rotation(theta):
    return torch.tensor([[torch.cos(theta), -torch.sin(theta)],
                         [torch.sin(theta), torch.cos(theta)]], requires_grad=True)


def sample(points=5):
    a = torch.randn(points, 2)
    angle = torch.empty(()).uniform_(-1.5, 1.5)
    return a, a @ rotation(angle).detach().T


net = AngleNet()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
criterion = nn.MSELoss()

# %%
for step in range(50):
    optimizer.zero_grad()
    total = 0
    for _ in range(8):
        a, b = sample()
        theta = net(a, b)
        R = rotation(theta)
        loss = criterion(a @ R.T, b)
        loss.backward()
        total += loss.item()
    optimizer.step()
    if step % 10 == 0:
        print(step, total / 8)

print(R.grad)
print(net.layers[0].weight.grad)
