# https://discuss.pytorch.org/t/forward-gradient-from-one-variable-to-another-in-xnor-net/12913
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class BinaryLinear(nn.Linear):
    def forward(self, x):
        return F.linear(x, self.weight.sign(), self.bias)


class BinaryNet(nn.Module):
    def __init__(self):
        super(BinaryNet, self).__init__()
        self.fc1 = BinaryLinear(20, 64, bias=False)
        self.bn1 = nn.BatchNorm1d(64)
        self.fc2 = BinaryLinear(64, 4, bias=False)
        self.bn2 = nn.BatchNorm1d(4)

    def forward(self, x):
        x = F.relu(self.bn1(self.fc1(x)))
        return self.bn2(self.fc2(x))


net = BinaryNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)

# %%
labels = torch.randint(0, 4, (256,))
inputs = torch.randn(4, 20)[labels] + 0.5 * torch.randn(256, 20)

for epoch in range(20):
    for i in range(0, 256, 64):
        optimizer.zero_grad()
        outputs = net(inputs[i : i + 64])
        loss = criterion(outputs, labels[i : i + 64])
        loss.backward()
        optimizer.step()
    print("epoch", epoch, "loss", loss.item(), "fc1 grad", net.fc1.weight.grad.norm().item())
