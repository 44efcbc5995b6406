# https://discuss.pytorch.org/t/why-the-model-fail-to-converge-without-a-manul-weight-initialization/50431
import torch
import numpy as np

torch.manual_seed(0)
np.random.seed(0)


class Net(torch.nn.Module):

    def __init__(self, input_dim, output_dim):
        super(Net, self).__init__()
        self.layer1 = torch.nn.Linear(input_dim, output_dim, bias=False)

    def forward(self, x):
        x = self.layer1(x)
        x.squeeze()
        return x


# generate data using the linear regression setup y = 5 * x1 + 3 * x2
sample_size = 2000
input_dim = 2
output_dim = 1
epoch = 6
bs = 100

data = np.random.randn(sample_size, 3)
data[:, :2] = data[:, :2] * 100
# add a normal noise term
data[:, 2] = 5 * data[:, 0] + 3 * data[:, 1] + np.random.randn(sample_size)
data = torch.Tensor(data)
train_x = data[:, :input_dim]
train_y = data[:, input_dim]

# %%
net = Net(input_dim, output_dim)
net.zero_grad()
criterion = torch.nn.MSELoss()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-5)

for i in range(epoch):
    for j in range(0, sample_size, bs):
        batch_x = train_x[j:j + bs]
        batch_y = train_y[j:j + bs]
        output = net(batch_x)
        loss = criterion(output, batch_y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(i, loss.item(), net.layer1.weight.data)
