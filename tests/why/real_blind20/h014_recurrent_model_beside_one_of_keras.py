# https://discuss.pytorch.org/t/the-loss-in-pytorch-decreases-slower-than-in-keras/61598
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def hard_sigmoid(x):
    """
    Computes element-wise hard sigmoid of x.
    """
    x = (0.2 * x) + 0.5
    x = F.threshold(-x, -1, -1)
    x = F.threshold(-x, 0, 0)
    return x


class LSTM(nn.Module):

    def __init__(self, embedding_dim, hidden_dim, num_tokens, num_labels):
        super().__init__()
        self.embedding = nn.Embedding(num_tokens, embedding_dim)
        self.lstm = nn.LSTM(embedding_dim, hidden_dim)
        self.dropout = nn.Dropout(0.1)
        self.fc = nn.Linear(hidden_dim, num_labels)

    def forward(self, x):
        x = self.embedding(x)
        x, _ = self.lstm(x, None)
        x = x[:, -1, :]
        x = self.dropout(x)
        x = self.fc(x)
        x = hard_sigmoid(x)
        return x


# %%
X_train = torch.randint(0, 16, (1024, 12))
y_train = F.one_hot(X_train[:, -4:], 16).amax(dim=1).float()

model = LSTM(10, 50, 16, 16)
criterion = nn.BCELoss()
optimizer = optim.Adam(model.parameters(), lr=0.01)

training_set = TensorDataset(X_train, y_train)
train_loader = DataLoader(training_set, batch_size=256, shuffle=False)


# %%
def Train_LSTM(num_epochs):
    hist = np.zeros(num_epochs)
    for t in range(num_epochs):
        running_loss = 0.0
        model.train()
        for inputs, labels in train_loader:
            optimizer.zero_grad()
            outputs = model(inputs)
            loss = criterion(outputs, labels)
            loss.backward()
            optimizer.step()
            running_loss += loss.item() * inputs.size(0)
        hist[t] = running_loss / len(training_set)
    return hist


hist = Train_LSTM(40)
print(hist[::5])
