# https://github.com/guxinqian/AP3D/issues/9
import torch
import torch.nn as nn
from torch.nn import functional as F

torch.manual_seed(0)


class ContrastiveAttention(nn.Module):
    def __init__(self, in_channels):
        super().__init__()
        hidden = in_channels // 2
        self.x_mapping = nn.Conv3d(in_channels, hidden, kernel_size=1, bias=False)
        self.n_mapping = nn.Conv3d(in_channels, hidden, kernel_size=1, bias=False)
        self.contrastive_att_net = nn.Sequential(nn.Conv3d(hidden, 1, kernel_size=1, bias=False), nn.Sigmoid())

    def forward(self, x, neighbor_new):
        # the attention is learnt on the features as they are
        x_att = self.x_mapping(x.detach())
        n_att = self.n_mapping(neighbor_new.detach())
        contrastive_att = self.contrastive_att_net(x_att * n_att)
        return neighbor_new * contrastive_att


class APNet(nn.Module):
    def __init__(self, num_classes, channels=16):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv3d(3, channels, (1, 3, 3), padding=(0, 1, 1)), nn.ReLU())
        self.attention = ContrastiveAttention(channels)
        self.temporal = nn.Conv3d(channels, channels, (3, 1, 1), stride=(3, 1, 1))
        self.classifier = nn.Linear(channels, num_classes)

    def forward(self, clip):
        x = self.backbone(clip)
        b, c, t, h, w = x.shape
        previous = torch.cat([x[:, :, :1], x[:, :, :-1]], dim=2)
        following = torch.cat([x[:, :, 1:], x[:, :, -1:]], dim=2)
        previous, following = self.attention(x, previous), self.attention(x, following)
        x = torch.stack([previous, x, following], dim=3).reshape(b, c, t * 3, h, w)
        x = self.temporal(x)
        return self.classifier(F.relu(x).mean((2, 3, 4)))


# %%
model = APNet(num_classes=4)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=5e-4)
patterns = torch.randn(4, 3, 1, 6, 6)
pids = torch.arange(4).repeat(6)
vids = patterns[pids] + 0.3 * torch.randn(24, 3, 4, 6, 6)

# %%
batch_losses = []
for epoch in range(25):
    model.train()
    outputs = model(vids)
    loss = criterion(outputs, pids)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    batch_losses.append(loss.item())
print(batch_losses[0], batch_losses[-1])
assert batch_losses[-1] < 0.7 * batch_losses[0]
assert model.attention.x_mapping.weight.grad.abs().sum() > 0
assert model.backbone[0].weight.grad.abs().sum() > 0
