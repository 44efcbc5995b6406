# https://solofox.github.io/torch/broadcasting/2025/12/07/torch-broadcasting-trap.html
import torch
import torch.optim as optim
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
lstat = torch.rand(60, 1) * 3
medv = 34.5 - 9.5 * lstat[:, 0] + 0.1 * torch.randn(60)
data = torch.cat([lstat, medv[:, None]], 1)


class LinearRegressionModule(nn.Module):
    def __init__(self, num_features):
        super().__init__()
        self.register_parameter('weights', nn.Parameter(torch.rand((num_features, 1)) * 0.01))
        self.register_parameter('bias', nn.Parameter(torch.randn(1) * 0.01))

    def forward(self, inputs):
        return torch.matmul(inputs, self.weights) + self.bias


def train(inputs, targets, total_epoches=100000):
    mod = LinearRegressionModule(inputs.shape[1])
    optimizer = optim.AdamW(mod.parameters(), lr=0.5)

    for step in range(0, total_epoches):
        outputs = mod.forward(inputs)
        loss = F.mse_loss(outputs, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

        if (step % 100 == 0):
            print(f"step={step} loss={loss}")
            if loss < 0.001:
                print(f"stopped at step {step}")
                break
    print(f"results: y = x_i * {mod.weights} + {mod.bias.item()}")
    return mod.weights, mod.bias


# %%
inputs = data[:, 0:1]  # lstat
medv = data[:, 1]
weights, bias = train(inputs, medv, 500)
