# https://github.com/pytorch/pytorch/issues/1538
import torch
from torch import nn, optim
from torch.autograd import Variable
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

batch_size = 50
learning_rate = 1e-2
num_epoches = 12


class Rnn(nn.Module):
    def __init__(self, in_dim, hidden_dim, n_layer, n_class):
        super(Rnn, self).__init__()
        self.n_layer = n_layer
        self.hidden_dim = hidden_dim
        self.lstm = nn.LSTM(in_dim, hidden_dim, n_layer)
        self.classifier = nn.Linear(hidden_dim, n_class)

    def forward(self, x):
        # h0 = Variable(torch.zeros(self.n_layer, x.size(1), self.hidden_dim))
        # c0 = Variable(torch.zeros(self.n_layer, x.size(1), self.hidden_dim))
        out, _ = self.lstm(x)
        out = out[:, -1, :]
        out = self.classifier(out)
        return out


# %%
digits = torch.rand(10, 1, 14, 14)
digits[:, :, 9:] = 0
labels = torch.randint(0, 10, (400,))
train_dataset = TensorDataset(digits[labels] + 0.05 * torch.randn(400, 1, 14, 14), labels)
train_loader = DataLoader(train_dataset, batch_size=batch_size, shuffle=True)

model = Rnn(14, 64, 1, 10)
criterion = nn.CrossEntropyLoss()
optimizer = optim.Adam(model.parameters(), lr=learning_rate)

# %%
for epoch in range(num_epoches):
    running_loss = 0.0
    running_acc = 0.0
    for i, data in enumerate(train_loader, 1):
        img, label = data
        b, c, h, w = img.size()
        assert c == 1, 'channel must be 1'
        img = img.squeeze(1)
        img, label = Variable(img), Variable(label)
        out = model(img)
        loss = criterion(out, label)
        running_loss += loss.item() * label.size(0)
        _, pred = torch.max(out, 1)
        running_acc += (pred == label).sum().item()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    running_acc /= len(train_dataset)
    print(epoch, running_loss / len(train_dataset), running_acc)
