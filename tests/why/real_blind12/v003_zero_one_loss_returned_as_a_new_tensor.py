# https://discuss.pytorch.org/t/built-in-0-1-loss-function/216747
import torch
import torch.nn as nn

torch.manual_seed(0)


class ZeroOneLoss(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, input, target):
        total = 0.0
        for output, label in zip(input, target):
            if output.argmax() == label:
                total += 0.0
            else:
                total += 1.0
        return torch.tensor(total / len(target), requires_grad=True)


class Classifier(nn.Module):
    def __init__(self, in_features=10, classes=3):
        super().__init__()
        self.fc1 = nn.Linear(in_features, 32)
        self.fc2 = nn.Linear(32, classes)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


# %%
model = Classifier()
loss_fn = ZeroOneLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(90, 10)
y = (x[:, :3]).argmax(1)

# %%
for epoch in range(20):
    for i in range(0, 90, 30):
        output = model(x[i:i + 30])
        loss = loss_fn(output, y[i:i + 30])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 5 == 0:
        print(epoch, loss.item())
