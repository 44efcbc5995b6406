# https://github.com/pytorch/pytorch/issues/94828
import torch

torch.manual_seed(0)
device_and_dtype = torch.float64  # stands for the GPU


class Model(torch.nn.Module):

    def __init__(self):
        super(Model, self).__init__()
        self.t = torch.nn.Parameter(torch.rand(10), requires_grad=True).to(device_and_dtype)
        self.linear = torch.nn.Linear(10, 20)
        self.out = torch.nn.Linear(20, 1)

    def forward(self, x):
        x = self.t + x
        x = torch.relu(self.linear(x))
        return self.out(x)


def make_data(n):
    x = torch.randn(n, 10, dtype=device_and_dtype)
    return x, ((x + 2.0).clamp(min=0)).mean(1, keepdim=True)


# %%
m = Model().to(device_and_dtype)
print([name for name, _ in m.named_parameters()])
optimizer = torch.optim.Adam(m.parameters(), lr=1e-2)
x, y = make_data(128)

for epoch in range(20):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(m(x), y)
    loss.backward()
    optimizer.step()
    if epoch % 5 == 0:
        print(epoch, loss.item(), m.t.data[:3])
