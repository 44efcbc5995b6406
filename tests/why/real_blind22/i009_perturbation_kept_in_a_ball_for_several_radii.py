# https://github.com/pytorch/pytorch/issues/36923
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def scaled(x, t):
    return t * (x / t)


def clip_to_threshold(x, t):
    y = scaled(x, t)
    # always selects the first path where x reaches the threshold
    z = torch.where(x >= t, x, y)
    return z


class Classifier(nn.Module):
    def __init__(self, features=6, classes=3):
        super().__init__()
        self.fc1 = nn.Linear(features, 16)
        self.fc2 = nn.Linear(16, classes)

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x)))


# %%
model = Classifier()
inputs = torch.rand(32, 6) + 0.1
labels = (inputs[:, :3].argmax(1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for step in range(100):
    loss = F.cross_entropy(model(inputs), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print('trained', loss.item())

# %%
thresholds = [0.2, 0.1, 0]
grads = {}
for t in thresholds:
    x = inputs.clone().requires_grad_()
    z = clip_to_threshold(x, t)
    loss = F.cross_entropy(model(z), labels)
    loss.backward()
    grads[t] = x.grad
    # the forward pass works fine
    print(t, loss.item(), x.grad.abs().max().item())

# %%
adversarial = inputs + 0.1 * grads[thresholds[-1]].sign()
print(F.cross_entropy(model(adversarial), labels).item())
