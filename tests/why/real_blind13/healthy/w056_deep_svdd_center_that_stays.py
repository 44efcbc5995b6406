# https://github.com/lukasruff/Deep-SVDD-PyTorch/issues/21
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class MLPNet(nn.Module):
    def __init__(self, rep_dim=8):
        super().__init__()
        self.rep_dim = rep_dim
        self.fc1 = nn.Linear(16, 32, bias=False)
        self.bn1 = nn.BatchNorm1d(32, eps=1e-04, affine=False)
        self.fc2 = nn.Linear(32, rep_dim, bias=False)

    def forward(self, x):
        return self.fc2(nn.functional.leaky_relu(self.bn1(self.fc1(x))))


def get_radius(dist, nu):
    return np.quantile(np.sqrt(dist.clone().data.cpu().numpy()), 1 - nu)


class DeepSVDDTrainer:
    def __init__(self, nu=0.1, lr=1e-3, n_epochs=20, warm_up_n_epochs=5):
        self.R = torch.tensor(0.0)
        self.c = None
        self.nu, self.lr, self.n_epochs, self.warm_up = nu, lr, n_epochs, warm_up_n_epochs
        self.history = []

    def init_center_c(self, loader, net, eps=0.1):
        c = torch.zeros(net.rep_dim)
        n_samples = 0
        net.eval()
        with torch.no_grad():
            for (inputs,) in loader:
                outputs = net(inputs)
                n_samples += len(outputs)
                c += outputs.sum(0)
        c /= n_samples
        c[(c.abs() < eps) & (c < 0)] = -eps
        c[(c.abs() < eps) & (c > 0)] = eps
        return c

    def train(self, loader, net):
        optimizer = torch.optim.Adam(net.parameters(), lr=self.lr, weight_decay=1e-6)
        self.c = self.init_center_c(loader, net)
        net.train()
        for epoch in range(self.n_epochs):
            loss_epoch = 0.0
            for (inputs,) in loader:
                optimizer.zero_grad()
                outputs = net(inputs)
                dist = torch.sum((outputs - self.c) ** 2, dim=1)
                scores = dist - self.R ** 2
                loss = self.R ** 2 + (1 / self.nu) * torch.mean(torch.max(torch.zeros_like(scores), scores))
                loss.backward()
                optimizer.step()
                if epoch >= self.warm_up:
                    self.R.data = torch.tensor(get_radius(dist, self.nu), dtype=torch.float32)
                loss_epoch += loss.item()
            self.history.append(loss_epoch / len(loader))
        return net


# %%
mixing = torch.randn(4, 16)
normal_data = torch.randn(512, 4) @ mixing
loader = DataLoader(TensorDataset(normal_data), batch_size=64, shuffle=True)
net = MLPNet()
trainer = DeepSVDDTrainer()
trainer.train(loader, net)

# %%
net.eval()
with torch.no_grad():
    inside = ((net(torch.randn(200, 4) @ mixing) - trainer.c) ** 2).sum(1)
    outside = ((net(4 * torch.randn(200, 16)) - trainer.c) ** 2).sum(1)
auc = (outside[:, None] > inside[None, :]).float().mean().item()
print(trainer.history[0], trainer.history[-1], trainer.R.item(), auc)
assert trainer.history[-1] < trainer.history[0]
assert trainer.R.item() > 0 and not trainer.c.requires_grad and auc > 0.85
