# https://github.com/wkentaro/pytorch-fcn/issues/57
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class FCN(nn.Module):
    def __init__(self, n_class=4):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1)
        self.fc6 = nn.Conv2d(16, 32, 3, padding=1)
        self.drop6 = nn.Dropout2d()
        self.score_fr = nn.Conv2d(32, n_class, 1)

    def forward(self, x):
        h = F.max_pool2d(F.relu(self.conv1(x)), 2)
        h = self.drop6(F.relu(self.fc6(h)))
        return F.interpolate(self.score_fr(h), scale_factor=2)


class Trainer(object):
    def __init__(self, model, optimizer, train_loader, val_loader, interval_validate=2):
        self.model, self.optim = model, optimizer
        self.train_loader, self.val_loader = train_loader, val_loader
        self.interval_validate = interval_validate
        self.epoch = self.iteration = 0

    def validate(self):
        self.model.eval()
        val_loss = 0
        for data, target in self.val_loader:
            with torch.no_grad():
                score = self.model(data)
            val_loss += F.cross_entropy(score, target).item()
        print('valid', val_loss / len(self.val_loader))

    def train_epoch(self):
        self.model.train()
        for batch_idx, (data, target) in enumerate(self.train_loader):
            self.iteration = batch_idx + self.epoch * len(self.train_loader)
            if self.iteration % self.interval_validate == 0:
                self.validate()
            self.optim.zero_grad()
            score = self.model(data)
            loss = F.cross_entropy(score, target)
            loss.backward()
            self.optim.step()
            print('train', self.epoch, self.iteration, loss.item())


# %%
def loader(n):
    return [(torch.rand(2, 3, 8, 8), torch.randint(0, 4, (2, 8, 8))) for _ in range(n)]


model = FCN()
optim = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.99)
trainer = Trainer(model, optim, loader(5), loader(2))

# %%
for trainer.epoch in range(2):
    trainer.train_epoch()
