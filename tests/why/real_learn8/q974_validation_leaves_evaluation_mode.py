# https://github.com/fartashf/vsepp/issues/4
import torch
from torch import nn

torch.manual_seed(0)


class VSE:
    def __init__(self):
        self.enc = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.5))
        self.head = nn.Linear(8, 1)
        params = [*self.enc.parameters(), *self.head.parameters()]
        self.optimizer = torch.optim.Adam(params, lr=0.01)
        self.Eiters = 0

    def train_start(self):
        self.enc.train()

    def val_start(self):
        self.enc.eval()

    def train_emb(self, x, y):
        self.Eiters += 1
        self.optimizer.zero_grad()
        loss = ((self.head(self.enc(x)) - y) ** 2).mean()
        loss.backward()
        self.optimizer.step()


def validate(batch, model):
    model.val_start()
    with torch.no_grad():
        return model.head(model.enc(batch)).mean().item()


model = VSE()
val_batch = torch.randn(4, 6)
modes = []
for epoch in range(2):
    model.train_start()
    for i in range(6):
        modes.append(model.enc.training)
        model.train_emb(torch.randn(8, 6), torch.randn(8, 1))
        if model.Eiters % 2 == 0:
            validate(val_batch, model)
print(modes)
