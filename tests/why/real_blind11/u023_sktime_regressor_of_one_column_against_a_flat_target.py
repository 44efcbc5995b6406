# https://github.com/sktime/sktime/issues/10931
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class FCNNetwork(nn.Module):
    def __init__(self, n_dims, n_filters=16):
        super().__init__()
        self.conv1 = nn.Conv1d(n_dims, n_filters, 5, padding=2)
        self.bn1 = nn.BatchNorm1d(n_filters)
        self.conv2 = nn.Conv1d(n_filters, n_filters, 3, padding=1)
        self.out = nn.Linear(n_filters, 1)

    def forward(self, X):
        h = torch.relu(self.bn1(self.conv1(X)))
        h = torch.relu(self.conv2(h)).mean(-1)
        return self.out(h)


class FCNRegressorTorch:
    def __init__(self, num_epochs=80, batch_size=16, lr=0.01):
        self.num_epochs, self.batch_size, self.lr = num_epochs, batch_size, lr

    def fit(self, X, y):
        self.network = FCNNetwork(X.shape[1])
        self._criterion = nn.MSELoss()
        self._optimizer = torch.optim.Adam(self.network.parameters(), lr=self.lr)
        dataloader = DataLoader(TensorDataset(X, y), self.batch_size, shuffle=True)
        self.network.train()
        for epoch in range(self.num_epochs):
            loss = self._run_epoch(epoch, dataloader)
        return loss

    def _run_epoch(self, epoch, dataloader):
        for inputs, outputs in dataloader:
            y_pred = self.network(inputs)
            loss = self._criterion(y_pred, outputs)
            self._optimizer.zero_grad()
            loss.backward()
            self._optimizer.step()
        return loss

    def predict(self, X):
        self.network.eval()
        with torch.no_grad():
            return self.network(X).flatten()


# %%
X = torch.randn(48, 2, 20) + torch.randn(48, 1, 1)
est_y = X.mean((1, 2))
est = FCNRegressorTorch()
loss = est.fit(X, est_y)
mse = ((est.predict(X) - est_y) ** 2).mean().item()
print(loss.item(), mse, est_y.var().item())
