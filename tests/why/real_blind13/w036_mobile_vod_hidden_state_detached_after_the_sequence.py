# https://github.com/vikrant7/mobile-vod-bottleneck-lstm/issues/25
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class BottleneckLSTMCell(nn.Module):
    def __init__(self, inputs, hidden):
        super().__init__()
        self.bottleneck = nn.Conv2d(inputs + hidden, hidden, 3, padding=1)
        self.gates = nn.Conv2d(hidden, 4 * hidden, 3, padding=1)
        self.hidden = hidden

    def forward(self, x, h, c):
        b = F.relu6(self.bottleneck(torch.cat([x, h], 1)))
        i, f, g, o = self.gates(b).chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * F.relu6(g)
        return torch.sigmoid(o) * F.relu6(c), c


class MobileVOD(nn.Module):
    def __init__(self, hidden=8, classes=3):
        super().__init__()
        self.base = nn.Conv2d(1, 8, 3, 2, 1)
        self.lstm = BottleneckLSTMCell(8, hidden)
        self.classifier, self.regressor = nn.Linear(hidden, classes), nn.Linear(hidden, 4)
        self.h = self.c = None

    def detach_hidden(self):
        self.h, self.c = self.h.detach(), self.c.detach()

    def forward(self, images):
        x = F.relu(self.base(images))
        if self.h is None:
            self.h = self.c = torch.zeros(x.size(0), self.lstm.hidden, *x.shape[2:])
        self.h, self.c = self.lstm(x, self.h, self.c)
        features = self.h.mean((2, 3))
        return self.classifier(features), self.regressor(features)


def criterion(confidence, locations, labels, boxes):
    return F.smooth_l1_loss(locations, boxes), F.cross_entropy(confidence, labels)


def train(loader, net, criterion, optimizer, epoch=-1):
    net.train(True)
    running_loss = 0.0
    for i, data in enumerate(loader):
        images, boxes, labels = data
        for image, box, label in zip(images, boxes, labels):
            optimizer.zero_grad()
            confidence, locations = net(image)
            regression_loss, classification_loss = criterion(confidence, locations, label, box)
            loss = regression_loss + classification_loss
            loss.backward(retain_graph=True)
            optimizer.step()
            running_loss += loss.item()
        net.detach_hidden()
    print(f"Epoch: {epoch}, Average Loss: {running_loss / len(loader):.4f}")


def make_videos(n, frames=4, batch=2):
    return [(torch.randn(frames, batch, 1, 12, 12), torch.rand(frames, batch, 4),
             torch.randint(0, 3, (frames, batch))) for _ in range(n)]


net = MobileVOD()
optimizer = torch.optim.RMSprop(net.parameters(), lr=3e-4)

# %%
for epoch in range(2):
    train(make_videos(3), net, criterion, optimizer, epoch)
