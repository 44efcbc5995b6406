# https://discuss.pytorch.org/t/runtimeerror-one-of-the-differentiated-tensors-appears-to-not-have-been-used-in-the-graph-set-allow-unused-true-if-this-is-the-desired-behavior/43679
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(5, 16)
        self.fc2 = nn.Linear(16, 3)
        # predicts the learning rate of the inner steps
        self.lstm = nn.LSTMCell(1, 4)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)

# %%
for task in range(2):
    x, y = torch.randn(10, 5), torch.randint(0, 3, (10,))
    fast_parameters = list(net.parameters())
    loss_fast = F.cross_entropy(net(x), y)
    grad = torch.autograd.grad(loss_fast, fast_parameters, create_graph=True)
    step, _ = net.lstm(loss_fast.detach().view(1, 1))
    lr = torch.sigmoid(step.mean()) * 0.1
    w1, b1, w2, b2 = [p - lr * g for p, g in zip(fast_parameters, grad)][:4]
    out = F.linear(F.relu(F.linear(x, w1, b1)), w2, b2)
    loss = F.cross_entropy(out, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
