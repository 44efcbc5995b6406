# https://discuss.pytorch.org/t/implementing-batchnorm-in-pytorch-problem-with-updating-self-running-mean-and-self-running-var/49314/11
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import uniform

torch.manual_seed(0)


class BatchNorm(nn.Module):
    def __init__(self, input, momentum=0.9, epsilon=1e-05):
        """
        input: assume 4D input (mini_batch_size, # channel, w, h)
        momentum: momentum for exponential average
        """
        super(BatchNorm, self).__init__()
        self.momentum = momentum
        self.insize = input
        self.epsilon = epsilon

        # initialize weight(gamma), bias(beta), running mean and variance
        U = uniform.Uniform(torch.tensor([0.0]), torch.tensor([1.0]))
        self.weight = nn.Parameter(U.sample(torch.Size([self.insize])).view(self.insize))
        self.bias = nn.Parameter(torch.zeros(self.insize))
        self.register_buffer('running_mean', torch.zeros(self.insize))
        self.register_buffer('running_var', torch.ones(self.insize))

    def forward(self, input, mode):
        if mode == 0:
            mean = input.mean([0, 2, 3])  # along channel axis
            var = input.var([0, 2, 3])
            n = input.shape[0]
            self.running_mean = (self.momentum * self.running_mean) + (1.0 - self.momentum) * mean
            self.running_var = (self.momentum * self.running_var) + (1.0 - self.momentum) * (n / (n - 1) * var)
            mean = self.running_mean
            var = self.running_var
        else:
            mean = self.running_mean
            var = self.running_var
        current_mean = mean.view([1, self.insize, 1, 1]).expand_as(input)
        current_var = var.view([1, self.insize, 1, 1]).expand_as(input)
        current_weight = self.weight.view([1, self.insize, 1, 1]).expand_as(input)
        current_bias = self.bias.view([1, self.insize, 1, 1]).expand_as(input)
        return current_weight * (input - current_mean) / (current_var + self.epsilon).sqrt() + current_bias


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, 6, 3, padding=1)
        self.bn1 = BatchNorm(6)
        self.fc = nn.Linear(6 * 4 * 4, 10)

    def forward(self, x, mode):
        x = F.relu(self.bn1(self.conv1(x), mode))
        return self.fc(F.max_pool2d(x, 2).flatten(1))


# %%
net = Net()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)

# %%
for epoch in range(3):
    inputs, labels = torch.randn(8, 1, 8, 8), torch.randint(0, 10, (8,))
    optimizer.zero_grad()
    outputs = net(inputs, 0)
    loss = criterion(outputs, labels)
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
