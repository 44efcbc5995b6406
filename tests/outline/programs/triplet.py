import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class EmbeddingNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.convnet = nn.Sequential(
            nn.Conv2d(1, 8, 5), nn.PReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3), nn.PReLU()
        )
        self.fc1 = nn.Linear(16 * 4 * 4, 32)
        self.fc2 = nn.Linear(32, 32)
        self.fc3 = nn.Linear(32, 8)

    def forward(self, x):
        x = self.convnet(x).view(x.size(0), -1)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)

    def get_embedding(self, x):
        return self.forward(x)


class TripletNet(nn.Module):
    def __init__(self, embedding_net):
        super().__init__()
        self.embedding_net = embedding_net

    def forward(self, x1, x2, x3):
        return self.embedding_net(x1), self.embedding_net(x2), self.embedding_net(x3)


class TripletLoss(nn.Module):
    def __init__(self, margin):
        super().__init__()
        self.margin = margin

    def forward(self, anchor, positive, negative):
        distance_positive = (anchor - positive).pow(2).sum(1)
        distance_negative = (anchor - negative).pow(2).sum(1)
        return F.relu(distance_positive - distance_negative + self.margin).mean()


model = TripletNet(EmbeddingNet())
loss_fn = TripletLoss(1.0)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
data = (torch.rand(8, 1, 16, 16), torch.rand(8, 1, 16, 16), torch.rand(8, 1, 16, 16))
# %% the recorded cell
model.train()
optimizer.zero_grad()
outputs = model(*data)
loss = loss_fn(*outputs)
loss.backward()
optimizer.step()
