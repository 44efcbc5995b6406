# https://github.com/zzzxxxttt/pytorch_DoReFaNet/issues/4
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def uniform_quantize(k):
    class qfn(torch.autograd.Function):

        @staticmethod
        def forward(ctx, input):
            if k == 32:
                return input
            if k == 1:
                return torch.sign(input)
            n = float(2 ** k - 1)
            return torch.round(input * n) / n

        @staticmethod
        def backward(ctx, grad_output):
            return grad_output.clone()

    return qfn.apply


class weight_quantize_fn(nn.Module):
    def __init__(self, w_bit):
        super(weight_quantize_fn, self).__init__()
        self.w_bit = w_bit
        self.uniform_q = uniform_quantize(k=w_bit)

    def forward(self, x):
        E = torch.mean(torch.abs(x)).detach()
        weight_q = self.uniform_q(x / E) * E
        return weight_q


class Conv2d_Q(nn.Conv2d):
    def __init__(self, in_channels, out_channels, kernel_size, padding=0):
        super(Conv2d_Q, self).__init__(in_channels, out_channels, kernel_size, padding=padding, bias=False)
        self.quantize_fn = weight_quantize_fn(w_bit=1)

    def forward(self, input):
        self.weight_q = self.quantize_fn(self.weight)
        return F.conv2d(input, self.weight_q, None, self.stride, self.padding)


# %%
model = nn.Sequential(Conv2d_Q(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
                      Conv2d_Q(8, 8, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
inputs, targets = torch.randn(8, 3, 8, 8), torch.randint(10, (8,))

# %%
outputs = model(inputs)
loss = F.cross_entropy(outputs, targets)
conv = model[3]
conv.weight_q.retain_grad()
optimizer.zero_grad()
loss.backward()
print('gradient of the float weight / of the quantized one:', (conv.weight.grad / conv.weight_q.grad).mean())
optimizer.step()
