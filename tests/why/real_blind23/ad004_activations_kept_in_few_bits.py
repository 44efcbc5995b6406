# https://github.com/ucbrise/actnn/issues/26
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd.function import Function

torch.manual_seed(0)


def quantize_activation(input, bits=4):
    flat = input.reshape(input.shape[0], -1)
    mn, mx = flat.min(1, keepdim=True)[0], flat.max(1, keepdim=True)[0]
    scale = (2 ** bits - 1) / (mx - mn + 1e-8)
    return ((flat - mn) * scale).round_().to(torch.uint8), scale, mn


def dequantize_activation(quantized, q_input_shape):
    data, scale, mn = quantized
    return (data.float() / scale + mn).view(*q_input_shape).contiguous()


class linear(Function):
    @staticmethod
    def forward(ctx, input, weight, bias=None):
        quantized = quantize_activation(input)
        ctx.saved = quantized, weight, bias
        ctx.other_args = input.shape
        return F.linear(input, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        quantized, weight, bias = ctx.saved
        q_input_shape = ctx.other_args

        input = dequantize_activation(quantized, q_input_shape)
        del quantized, ctx.saved

        C_in = input.shape[-1]
        C_out = grad_output.shape[-1]

        grad_output_flatten = grad_output.reshape(-1, C_out)
        input_flatten = input.view(-1, C_in)
        grad_input = grad_output_flatten.mm(weight)
        grad_weight = grad_output_flatten.t().mm(input_flatten)

        if bias is not None:
            grad_bias = grad_output_flatten.sum(0)
        else:
            grad_bias = None
        return grad_input, grad_weight, grad_bias


class QLinear(nn.Linear):
    def forward(self, input):
        return linear.apply(input, self.weight, self.bias)


class QModule(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model
        QModule.convert_layers(model)

    @staticmethod
    def convert_layers(module):
        for name, child in module.named_children():
            if isinstance(child, nn.Linear) and not isinstance(child, QLinear):
                setattr(module, name, QLinear(child.in_features, child.out_features, child.bias is not None))
            else:
                QModule.convert_layers(child)

    def forward(self, *args, **kwargs):
        return self.model(*args, **kwargs)


class Mlp(nn.Module):
    def __init__(self, dim, hidden_dim):
        super().__init__()
        self.fc1 = nn.Linear(dim, hidden_dim)
        self.act = nn.GELU()
        self.fc2 = nn.Linear(hidden_dim, dim)

    def forward(self, x):
        return self.fc2(self.act(self.fc1(x)))


class VisionTransformer(nn.Module):
    def __init__(self, dim=24, num_classes=10):
        super().__init__()
        self.patch_embed = nn.Conv2d(3, dim, 8, 8)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.mlps = nn.ModuleList([Mlp(dim, 4 * dim) for _ in range(2)])
        self.head = nn.Linear(dim, num_classes)

    def forward(self, x):
        x = self.patch_embed(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], dim=1)
        for mlp in self.mlps:
            x = x + mlp(self.norm1(x))
        return self.head(self.norm2(x)[:, 0])


# %%
model = VisionTransformer()
model = QModule(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
loss_fct = nn.CrossEntropyLoss()
x, y = torch.rand(8, 3, 32, 32), torch.randint(0, 10, (8,))

# %%
for step in range(3):
    logits = model(x)
    loss = loss_fct(logits, y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(step, loss.item())
