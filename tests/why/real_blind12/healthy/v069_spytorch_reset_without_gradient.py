# https://github.com/fzenke/spytorch/issues/2
import torch
import torch.nn as nn

torch.manual_seed(0)

nb_inputs, nb_hidden, nb_outputs = 40, 24, 2
time_step, nb_steps, batch_size = 1e-3, 60, 64
tau_mem, tau_syn = 10e-3, 5e-3
alpha = float(torch.exp(torch.tensor(-time_step / tau_syn)))
beta = float(torch.exp(torch.tensor(-time_step / tau_mem)))


class SurrGradSpike(torch.autograd.Function):
    """a step in the forward pass, the derivative of a fast sigmoid in the backward pass"""
    scale = 100.0

    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        out = torch.zeros_like(input)
        out[input > 0] = 1.0
        return out

    @staticmethod
    def backward(ctx, grad_output):
        input, = ctx.saved_tensors
        grad_input = grad_output.clone()
        return grad_input / (SurrGradSpike.scale * torch.abs(input) + 1.0) ** 2


spike_fn = SurrGradSpike.apply


def run_snn(inputs):
    h1 = torch.einsum("abc,cd->abd", (inputs, w1))
    syn = torch.zeros((batch_size, nb_hidden))
    mem = torch.zeros((batch_size, nb_hidden))
    spk_rec = []
    for t in range(nb_steps):
        mthr = mem - 1.0
        out = spike_fn(mthr)
        rst = torch.zeros_like(mem)
        c = (mthr > 0)
        rst[c] = torch.ones_like(mem)[c]
        new_syn = alpha * syn + h1[:, t]
        new_mem = beta * mem + syn - rst
        spk_rec.append(out)
        mem = new_mem
        syn = new_syn
    spk_rec = torch.stack(spk_rec, dim=1)
    # readout layer
    h2 = torch.einsum("abc,cd->abd", (spk_rec, w2))
    flt = torch.zeros((batch_size, nb_outputs))
    out = torch.zeros((batch_size, nb_outputs))
    out_rec = [out]
    for t in range(nb_steps):
        new_flt = alpha * flt + h2[:, t]
        out = beta * out + flt
        flt = new_flt
        out_rec.append(out)
    return torch.stack(out_rec, dim=1), spk_rec


# %%
weight_scale = 7 * (1.0 - beta)
w1 = torch.empty((nb_inputs, nb_hidden), requires_grad=True)
torch.nn.init.normal_(w1, mean=0.0, std=weight_scale / nb_inputs ** 0.5)
w2 = torch.empty((nb_hidden, nb_outputs), requires_grad=True)
torch.nn.init.normal_(w2, mean=0.0, std=weight_scale / nb_hidden ** 0.5)
y_data = (torch.rand(batch_size) < 0.5).long()
rates = torch.rand(2, nb_inputs) * 0.2
x_data = (torch.rand(batch_size, nb_steps, nb_inputs) < rates[y_data][:, None, :]).float()

# %%
optimizer = torch.optim.Adam([w1, w2], lr=2e-3, betas=(0.9, 0.999))
log_softmax_fn = nn.LogSoftmax(dim=1)
loss_fn = nn.NLLLoss()
loss_hist = []
for e in range(40):
    output, spikes = run_snn(x_data)
    m, _ = torch.max(output, 1)
    loss_val = loss_fn(log_softmax_fn(m), y_data)
    optimizer.zero_grad()
    loss_val.backward()
    optimizer.step()
    loss_hist.append(loss_val.item())
print(loss_hist[0], loss_hist[-1], spikes.sum().item())
assert loss_hist[-1] < 0.7 * loss_hist[0]
assert w1.grad.abs().sum() > 0
