# https://github.com/sotte/pytorch_tutorial/issues/5
import torch
from torch import nn

torch.manual_seed(0)


class LinearRegression(nn.Module):
    def __init__(self, input_size, output_size):
        super().__init__()
        self.linear = nn.Linear(input_size, output_size)

    def forward(self, x):
        return self.linear(x)


# %%
x = torch.linspace(0, 1, 20).unsqueeze(1)
y = 3 * x + 2 + 0.05 * torch.randn(20, 1)
model = LinearRegression(1, 1)
criterion = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

# %%
losses = []
for epoch in range(50):
    optimizer.zero_grad()
    y_hat = model(x)
    loss = criterion(y_hat, y)
    loss.backward(loss)
    optimizer.step()
    losses.append(loss.item())
print(losses[-1])
