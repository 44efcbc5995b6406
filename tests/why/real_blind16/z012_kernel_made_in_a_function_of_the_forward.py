# https://discuss.pytorch.org/t/using-mathematical-expression-over-convolution-kernels
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
dtype = torch.float32


def new_conv(x, dim):
    W = nn.Parameter(torch.randn(dim, 2 * x.size(1), 3, 3).type(dtype))
    xMean = x.mean(dim=1, keepdim=True).mean(dim=2, keepdim=True).mean(dim=3, keepdim=True)
    x = x - xMean

    w = W**2
    wMean = w.mean(dim=1, keepdim=True).mean(dim=2, keepdim=True).mean(dim=3, keepdim=True)
    w = F.relu(w - wMean)
    x = torch.cat((x, x**2), 1)  # Channelwise concatenating

    return F.relu(F.conv2d(x, w))


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.bn = nn.BatchNorm2d(8)
        self.fc = nn.Linear(8, 2)

    def forward(self, x):
        x = self.bn(new_conv(x, 8))
        x = x.mean(dim=(2, 3))
        return self.fc(x)


# %%
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)

images = torch.rand(32, 1, 10, 10)
labels = (torch.arange(32) % 2).long()
images[labels == 1] = images[labels == 1].round()

for epoch in range(30):
    optimizer.zero_grad()
    loss = F.cross_entropy(net(images), labels)
    loss.backward()
    optimizer.step()
    if epoch % 5 == 0:
        print(epoch, loss.item())
print(sum(p.numel() for p in net.parameters()), "parameters")
