# https://github.com/lorenmt/auto-lambda/issues/10
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class MTLNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU())
        self.pred_seg = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 5, 1))
        self.pred_depth = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 1))

    def forward(self, x):
        h = self.shared(x)
        return self.pred_seg(h), self.pred_depth(h)


class Trainer:
    def __init__(self, model):
        self.model = model
        self.weights = [1.0, 1.0]
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def model_fit(self, preds, targets):
        seg = F.cross_entropy(preds[0], targets[0])
        depth = F.l1_loss(preds[1], targets[1])
        return [seg, depth]

    def step(self, x, targets):
        train_pred = self.model(x)
        train_loss = self.model_fit(train_pred, targets)
        loss = sum(w * train_loss[i] for i, w in enumerate(self.weights[:1]))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return [l.item() for l in train_loss]


# %%
model = MTLNet()
trainer = Trainer(model)

# %%
x = torch.rand(2, 3, 8, 8)
targets = torch.randint(0, 5, (2, 8, 8)), torch.rand(2, 1, 8, 8)
for epoch in range(3):
    print(trainer.step(x, targets))
for name, param in model.named_parameters():
    if param.grad is None:
        print(name)
