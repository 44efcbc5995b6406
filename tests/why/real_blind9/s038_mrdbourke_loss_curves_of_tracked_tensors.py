# https://github.com/mrdbourke/pytorch-deep-learning/issues/583
import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
train_dataloader = [(torch.rand(8, 3, 8, 8), torch.randint(0, 3, (8,))) for _ in range(4)]


def train_step(model, dataloader, loss_fn, optimizer):
  model.train()
  train_loss, train_acc = 0, 0
  for batch, (X, y) in enumerate(dataloader):
    y_pred = model(X)
    loss = loss_fn(y_pred, y)
    train_loss += loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    y_pred_class = torch.argmax(torch.softmax(y_pred, dim=1), dim=1)
    train_acc += (y_pred_class == y).sum().item()/len(y_pred)
  train_loss = train_loss / len(dataloader)
  train_acc = train_acc / len(dataloader)
  return train_loss, train_acc


def train(model, train_dataloader, optimizer, loss_fn, epochs=5):
  results = {"train_loss": [], "train_acc": []}
  for epoch in range(epochs):
    train_loss, train_acc = train_step(model, train_dataloader, loss_fn, optimizer)
    print(f"Epoch: {epoch} | Train loss: {train_loss:.4f} | Train acc: {train_acc:.4f}")
    results["train_loss"].append(train_loss)
    results["train_acc"].append(train_acc)
  return results


def plot_loss_curves(results):
  loss = results["train_loss"]
  epochs = range(len(results["train_loss"]))
  return np.asarray(epochs), np.asarray([np.asarray(value) for value in loss])


# %%
model_0 = nn.Sequential(nn.Conv2d(3, 6, 3), nn.ReLU(), nn.Flatten(), nn.Linear(216, 3))
results = train(model_0, train_dataloader, torch.optim.Adam(model_0.parameters(), lr=0.001), nn.CrossEntropyLoss(), epochs=3)

# %%
plot_loss_curves(results)
