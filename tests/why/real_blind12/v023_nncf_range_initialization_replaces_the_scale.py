# https://github.com/openvinotoolkit/nncf/pull/327
import torch
import torch.nn as nn

torch.manual_seed(0)


class RoundSTE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


class SymmetricQuantizer(nn.Module):
    def __init__(self, bits=4):
        super().__init__()
        self.level_high = 2 ** (bits - 1) - 1
        self.scale = nn.Parameter(torch.ones(1))

    def apply_minmax_init(self, min_values, max_values):
        max_range = torch.max(torch.abs(min_values), torch.abs(max_values))
        self.scale = nn.Parameter(max_range.reshape(1).detach().clone())

    def forward(self, x):
        s = self.scale / self.level_high
        return torch.clamp(RoundSTE.apply(x / s), -self.level_high, self.level_high) * s


class QuantizedNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(6, 24)
        self.quantizer = SymmetricQuantizer()
        self.fc2 = nn.Linear(24, 1)

    def forward(self, x):
        return self.fc2(self.quantizer(torch.tanh(self.fc1(x)) * 3))


class QuantizationController:
    def __init__(self, model):
        self.model = model

    def init_range(self, x):
        with torch.no_grad():
            act = torch.tanh(self.model.fc1(x)) * 3
        self.model.quantizer.apply_minmax_init(act.min(), act.max())


# %%
model = QuantizedNet()
compression_ctrl = QuantizationController(model)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
x = torch.randn(128, 6)
y = torch.sin(x.sum(1, keepdim=True))
compression_ctrl.init_range(x)
scale_before = model.quantizer.scale.detach().clone()

# %%
for epoch in range(10):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item(), model.quantizer.scale.item())
