# https://github.com/NVlabs/tiny-cuda-nn/issues/472
import torch
import torch.nn as nn

torch.manual_seed(0)


class NativeModule:
    """Stands for the compiled network: half precision, gradients by hand."""

    def __init__(self, n_in, n_hidden, n_out):
        self.shapes = [(n_hidden, n_in), (n_hidden, n_hidden), (n_out, n_hidden)]

    def n_params(self):
        return sum(o * i for o, i in self.shapes)

    def initial_params(self):
        return torch.cat([(torch.rand(o * i) * 2 - 1) * (6 / (o + i)) ** 0.5 for o, i in self.shapes])

    def matrices(self, params):
        parts = params.split([o * i for o, i in self.shapes])
        return [part.view(shape) for part, shape in zip(parts, self.shapes)]

    def fwd(self, input, params):
        kept, h = [], input.half()
        weights = self.matrices(params)
        for k, w in enumerate(weights):
            kept.append(h)
            h = h @ w.t()
            if k < len(weights) - 1:
                h = h.clamp(min=0)
        return kept, h

    def bwd(self, native_ctx, params, doutput):
        grads, g = [], doutput.half()
        weights = self.matrices(params)
        for k in reversed(range(len(weights))):
            grads.append((g.t() @ native_ctx[k]).flatten())
            g = g @ weights[k]
            if k > 0:
                g = g * (native_ctx[k] > 0)
        return g, torch.cat(grads[::-1])


class _module_function(torch.autograd.Function):
    @staticmethod
    def forward(ctx, native_tcnn_module, input, params, loss_scale):
        # If no output gradient is provided, no need to materialize it as torch.zeros.
        ctx.set_materialize_grads(False)
        native_ctx, output = native_tcnn_module.fwd(input, params)
        ctx.save_for_backward(input, params, output)
        ctx.native_tcnn_module, ctx.native_ctx, ctx.loss_scale = native_tcnn_module, native_ctx, loss_scale
        return output

    @staticmethod
    def backward(ctx, doutput):
        if doutput is None:
            return None, None, None, None
        input, params, output = ctx.saved_tensors
        scaled_grad = doutput * ctx.loss_scale
        input_grad, params_grad = ctx.native_tcnn_module.bwd(ctx.native_ctx, params, scaled_grad)
        input_grad = (input_grad / ctx.loss_scale).to(input.dtype) if ctx.needs_input_grad[1] else None
        return None, input_grad, params_grad / ctx.loss_scale, None


class Network(nn.Module):
    def __init__(self, n_input_dims, n_output_dims, n_neurons=32):
        super().__init__()
        self.native_tcnn_module = NativeModule(n_input_dims, n_neurons, n_output_dims)
        self.params = nn.Parameter(self.native_tcnn_module.initial_params(), requires_grad=True)
        self.loss_scale = 128.0

    def forward(self, x):
        return _module_function.apply(self.native_tcnn_module, x.float().contiguous(), self.params.half().contiguous(), self.loss_scale)


class Frequency(nn.Module):
    def forward(self, x):
        bands = [f(torch.pi * 2**k * x) for k in range(3) for f in (torch.sin, torch.cos)]
        return torch.cat(bands, dim=1)


def image(xy):
    return torch.stack([(torch.sin(5 * xy[:, 0]) + 1) / 2, xy[:, 1], (xy[:, 0] - xy[:, 1]).abs()], 1)


# %%
encoding, network = Frequency(), Network(12, 3)
model = nn.Sequential(encoding, network)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
losses = []
for i in range(300):
    batch = torch.rand(256, 2)
    targets = image(batch)
    output = model(batch)
    relative_l2_error = (output - targets.to(output.dtype)) ** 2 / (output.detach() ** 2 + 0.01)
    loss = relative_l2_error.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

# %%
def gradient(loss_scale):
    network.loss_scale = loss_scale
    error = ((model(probe) - image(probe).half()) ** 2).float().mean()
    return torch.autograd.grad(error, network.params)[0]


probe = torch.rand(8192, 2)
weights = network.native_tcnn_module.matrices(network.params)
h = torch.relu(torch.relu(encoding(probe) @ weights[0].t()) @ weights[1].t()) @ weights[2].t()
full = torch.autograd.grad(((h - image(probe)) ** 2).mean(), network.params)[0]
off = [((gradient(scale) - full).norm() / full.norm()).item() for scale in (128.0, 1.0)]
print(losses[0], losses[-1], off, network.params.grad.dtype)
assert network.params.grad.dtype == torch.float32
assert off[0] < 0.1 and off[0] < off[1] and losses[-1] < 0.1 * losses[0]
