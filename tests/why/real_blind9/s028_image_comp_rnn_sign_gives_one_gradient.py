# https://github.com/1zb/pytorch-image-comp-rnn/issues/4
import torch
import torch.nn as nn
from torch.autograd import Function

torch.manual_seed(0)


class Sign(Function):
    @staticmethod
    def forward(ctx, input, is_training=True):
        if not is_training:
            return input.sign()
        # while training, the sign is drawn
        prob = torch.rand_like(input)
        return torch.where((1 - input) / 2 <= prob, 1., -1.)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


class Binarizer(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Linear(16, 8)

    def forward(self, input):
        x = torch.tanh(self.conv(input))
        return Sign.apply(x, self.training)


# %%
model = nn.Sequential(nn.Linear(48, 16), Binarizer(), nn.Linear(8, 48))
solver = torch.optim.Adam(model.parameters(), lr=5e-4)
patches = torch.rand(32, 48)

# %%
for batch in range(3):
    solver.zero_grad()
    loss = (model(patches) - patches).abs().mean()
    loss.backward()
    solver.step()
