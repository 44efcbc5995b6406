# https://github.com/norse/norse/issues/130
from typing import NamedTuple

import torch

torch.manual_seed(0)


class SuperSpike(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input_tensor, alpha):
        ctx.alpha = alpha
        ctx.save_for_backward(input_tensor)
        return torch.heaviside(input_tensor, torch.as_tensor(0.0))

    @staticmethod
    def backward(ctx, grad_output):
        (inp,) = ctx.saved_tensors
        return grad_output / (ctx.alpha * torch.abs(inp) + 1.0).pow(2), None


class LIFParameters(NamedTuple):
    tau_syn_inv: float = 1.0 / 5e-3
    tau_mem_inv: float = 1.0 / 1e-2
    v_th: float = 0.1
    alpha: float = 100.0


class LIFState(NamedTuple):
    z: torch.Tensor
    v: torch.Tensor
    i: torch.Tensor


class LIFCell(torch.nn.Module):
    def __init__(self, input_size, hidden_size, p=LIFParameters(), dt=0.001):
        super(LIFCell, self).__init__()
        self.input_weights = torch.nn.Parameter(torch.randn(hidden_size, input_size) / input_size**0.5)
        self.recurrent_weights = torch.nn.Parameter(torch.randn(hidden_size, hidden_size) / hidden_size**0.5)
        self.hidden_size, self.p, self.dt = hidden_size, p, dt

    def forward(self, input_tensor, state=None):
        if state is None:
            zeros = torch.zeros(input_tensor.shape[0], self.hidden_size)
            state = LIFState(z=zeros, v=zeros, i=zeros)
        # compute voltage updates
        dv = self.dt * self.p.tau_mem_inv * (state.i - state.v)
        v_decayed = state.v + dv
        # compute current updates
        i_decayed = state.i - self.dt * self.p.tau_syn_inv * state.i
        # compute new spikes
        z_new = SuperSpike.apply(v_decayed - self.p.v_th, self.p.alpha)
        # compute reset
        v_new = (1 - z_new) * v_decayed
        i_new = (i_decayed + torch.nn.functional.linear(input_tensor, self.input_weights)
                 + torch.nn.functional.linear(state.z, self.recurrent_weights))
        return z_new, LIFState(z_new, v_new, i_new)


# %%
model = LIFCell(12, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
data = torch.ones(100, 12)
s = None
for epoch in range(3):
    optimizer.zero_grad()
    for ts in range(2):
        out, s = model(data, s)
    loss = (s.v - 0.5).pow(2).sum() + out.sum()
    loss.backward()
    optimizer.step()
