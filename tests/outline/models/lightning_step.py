# A step as Lightning does it: training_step, configure_optimizers, and logging that reads values
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, 2, 1)
        self.conv2 = nn.Conv2d(8, 16, 3, 2, 1)
        self.norm = nn.BatchNorm1d(16)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        return self.norm(x.mean((2, 3)))


class LitClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = Backbone()
        self.classifier = nn.Linear(16, 10)
        self.logged = {}

    def log(self, name, value):
        self.logged[name] = value.detach()

    def forward(self, x):
        return self.classifier(self.backbone(x))

    def training_step(self, batch, batch_idx):
        x, y = batch
        logits = self(x)
        loss = F.cross_entropy(logits, y)
        self.log("train_acc", (logits.argmax(-1) == y).float().mean())
        self.log("train_loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


class Trainer:
    def fit(self, module, loader):
        optimizer = module.configure_optimizers()
        self.optimizers = [optimizer]
        module.train()
        for batch_idx, batch in enumerate(loader):
            optimizer.zero_grad()
            loss = module.training_step(batch, batch_idx)
            loss.backward()
            optimizer.step()


model = LitClassifier()
loader = [(torch.randn(8, 1, 16, 16), torch.randint(10, (8,)))]
# %% the recorded cell
trainer = Trainer()
trainer.fit(model, loader)
