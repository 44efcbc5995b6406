# https://github.com/ziyu-zui/heart-arrhythmia-diagnosis-with-deep-learning/issues/4
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn import Parameter

torch.manual_seed(0)


class CNN(nn.Module):
    def __init__(self):
        super(CNN, self).__init__()
        self.conv1 = nn.Sequential(nn.Conv1d(2, 8, 5, 1, 2), nn.ReLU(), nn.MaxPool1d(2))
        self.conv2 = nn.Sequential(nn.Conv1d(8, 16, 5, 1, 2), nn.ReLU(), nn.MaxPool1d(2))
        self.fc = nn.Linear(128, 20)
        self.out = nn.Linear(20, 5)
        self.weight = Parameter(torch.ones(2, 32))

    def forward(self, x):
        x = self.conv1(x)
        x = self.conv2(x)
        x = x.view(x.size(0), -1)

        x = F.relu(self.fc(x))
        x = F.dropout(x, 0.2)

        output = self.out(x)
        return output, x


# %%
cnn = CNN()
optimizer = torch.optim.Adam(cnn.parameters(), lr=0.001)
loss_func = nn.CrossEntropyLoss()
for step in range(3):
    b_x, b_y = torch.randn(8, 2, 32), torch.randint(0, 5, (8,))
    output = cnn(b_x)[0]
    loss = loss_func(output, b_y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print('step', step, 'loss %.4f' % loss.item())
for name, p in cnn.named_parameters():
    print(name, None if p.grad is None else p.grad.norm().item())
