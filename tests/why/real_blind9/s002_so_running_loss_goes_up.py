# https://stackoverflow.com/questions/71514447
import torch
import torch.nn as nn

torch.manual_seed(0)
device = "cpu"
y_all = torch.randint(0, 2, (256,))
x_all = torch.randn(256, 8) + 1.5 * y_all[:, None]
train_loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x_all, y_all), batch_size=32)
criterion = nn.CrossEntropyLoss()
train_losses = []


# %%
def train_model(model, optimizer, train_loader,  num_epochs, criterion=criterion):
  model.train()

  running_loss=0
  correct=0
  total=0

  for epoch in range(num_epochs):
    for i, (x_train, y_train) in enumerate(train_loader):

      x_train = x_train.to(device)
      y_train = y_train.to(device)

      y_pred = model(x_train)
      loss = criterion(y_pred, y_train)

      optimizer.zero_grad()
      loss.backward()
      optimizer.step()

      running_loss += loss.item()

      _, predicted = y_pred.max(1)

      total += y_train.size(0)
      correct += predicted.eq(y_train).sum().item()

    train_loss=running_loss/len(train_loader)
    train_accu=100.*correct/total
    train_losses.append(train_loss)

    print('Train Loss: %.3f | Train Accuracy: %.3f'%(train_loss,train_accu))
  return loss


# %%
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loss = train_model(model, optimizer, train_loader, 6)
