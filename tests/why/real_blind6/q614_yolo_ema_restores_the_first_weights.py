# https://github.com/MultimediaTechLab/YOLO/issues/97
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ExponentialMovingAverage:
    def __init__(self, model, decay):
        self.model = model
        self.decay = decay
        self.shadow = {}
        for name, param in self.model.named_parameters():
            self.shadow[name] = param.clone().detach()

    def update(self):
        """Update the shadow parameters using the current model parameters."""
        for name, param in self.model.named_parameters():
            self.shadow[name] = ((1.0 - self.decay) * param + self.decay * self.shadow[name]).detach()

    def apply_shadow(self):
        """Apply the shadow parameters to the model."""
        for name, param in self.model.named_parameters():
            param.data.copy_(self.shadow[name])

    def restore(self):
        for name, param in self.model.named_parameters():
            self.shadow[name].copy_(param.data)


class ModelTrainer:
    def __init__(self, model, lr=0.05):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        self.ema = ExponentialMovingAverage(model, decay=0.95)
        self.checkpoints = []

    def train_one_batch(self, images, targets):
        self.optimizer.zero_grad()
        predicts = self.model(images)
        loss = F.cross_entropy(predicts, targets)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def train_one_epoch(self, dataloader):
        self.model.train()
        total_loss = 0
        for images, targets in dataloader:
            total_loss += self.train_one_batch(images, targets)
        return total_loss / len(dataloader)

    def solve(self, dataloader, num_epochs):
        for epoch in range(num_epochs):
            epoch_loss = self.train_one_epoch(dataloader)
            print(f'Epoch {epoch}: {epoch_loss:.4f}')
            self.ema.apply_shadow()
            self.checkpoints.append({k: v.clone() for k, v in self.model.state_dict().items()})
            self.ema.restore()


# %%
yolo = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.SiLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5))
solver = ModelTrainer(yolo)
before = [p.detach().clone() for p in yolo.parameters()]
dataloader = [(torch.rand(8, 3, 8, 8), torch.randint(0, 5, (8,))) for _ in range(5)]

# %%
solver.solve(dataloader, num_epochs=3)
