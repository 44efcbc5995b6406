# https://github.com/zzzxxxttt/pytorch_DoReFaNet/issues/8
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def uniform_quantize(k):
    class qfn(torch.autograd.Function):
        @staticmethod
        def forward(ctx, input):
            if k == 1:
                return torch.sign(input)
            n = float(2 ** k - 1)
            return torch.round(input * n) / n

        @staticmethod
        def backward(ctx, grad_output):
            return grad_output.clone()

    return qfn().apply


class weight_quantize_fn(nn.Module):
    def __init__(self, w_bit):
        super().__init__()
        self.uniform_q = uniform_quantize(k=w_bit)

    def forward(self, x):
        E = torch.mean(torch.abs(x)).detach()
        return self.uniform_q(x / E) * E


class activation_quantize_fn(nn.Module):
    def __init__(self, a_bit):
        super().__init__()
        self.a_bit = a_bit
        self.uniform_q = uniform_quantize(k=a_bit)

    def forward(self, x):
        if self.a_bit == 32:
            activation_q = x
        elif self.a_bit == 1:
            activation_q = torch.sign(x)
        else:
            activation_q = self.uniform_q(torch.clamp(x, 0, 1))
        return activation_q


class Conv2d_Q(nn.Conv2d):
    def __init__(self, w_bit, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.quantize_fn = weight_quantize_fn(w_bit=w_bit)

    def forward(self, input):
        return F.conv2d(input, self.quantize_fn(self.weight), self.bias, self.stride, self.padding)


class Net(nn.Module):
    def __init__(self, wbit, abit):
        super().__init__()
        self.conv0 = nn.Conv2d(3, 8, 3, 1, 1)
        self.act_q = activation_quantize_fn(a_bit=abit)
        self.bn0 = nn.BatchNorm2d(8)
        self.conv1 = Conv2d_Q(wbit, 8, 8, 3, 2, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.logit = nn.Linear(8, 10)

    def forward(self, x):
        out = self.act_q(self.bn0(self.conv0(x)))
        out = self.act_q(self.bn1(self.conv1(out)))
        return self.logit(out.mean((2, 3)))


# %%
net = Net(wbit=1, abit=1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
criterion = nn.CrossEntropyLoss()
for step in range(3):
    inputs, targets = torch.randn(8, 3, 8, 8), torch.randint(0, 10, (8,))
    loss = criterion(net(inputs), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item(), net.conv1.weight.grad.abs().max().item())
