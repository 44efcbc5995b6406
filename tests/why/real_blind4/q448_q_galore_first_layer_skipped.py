# https://github.com/AkaneTendo25/musubi-tuner/issues/90
import torch
import torch.nn as nn

torch.manual_seed(0)


def quantize(w):
    scale = (w.max() - w.min()) / 255
    zero = w.min()
    return ((w - zero) / scale).round().clamp(0, 255).to(torch.uint8), scale, zero


class QLinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, bias)
        ctx.weight = weight
        w = weight.to(x.dtype) * weight.scale + weight.zero
        out = x @ w.t()
        return out + bias if bias is not None else out

    @staticmethod
    def backward(ctx, grad_output):
        x, bias = ctx.saved_tensors
        weight = ctx.weight
        w = weight.to(x.dtype) * weight.scale + weight.zero
        grad_x = grad_output @ w if ctx.needs_input_grad[0] else None
        # the dense gradient of a quantized weight is kept beside it
        weight.float_grad = grad_output.t() @ x
        return grad_x, None, grad_output.sum(0) if bias is not None else None


class QLinear(nn.Module):
    def __init__(self, in_features, out_features, bias=False):
        super().__init__()
        w, scale, zero = quantize(torch.randn(out_features, in_features) / in_features**0.5)
        self.weight = nn.Parameter(w, requires_grad=False)
        self.weight.scale, self.weight.zero = scale, zero
        self.bias = nn.Parameter(torch.zeros(out_features)) if bias else None

    def forward(self, x):
        return QLinearFunction.apply(x, self.weight, self.bias)


class QGaLoreSGD(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-2):
        super().__init__(params, dict(lr=lr))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.dtype == torch.uint8:
                    float_grad = getattr(p, "float_grad", None)
                    if float_grad is None:
                        continue
                    w = p.float() * p.scale + p.zero - group["lr"] * float_grad
                    q, p.scale, p.zero = quantize(w)
                    p.copy_(q)
                elif p.grad is not None:
                    p.sub_(group["lr"] * p.grad)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = QLinear(6, 12)
        self.norm = nn.LayerNorm(12)
        self.fc2 = QLinear(12, 12)
        self.head = nn.Linear(12, 2)

    def forward(self, x):
        x = self.norm(torch.relu(self.fc1(x)))
        return self.head(torch.relu(self.fc2(x)))


# %%
model = Model()
optimizer = QGaLoreSGD(model.parameters(), lr=0.5)
fc1_before = model.fc1.weight.clone()
for step in range(3):
    x, y = torch.randn(16, 6), torch.randint(2, (16,))
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    print(step, loss.item(), 'fc1 as before:', torch.equal(fc1_before, model.fc1.weight))
