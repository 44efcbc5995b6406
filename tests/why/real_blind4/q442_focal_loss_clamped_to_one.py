# https://github.com/NVIDIA/apex/issues/358
import torch
import torch.nn as nn

torch.manual_seed(0)
device = 'cpu'


class BCEFocalLoss(nn.Module):
    def __init__(self, gamma=0., eps=1e-8):
        super().__init__()
        self.gamma, self.eps = gamma, eps

    def forward(self, y_pred, y_true):
        eps, gamma = self.eps, self.gamma
        y_pred = torch.clamp(y_pred, eps, 1-eps)
        y_true = y_true.unsqueeze(1)
        y_pred = y_pred.unsqueeze(1)
        loss = torch.sum(y_true*torch.pow(1-y_pred, gamma)*torch.log(y_pred) +
                         (1-y_true)*torch.pow(y_pred, gamma)*torch.log(1-y_pred), dim=1)
        return -1.0 * loss.sum() / y_pred.size(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(8, 32)
        self.fc2 = nn.Linear(32, 1)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        return torch.sigmoid(self.fc2(x)).squeeze(1)


# %%
net = Net().to(device)
criterion = BCEFocalLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
scale = torch.tensor([1., 1., 1., 600.])

for i in range(4):
    x = torch.randn(32, 8, device=device) * scale[i]
    y_true = (x[:, 0] > 0).float()
    optimizer.zero_grad()
    y_pred = net(x)
    loss = criterion(y_pred, y_true)
    loss.backward()
    optimizer.step()
    print(i, loss)
