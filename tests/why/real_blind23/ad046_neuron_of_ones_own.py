# https://github.com/fangwei123456/spikingjelly/issues/397
import math
import torch
import torch.nn as nn

torch.manual_seed(0)


class atan(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.save_for_backward(x)
        ctx.alpha = alpha
        return (x >= 0).to(x)

    @staticmethod
    def backward(ctx, grad_output):
        x, = ctx.saved_tensors
        grad_x = ctx.alpha / 2 / (1 + (math.pi / 2 * ctx.alpha * x).pow(2)) * grad_output
        return grad_x, None


class ATan(nn.Module):
    def __init__(self, alpha=2.0):
        super().__init__()
        self.alpha = alpha

    def forward(self, x):
        return atan.apply(x, self.alpha)


class BaseNode(nn.Module):
    def __init__(self, v_threshold=1., v_reset=0., surrogate_function=None, step_mode='s'):
        super().__init__()
        self.v_threshold = v_threshold
        self.v_reset = v_reset
        self.surrogate_function = surrogate_function or ATan()
        self.step_mode = step_mode
        self.v = 0.

    def neuronal_charge(self, x):
        raise NotImplementedError

    def neuronal_fire(self):
        return self.surrogate_function(self.v - self.v_threshold)

    def neuronal_reset(self, spike):
        self.v = (1. - spike) * self.v + spike * self.v_reset

    def v_float_to_tensor(self, x):
        if isinstance(self.v, float):
            self.v = torch.full_like(x, self.v)

    def single_step_forward(self, x):
        self.v_float_to_tensor(x)
        self.neuronal_charge(x)
        spike = self.neuronal_fire()
        self.neuronal_reset(spike)
        return spike

    def multi_step_forward(self, x_seq):
        return torch.stack([self.single_step_forward(x_seq[t]) for t in range(x_seq.shape[0])])

    def forward(self, x):
        return self.single_step_forward(x) if self.step_mode == 's' else self.multi_step_forward(x)

    def reset(self):
        self.v = 0.


class TestLIFNode(BaseNode):
    def __init__(self, tau=2., init_a=0.1, **kwargs):
        super().__init__(**kwargs)
        self.tau = tau
        self.a = nn.Parameter(torch.as_tensor(init_a))

    def neuronal_charge(self, x):
        self.v = self.v + (x - self.v) / self.tau + self.a * self.v


# %%
net = nn.Sequential(
    nn.Linear(4, 16),
    TestLIFNode(step_mode='s'),
    nn.Linear(16, 2),
    TestLIFNode(step_mode='s'),
)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)

# %%
before = [net[1].a.item(), net[3].a.item()]
for epoch in range(10):
    x_seq = torch.rand([8, 4]) * 4
    target = (x_seq.mean(-1, keepdim=True) > torch.tensor([2., 1.])).float()
    optimizer.zero_grad()
    y = net(x_seq)
    loss = ((y - target) ** 2).sum()
    loss.backward()
    optimizer.step()
    for m in net:
        if isinstance(m, BaseNode):
            m.reset()
    print(epoch, loss.item(), net[1].a, net[1].a.grad)
