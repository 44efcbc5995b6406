# https://github.com/pytorch/ao/pull/2280
from dataclasses import dataclass

import torch
import torch.nn.functional as F

torch.manual_seed(0)


@dataclass
class FakeQuantizeConfig:
    bits: int = 4
    is_dynamic: bool = False
    range_learning: bool = True
    eps: float = 1e-6

    @property
    def qrange(self):
        return -(2 ** (self.bits - 1)), 2 ** (self.bits - 1) - 1


class _GenericFakeQuantize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, scales, zero_points, quant_min, quant_max):
        q = input.div(scales).add(zero_points).round()
        mask = torch.logical_and(q >= quant_min, q <= quant_max)
        ctx.save_for_backward(mask)
        return q.clamp(quant_min, quant_max).sub(zero_points).mul(scales)

    @staticmethod
    def backward(ctx, gy):
        (mask,) = ctx.saved_tensors
        return gy * mask, None, None, None, None


class FakeQuantizer(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.scale, self.zero_point = None, None
        self._initialized = False

    def _compute_qparams(self, x):
        qmin, qmax = self.config.qrange
        lo, hi = x.amin(dim=-1, keepdim=True), x.amax(dim=-1, keepdim=True)
        scale = ((hi - lo) / (qmax - qmin)).clamp(min=self.config.eps)
        return scale, qmin - (lo / scale).round()

    def _maybe_update_qparams_for_range_learning(self):
        if not self.config.range_learning or isinstance(self.scale, torch.nn.Parameter):
            return
        self.scale = torch.nn.Parameter(self.scale, requires_grad=True)
        self.zero_point = torch.nn.Parameter(self.zero_point, requires_grad=True)

    def forward(self, x):
        if self.config.is_dynamic or not self._initialized:
            self.scale, self.zero_point = self._compute_qparams(x.detach())
            self._initialized = True
            self._maybe_update_qparams_for_range_learning()
        qmin, qmax = self.config.qrange
        return _GenericFakeQuantize.apply(x, self.scale, self.zero_point, qmin, qmax)


class FakeQuantizedLinear(torch.nn.Linear):
    def __init__(self, linear, weight_config):
        super().__init__(linear.in_features, linear.out_features, bias=False)
        self.weight = linear.weight
        self.weight_fake_quantizer = FakeQuantizer(weight_config)

    def forward(self, x):
        return F.linear(x, self.weight_fake_quantizer(self.weight))


class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear1 = torch.nn.Linear(32, 64, bias=False)
        self.linear2 = torch.nn.Linear(64, 10, bias=False)

    def forward(self, x):
        return self.linear2(torch.relu(self.linear1(x)))


def initialize_fake_quantizers(model, example_inputs):
    model(*example_inputs)


# %%
m = M()
config = FakeQuantizeConfig(bits=4, is_dynamic=False, range_learning=True)
for name, child in list(m.named_children()):
    setattr(m, name, FakeQuantizedLinear(child, config))
initialize_fake_quantizers(m, (torch.randn(16, 32),))
optimizer = torch.optim.SGD(m.parameters(), lr=0.05, momentum=0.9)
prev_scale = m.linear1.weight_fake_quantizer.scale.detach().clone()
prev_weight = m.linear1.weight.detach().clone()

# %%
centers = torch.randn(10, 32)
for step in range(30):
    target = torch.randint(0, 10, (64,))
    out = m(centers[target] + 0.5 * torch.randn(64, 32))
    loss = F.cross_entropy(out, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, loss.item())
new_scale = m.linear1.weight_fake_quantizer.scale.detach()
print((m.linear1.weight - prev_weight).abs().max().item(), (new_scale - prev_scale).abs().max().item())
