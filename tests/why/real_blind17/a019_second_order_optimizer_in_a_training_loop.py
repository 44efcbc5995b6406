# https://github.com/Lightning-AI/pytorch-lightning/pull/6147
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class LitModel(nn.Module):
    def __init__(self, lr=1.0, max_iter=20):
        super().__init__()
        self.lr = lr
        self.max_iter = max_iter
        self.layer = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))

    def forward(self, x):
        return self.layer(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        return F.mse_loss(self(x), y)

    def optimizer_step(self, optimizer, closure):
        optimizer.step(closure)

    def optimizer_zero_grad(self, optimizer):
        optimizer.zero_grad()

    def configure_optimizers(self):
        return torch.optim.LBFGS(self.parameters(), lr=self.lr, max_iter=self.max_iter)


class TrainLoop:
    def __init__(self, model):
        self.model = model
        self.losses = []

    def training_step_and_backward(self, batch, batch_idx):
        """wrap the forward step in a closure so second order methods work"""
        loss = self.model.training_step(batch, batch_idx)
        loss.backward()
        self.losses.append(loss.item())
        return loss

    def run_training_batch(self, batch, batch_idx, optimizer):
        def train_step_and_backward_closure():
            return self.training_step_and_backward(batch, batch_idx)

        # optimizer step
        self.model.optimizer_step(optimizer, train_step_and_backward_closure)

        # clear gradients
        self.model.optimizer_zero_grad(optimizer)


class Trainer:
    def __init__(self, max_epochs):
        self.max_epochs = max_epochs

    def fit(self, model, train_dataloader):
        optimizer = model.configure_optimizers()
        self.train_loop = TrainLoop(model)
        model.train()
        for epoch in range(self.max_epochs):
            for batch_idx, batch in enumerate(train_dataloader):
                self.train_loop.run_training_batch(batch, batch_idx, optimizer)
            print(epoch, len(self.train_loop.losses), self.train_loop.losses[-1])


x = torch.randn(64, 4)
y = x @ torch.tensor([[1.0], [-2.0], [0.5], [3.0]]) + 1.0

# %%
model = LitModel()
trainer = Trainer(max_epochs=5)
trainer.fit(model, DataLoader(TensorDataset(x, y), batch_size=64))
