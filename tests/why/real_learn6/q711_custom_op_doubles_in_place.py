# https://github.com/pytorch/pytorch/issues/30454
import torch
import torch.nn as nn

torch.manual_seed(0)


class CustomOp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x *= 2.0
        return x

    @staticmethod
    def backward(ctx, grad_output):
        print("Running in backward...")
        return grad_output * 2.0


def custom_op(x):
    return CustomOp.apply(x)


class Net(nn.Module):
    def __init__(self, in_channel, out_channel, scale=400.0):
        super(Net, self).__init__()
        self.fc = nn.Linear(in_channel, out_channel)
        self.s = scale

    def forward(self, input):
        x = self.fc(input)
        logits = custom_op(x)
        logits *= self.s
        return logits


# %%
dummy_x = torch.rand(4, 8)
net = Net(8, 5)

# %%
x = net(dummy_x)
x.mean().backward()
print(net.fc.weight.grad.norm())
