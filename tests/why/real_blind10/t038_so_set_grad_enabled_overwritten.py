# https://stackoverflow.com/questions/76555136
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)
set_grad_enabled = torch.set_grad_enabled

X = torch.randn(120, 8)
y = (X[:, :2].sum(1, keepdim=True) > 0).float()
X_train, y_train, X_test, y_test = X[:100], y[:100], X[100:], y[100:]

model = nn.Sequential(
    nn.Linear(8, 12),
    nn.ReLU(),
    nn.Linear(12, 1),
    nn.Sigmoid()
)
loss_fn = nn.BCELoss()
optimizer = optim.Adam(model.parameters(), lr=0.01)
n_epochs = 4

# %%
try:
    for epoch in range(n_epochs):
        torch.set_grad_enabled(True)
        model.train()
        for i in range(0, len(X_train), 10):
            y_pred = model(X_train[i:i+10])
            loss = loss_fn(y_pred, y_train[i:i+10])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

        # evaluation without gradients
        model.eval()
        torch.set_grad_enabled = False
        acc = ((model(X_test) > 0.5) == (y_test > 0.5)).float().mean()
        print(f'Finished epoch {epoch}, latest loss {loss}, accuracy {acc}')
finally:
    torch.set_grad_enabled = set_grad_enabled
