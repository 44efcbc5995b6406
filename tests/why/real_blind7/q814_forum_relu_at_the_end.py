# https://discuss.pytorch.org/t/why-my-predictions-are-all-zeros-during-the-training-phase-of-my-neural-network/119991
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.fc1 = nn.Linear(6, 32)
        self.fc2 = nn.Linear(32, 32)
        self.fc3 = nn.Linear(32, 1)
        nn.init.constant_(self.fc3.bias, -1.0)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return F.relu(self.fc3(x))


# %%
net = Net()
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)

# %%
for epoch in range(20):
    inputs = torch.rand(32, 6)
    labels = inputs.sum(1, keepdim=True)
    optimizer.zero_grad()
    outputs = net(inputs)
    loss = criterion(outputs, labels)
    loss.backward()
    optimizer.step()
    if epoch % 5 == 0:
        print(epoch, loss.item(), outputs[:3].flatten().tolist())
