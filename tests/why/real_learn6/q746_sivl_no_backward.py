# https://github.com/aalto-intelligent-robotics/sivl/issues/2
import torch
import torch.nn as nn

torch.manual_seed(0)


class SimilarityModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4))

    def forward(self, a, b):
        return nn.functional.cosine_similarity(self.net(a), self.net(b))


def train_one_epoch(model, loader, optimizer, criterion):
    running_loss = 0.0
    for i, (uav, map_, label) in enumerate(loader):
        optimizer.zero_grad()
        output = model(uav, map_)
        loss = criterion(output, label)
        optimizer.step()
        running_loss += loss.item()
    return running_loss / len(loader), loss


# %%
model = SimilarityModel()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.MSELoss()
w_before = model.net[0].weight.detach().clone()

# %%
loader = [(torch.rand(4, 3, 8, 8), torch.rand(4, 3, 8, 8), torch.randint(0, 2, (4,)).float()) for _ in range(3)]
for epoch in range(3):
    train_loss, loss = train_one_epoch(model, loader, optimizer, criterion)
    print(epoch, train_loss)
