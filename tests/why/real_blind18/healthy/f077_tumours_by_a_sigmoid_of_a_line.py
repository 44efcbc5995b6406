# https://github.com/patrickloeber/pytorchTutorial/blob/master/08_logistic_regression.py
import torch
import torch.nn as nn
import numpy as np

np.random.seed(1234)
torch.manual_seed(0)

# 0) Prepare data
n_samples, n_features = 569, 30
y = (np.random.rand(n_samples) < 0.63).astype(np.float64)
X = np.random.randn(n_samples, 6) @ np.random.randn(6, n_features) + np.random.randn(n_samples, n_features)
X = (X + np.outer(1.5 * y, np.random.randn(n_features))) * np.exp(np.random.randn(n_features)) + 10
order = np.random.permutation(n_samples)
test, train = order[:114], order[114:]
X_train, X_test, y_train, y_test = X[train], X[test], y[train], y[test]

# scale
mean, std = X_train.mean(0), X_train.std(0)
X_train = (X_train - mean) / std
X_test = (X_test - mean) / std

X_train = torch.from_numpy(X_train.astype(np.float32))
X_test = torch.from_numpy(X_test.astype(np.float32))
y_train = torch.from_numpy(y_train.astype(np.float32))
y_test = torch.from_numpy(y_test.astype(np.float32))

y_train = y_train.view(y_train.shape[0], 1)
y_test = y_test.view(y_test.shape[0], 1)


# %%
# 1) Model
# Linear model f = wx + b , sigmoid at the end
class Model(nn.Module):
    def __init__(self, n_input_features):
        super(Model, self).__init__()
        self.linear = nn.Linear(n_input_features, 1)

    def forward(self, x):
        y_pred = torch.sigmoid(self.linear(x))
        return y_pred


model = Model(n_features)

# 2) Loss and optimizer
num_epochs = 300
learning_rate = 0.01
criterion = nn.BCELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)

# %%
# 3) Training loop
losses = []
for epoch in range(num_epochs):
    # Forward pass and loss
    y_pred = model(X_train)
    loss = criterion(y_pred, y_train)

    # Backward pass and update
    loss.backward()
    optimizer.step()

    # zero grad before new step
    optimizer.zero_grad()
    losses.append(loss.item())

    if (epoch + 1) % 50 == 0:
        print(f'epoch: {epoch+1}, loss = {loss.item():.4f}')

# %%
with torch.no_grad():
    y_predicted = model(X_test)
    y_predicted_cls = y_predicted.round()
    acc = y_predicted_cls.eq(y_test).sum() / float(y_test.shape[0])
    print(f'accuracy: {acc.item():.4f}')
assert acc > 0.85 and losses[-1] < 0.7 * losses[0]
