# https://github.com/chaddy1004/sobel-operator-pytorch/issues/1
import torch
import torch.nn as nn

torch.manual_seed(0)


class Sobel(nn.Module):
    def __init__(self):
        super().__init__()
        self.filter = nn.Conv2d(in_channels=1, out_channels=2, kernel_size=3, stride=1, padding=0, bias=False)
        Gx = torch.tensor([[2.0, 0.0, -2.0], [4.0, 0.0, -4.0], [2.0, 0.0, -2.0]])
        Gy = torch.tensor([[2.0, 4.0, 2.0], [0.0, 0.0, 0.0], [-2.0, -4.0, -2.0]])
        G = torch.cat([Gx.unsqueeze(0), Gy.unsqueeze(0)], 0).unsqueeze(1)
        self.filter.weight = nn.Parameter(G, requires_grad=False)

    def forward(self, img):
        x = self.filter(img)
        x = torch.mul(x, x)
        x = torch.sum(x, dim=1, keepdim=True)
        x = torch.sqrt(x)
        return x


# %%
net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 3, padding=1), nn.Sigmoid())
sobel = Sobel()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
mask = torch.zeros(1, 1, 16, 16)
mask[:, :, 2:9, 2:9] = 1
for epoch in range(2):
    img = torch.rand(4, 1, 16, 16)
    target = img * mask
    out = net(img) * mask
    loss = nn.functional.l1_loss(out, target) + 0.1 * nn.functional.l1_loss(sobel(out), sobel(target))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
