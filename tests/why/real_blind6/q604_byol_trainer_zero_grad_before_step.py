# https://github.com/lucidrains/byol-pytorch/issues/93
import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


def MLP(dim, projection_size, hidden_size=32):
    return nn.Sequential(nn.Linear(dim, hidden_size), nn.BatchNorm1d(hidden_size), nn.ReLU(inplace=True), nn.Linear(hidden_size, projection_size))


class BYOL(nn.Module):
    def __init__(self, net, dim=8, projection_size=16, moving_average_decay=0.99):
        super().__init__()
        self.online_encoder = nn.Sequential(net, MLP(dim, projection_size))
        self.target_encoder = copy.deepcopy(self.online_encoder)
        for p in self.target_encoder.parameters():
            p.requires_grad = False
        self.online_predictor = MLP(projection_size, projection_size)
        self.decay = moving_average_decay

    @torch.no_grad()
    def update_moving_average(self):
        for current, ma in zip(self.online_encoder.parameters(), self.target_encoder.parameters()):
            ma.data = ma.data * self.decay + (1 - self.decay) * current.data

    def forward(self, x):
        image_one, image_two = x + 0.1 * torch.randn_like(x), x.flip(-1)
        preds = self.online_predictor(self.online_encoder(torch.cat((image_one, image_two))))
        with torch.no_grad():
            targets = self.target_encoder(torch.cat((image_two, image_one)))
        return (2 - 2 * F.cosine_similarity(preds, targets, dim=-1)).mean()


class MockDataset(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, idx):
        return torch.randn(3, 8, 8)


class BYOLTrainer(nn.Module):
    def __init__(self, net, dataset, num_train_steps, learning_rate=3e-3):
        super().__init__()
        self.net, self.byol = net, BYOL(net)
        self.optimizer = torch.optim.Adam(self.byol.parameters(), lr=learning_rate)
        self.dataloader = DataLoader(dataset, shuffle=True, batch_size=16)
        self.num_train_steps = num_train_steps

    def forward(self):
        data_it = iter(self.dataloader)
        for _ in range(self.num_train_steps):
            images = next(data_it)
            loss = self.byol(images)
            loss.backward()
            print(f'loss {loss.item():.3f}')

            self.optimizer.zero_grad()
            self.optimizer.step()

            self.byol.update_moving_average()
        print('training complete')


# %%
resnet = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
trainer = BYOLTrainer(resnet, MockDataset(), num_train_steps=4)
before = [p.detach().clone() for p in trainer.net.parameters()]

# %%
trainer()
