# https://github.com/manzilzaheer/DeepSets/pull/1
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)


class DataIterator:
    """Sets of numbers of one normal distribution each; the target is its deviation."""

    def __init__(self, sets=512, members=40, batch_size=64):
        rng = np.random.default_rng(0)
        self.batch_size = batch_size
        self.y = rng.uniform(0.5, 3.0, sets).astype("float32")
        self.X = (self.y[:, None, None] * rng.normal(size=(sets, members, 1))).astype("float32")

    def next_batch(self):
        for start in range(0, len(self.y), self.batch_size):
            yield self.X[start:start + self.batch_size], self.y[start:start + self.batch_size]


class DeepSet(nn.Module):
    def __init__(self, in_features, set_features=30):
        super().__init__()
        self.feature_extractor = nn.Sequential(
            nn.Linear(in_features, 30), nn.ELU(inplace=True), nn.Linear(30, set_features))
        self.regressor = nn.Sequential(
            nn.Linear(set_features, 30), nn.ELU(inplace=True), nn.Linear(30, 10),
            nn.ELU(inplace=True), nn.Linear(10, 1))

    def forward(self, input):
        x = self.feature_extractor(input)
        x = x.sum(dim=1)
        return self.regressor(x)


class Trainer:
    def __init__(self, in_dims, num_epochs=30):
        self.model = DeepSet(in_dims)
        self.l2 = nn.MSELoss()
        self.optim = optim.Adam(self.model.parameters(), lr=0.003)
        self.num_epochs = num_epochs
        self.train_loss = 0.0

    def fit(self, train):
        for j in range(self.num_epochs):
            for X, y in train.next_batch():
                self.optim.zero_grad()
                y_pred = self.model(torch.from_numpy(X))
                loss = self.l2(y_pred, torch.from_numpy(y))
                self.train_loss = 0.9 * self.train_loss + 0.1 * loss.item()
                loss.backward()
                self.optim.step()
            if j % 20 == 0:
                print("After epoch", j + 1, "Train Loss:", self.train_loss)

    def predict(self, test):
        with torch.no_grad():
            return np.concatenate([self.model(torch.from_numpy(X)).numpy() for X, _ in test.next_batch()])

    def mse_of_pairs(self, test):
        return float(((self.predict(test)[:, 0] - test.y) ** 2).mean())


# %%
train = DataIterator()
trainer = Trainer(in_dims=1)
trainer.fit(train)
print("MSE of the pairs", trainer.mse_of_pairs(train), "variance of the targets", train.y.var())
print("predictions", trainer.predict(train)[:5, 0], "targets", train.y[:5])
