# https://github.com/microsoft/nni/issues/3159
import torch
import torch.nn as nn
import torch.nn.functional as F


class QuantGrad(torch.autograd.Function):
    """Quantizes in forward; the backward of the wrapped quantizer."""

    @staticmethod
    def _quantize(tensor, scale, zero_point):
        return torch.round(tensor / scale + zero_point)

    @staticmethod
    def quant_backward(tensor, grad_output, scale, zero_point, qmin, qmax):
        return grad_output

    @staticmethod
    def forward(ctx, tensor, scale, zero_point, qmin, qmax):
        ctx.save_for_backward(tensor)
        ctx.params = scale, zero_point, qmin, qmax
        tensor_q = QuantGrad._quantize(tensor, scale, zero_point).clamp(qmin, qmax)
        return (tensor_q - zero_point) * scale

    @staticmethod
    def backward(ctx, grad_output):
        tensor, = ctx.saved_tensors
        grad = QuantGrad.quant_backward(tensor, grad_output, *ctx.params)
        return grad, None, None, None, None


class QuantizerModuleWrapper(nn.Module):
    def __init__(self, module, bits=4, weight_range=0.1):
        super().__init__()
        self.module = module
        self.qmin, self.qmax = 0, 2 ** bits - 1
        self.scale = 2 * weight_range / (self.qmax - self.qmin)
        self.zero_point = round(weight_range / self.scale)

    def forward(self, x):
        weight = QuantGrad.apply(self.module.weight, self.scale, self.zero_point, self.qmin, self.qmax)
        return F.linear(x, weight, self.module.bias)


# %%
torch.manual_seed(0)
model = nn.Sequential(QuantizerModuleWrapper(nn.Linear(10, 16)), nn.ReLU(), QuantizerModuleWrapper(nn.Linear(16, 3)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
data, target = torch.randn(32, 10), torch.randint(3, (32,))

layer = model[0]
q = QuantGrad._quantize(layer.module.weight, layer.scale, layer.zero_point)
saturated = (q < layer.qmin) | (q > layer.qmax)
print('saturated weights', saturated.sum().item())

# %%
optimizer.zero_grad()
loss = F.cross_entropy(model(data), target)
loss.backward()
print(loss.item(), layer.module.weight.grad[saturated])
