# https://discuss.pytorch.org/t/400-higher-error-with-pytorch-compared-with-identical-keras-model-with-adam-optimizer/160720
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def scale(values, low, high):
    return (values - low) / (high - low)


def get_data():
    np.random.seed(0)
    Xtrain = np.random.normal(0, 1, size=(1400, 10))
    Xval = np.random.normal(0, 1, size=(300, 10))
    ytrain = np.sum(np.sin(Xtrain), axis=1)
    yval = np.sum(np.sin(Xval), axis=1)
    low, high = ytrain.min(), ytrain.max()
    ytrain = scale(ytrain, low, high)
    yval = scale(yval, low, high)
    return Xtrain, Xval, ytrain, yval


class XYDataset(TensorDataset):
    def __init__(self, X, Y):
        super().__init__(torch.tensor(X, dtype=torch.float32), torch.tensor(Y, dtype=torch.float32))


class TwoLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = nn.Linear(10, 20)
        self.layer2 = nn.Linear(20, 1)
        for layer in (self.layer1, self.layer2):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, x):
        return self.layer2(torch.tanh(self.layer1(x)))


# %%
Xtrain, Xval, ytrain, yval = get_data()
trainset, valset = XYDataset(Xtrain, ytrain), XYDataset(Xval, yval)
trainloader = DataLoader(trainset, batch_size=32, shuffle=True)
valloader = DataLoader(valset, batch_size=32)
net = TwoLayer()
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(net.parameters(), lr=0.005)

# %%
for epoch in range(20):
    net.train()
    for x, y in trainloader:
        optimizer.zero_grad()
        output = net(x)
        loss = criterion(output, y)
        loss.backward()
        optimizer.step()

# %%
net.eval()
with torch.no_grad():
    errors = [(net(x).flatten() - y) ** 2 for x, y in valloader]
mse = torch.cat(errors).mean().item()
print("validation mse", mse, "variance", float(np.var(yval)))
