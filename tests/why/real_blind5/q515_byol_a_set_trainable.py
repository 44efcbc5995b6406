# https://github.com/nttcslab/byol-a/issues/7
import torch
from torch import nn

torch.manual_seed(0)


class NetworkCommonMixIn():
    def set_trainable(self, trainable=False):
        for p in self.parameters():
            if p.requires_grad:
                p.requires_grad = trainable


class AudioNTT2020(nn.Module, NetworkCommonMixIn):
    def __init__(self, n_mels=8, d=16):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 8, 3, stride=1, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2, stride=2))
        self.fc = nn.Sequential(nn.Linear(8 * (n_mels // 2), d), nn.ReLU(), nn.Dropout(p=0.3), nn.Linear(d, d), nn.ReLU())

    def forward(self, x):
        x = self.features(x)
        x = x.permute(0, 3, 2, 1)
        B, T, D, C = x.shape
        x = self.fc(x.reshape((B, T, C * D)))
        return x.max(dim=1)[0] + x.mean(dim=1)


def run_epochs(model, head, optimizer, n):
    for epoch in range(n):
        lms, y = torch.randn(8, 1, 8, 12), torch.randint(0, 5, (8,))
        loss = nn.functional.cross_entropy(head(model(lms)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(epoch, loss.item())


# %%
model = AudioNTT2020()
head = nn.Linear(16, 5)

# linear evaluation
model.set_trainable(False)
run_epochs(model, head, torch.optim.Adam(head.parameters(), lr=1e-3), 2)

# %%
# fine-tuning of everything
model.set_trainable(True)
model.train()
optimizer = torch.optim.Adam([*model.parameters(), *head.parameters()], lr=1e-3)
before = model.features[0].weight.detach().clone()
run_epochs(model, head, optimizer, 3)
