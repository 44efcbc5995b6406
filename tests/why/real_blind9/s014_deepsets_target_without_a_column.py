# https://github.com/manzilzaheer/DeepSets/pull/2
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.autograd import Variable

torch.manual_seed(0)
np.random.seed(0)
spread = np.random.uniform(0.2, 3.0, size=(512, 1, 1)).astype(np.float32)
X_all = (np.random.randn(512, 20, 1).astype(np.float32)) * spread
y_all = spread[:, 0, 0]


class DeepSet(nn.Module):

    def __init__(self, in_features, set_features=50):
        super(DeepSet, self).__init__()
        self.in_features = in_features
        self.out_features = set_features
        self.feature_extractor = nn.Sequential(
            nn.Linear(in_features, 50),
            nn.ELU(inplace=True),
            nn.Linear(50, set_features)
        )

        self.regressor = nn.Sequential(
            nn.Linear(set_features, 30),
            nn.ELU(inplace=True),
            nn.Linear(30, 1),
        )

    def forward(self, input):
        x = input
        x = self.feature_extractor(x)
        x = x.mean(dim=1)
        x = self.regressor(x)
        return x


# %%
model = DeepSet(1)
l2 = nn.MSELoss()
optimizer = optim.Adam(model.parameters(), lr=0.005)

# %%
for j in range(15):
    for i in range(0, 512, 128):
        X, y = X_all[i:i + 128], y_all[i:i + 128]
        optimizer.zero_grad()
        y_pred = model(Variable(torch.from_numpy(X)))
        loss = l2(y_pred, Variable(torch.from_numpy(y)))
        loss.backward()
        optimizer.step()
    print(j, loss.item())
