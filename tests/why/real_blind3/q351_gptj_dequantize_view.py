# https://github.com/gustavecortal/gpt-j-fine-tuning-example/issues/1
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


def quantize_blockwise(weight, n_code=16):
    absmax = weight.abs().max()
    code = torch.linspace(-1, 1, n_code)
    q = (weight / absmax).unsqueeze(-1).sub(code).abs().argmin(-1).to(torch.uint8)
    return q, absmax, code


def dequantize_blockwise(weights_quantized, absmax, code):
    return code[weights_quantized.long()] * absmax


class DequantizeAndLinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, weights_quantized, absmax, code, bias):
        weights_deq = dequantize_blockwise(weights_quantized, absmax=absmax, code=code)
        ctx.save_for_backward(input, weights_quantized, absmax, code)
        ctx._has_bias = bias is not None
        return F.linear(input, weights_deq, bias)

    @staticmethod
    def backward(ctx, grad_output):
        assert not ctx.needs_input_grad[1] and not ctx.needs_input_grad[2] and not ctx.needs_input_grad[3]
        input, weights_quantized, absmax, code = ctx.saved_tensors
        weights_deq = dequantize_blockwise(weights_quantized, absmax=absmax, code=code)
        grad_input = grad_output @ weights_deq
        grad_bias = grad_output.flatten(0, -2).sum(dim=0) if ctx._has_bias else None
        return grad_input, None, None, None, grad_bias


class FrozenBNBLinear(nn.Module):
    def __init__(self, linear):
        super().__init__()
        weight, absmax, code = quantize_blockwise(linear.weight.detach())
        self.adapter = None
        self.register_buffer("weight", weight)
        self.register_buffer("absmax", absmax)
        self.register_buffer("code", code)
        self.bias = linear.bias

    def forward(self, input):
        output = DequantizeAndLinear.apply(input, self.weight, self.absmax, self.code, self.bias)
        if self.adapter:
            output += self.adapter(input)
        return output


# %%
class GPTJBlock(nn.Module):
    def __init__(self, d=8):
        super().__init__()
        self.ln_1 = nn.LayerNorm(d)
        self.fc_in, self.fc_out = FrozenBNBLinear(nn.Linear(d, 16)), FrozenBNBLinear(nn.Linear(16, d))

    def forward(self, h):
        return h + self.fc_out(F.gelu(self.fc_in(self.ln_1(h))))


def add_adapters(model, adapter_dim=2):
    for module in model.modules():
        if isinstance(module, FrozenBNBLinear):
            out_features, in_features = module.weight.shape
            module.adapter = nn.Sequential(nn.Linear(in_features, adapter_dim, bias=False),
                                           nn.Linear(adapter_dim, out_features, bias=False))
            nn.init.zeros_(module.adapter[1].weight)


gpt = nn.Sequential(nn.Embedding(20, 8), GPTJBlock(), GPTJBlock(), nn.Linear(8, 20))
add_adapters(gpt)
optimizer = torch.optim.Adam(gpt.parameters(), lr=1e-5)
batch = torch.randint(20, (2, 6))

# %%
out = gpt(batch)
loss = F.cross_entropy(out[:, :-1, :].flatten(0, -2), batch[:, 1:].flatten())
print(loss.item())
optimizer.zero_grad()
loss.backward()
optimizer.step()
