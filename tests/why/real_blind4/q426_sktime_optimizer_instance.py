# https://github.com/sktime/sktime/issues/10990
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)
np.random.seed(0)


class Network(nn.Module):
    def __init__(self, n_channels, n_classes, hidden=8):
        super().__init__()
        self.rnn = nn.GRU(n_channels, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, n_classes)

    def forward(self, X):
        out, _ = self.rnn(X)
        return self.fc(out[:, -1])


class BaseDeepClassifierPytorch:
    def __init__(self, num_epochs=5, batch_size=8, optimizer="Adam", criterion=None, lr=0.01):
        self.num_epochs, self.batch_size, self.optimizer = num_epochs, batch_size, optimizer
        self.criterion, self.lr = criterion, lr

    def fit(self, X, y):
        self.classes_, y = np.unique(y, return_inverse=True)
        self.network = self._build_network(X.shape[2], len(self.classes_))
        self._initial = [p.detach().clone() for p in self.network.parameters()]
        self._criterion = self.criterion or nn.CrossEntropyLoss()
        self._optimizer = self._instantiate_optimizer()
        X, y = torch.from_numpy(X).float(), torch.from_numpy(y)
        self.network.train()
        for epoch in range(self.num_epochs):
            self._run_epoch(epoch, X, y)
        return self

    def _build_network(self, n_channels, n_classes):
        return Network(n_channels, n_classes)

    def _instantiate_optimizer(self):
        if isinstance(self.optimizer, torch.optim.Optimizer):
            return self.optimizer
        if isinstance(self.optimizer, str):
            return getattr(torch.optim, self.optimizer)(self.network.parameters(), lr=self.lr)
        raise TypeError("optimizer must be a str or an instance of an optimizer defined in PyTorch")

    def _run_epoch(self, epoch, X, y):
        losses = []
        for i in range(0, len(X), self.batch_size):
            inputs, outputs = X[i:i + self.batch_size], y[i:i + self.batch_size]
            y_pred = self.network(inputs)
            loss = self._criterion(y_pred, outputs)
            self._optimizer.zero_grad()
            loss.backward()
            self._optimizer.step()
            losses.append(loss.item())
        print(f"Epoch {epoch + 1}: Loss: {np.average(losses)}")

    @torch.no_grad()
    def predict(self, X):
        self.network.eval()
        return self.classes_[self.network(torch.from_numpy(X).float()).argmax(1).numpy()]


# %%
X = np.random.randn(32, 10, 2)
y = np.where(X[:, -3:].sum((1, 2)) > 0, "up", "down")
net = Network(2, 2)
clf = BaseDeepClassifierPytorch(num_epochs=4, optimizer=torch.optim.Adam(net.parameters(), lr=0.01))
clf.fit(X, y)
before = clf._initial
print((clf.predict(X) == y).mean())
