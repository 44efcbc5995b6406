# https://github.com/WenjieDu/PyPOTS/issues/667
from copy import deepcopy

import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)
np.random.seed(0)


class BaseNNModel:
    def __init__(self, batch_size=16, epochs=10, patience=None):
        self.batch_size, self.epochs = batch_size, epochs
        self.patience = epochs + 1 if patience is None else patience
        self.original_patience = self.patience
        self.model = None
        self.optimizer = None
        self.best_model_dict = None
        self.best_loss = float("inf")
        self.best_epoch = -1

    def _train_model(self, training_loader, val_loader):
        self.best_loss = float("inf")
        self.best_model_dict = None
        for epoch in range(1, self.epochs + 1):
            self.model.train()
            epoch_train_loss_collector = []
            for X, y in training_loader:
                self.optimizer.zero_grad()
                loss = nn.functional.mse_loss(self.model(X), y)
                loss.backward()
                self.optimizer.step()
                epoch_train_loss_collector.append(loss.item())
            mean_train_loss = np.mean(epoch_train_loss_collector)

            self.model.eval()
            with torch.no_grad():
                mean_val_loss = np.mean([nn.functional.mse_loss(self.model(X), y).item() for X, y in val_loader])
            print(f"Epoch {epoch:03d} - training loss: {mean_train_loss:.4f}, validation loss: {mean_val_loss:.4f}")

            if mean_val_loss < self.best_loss:
                self.best_epoch = epoch
                self.best_loss = mean_val_loss
                self.best_model_dict = self.model.state_dict()
                self.patience = self.original_patience
            else:
                self.patience -= 1
            if self.patience == 0:
                break

    def fit(self, train_set, val_set):
        global last_state
        self._train_model(train_set, val_set)
        last_state = {k: v.clone() for k, v in self.model.state_dict().items()}
        # load the best model
        self.model.load_state_dict(self.best_model_dict)
        self.model.eval()
        print(f"Finished training. The best model is from epoch#{self.best_epoch}.")


# %%
class Regressor(BaseNNModel):
    def __init__(self, lr=0.6, **kwargs):
        super().__init__(**kwargs)
        self.model = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=lr, momentum=0.9)


X = torch.randn(96, 5)
y = X[:, :1] * X[:, 1:2] + 0.5 * torch.randn(96, 1)
train_set = [(X[i:i + 16], y[i:i + 16]) for i in range(0, 64, 16)]
pots = Regressor(epochs=8)
pots.fit(train_set, [(X[64:], y[64:])])
