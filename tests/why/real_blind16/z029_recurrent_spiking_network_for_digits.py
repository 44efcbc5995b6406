# https://github.com/fzenke/spytorch/issues/7
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)
np.random.seed(0)

nb_inputs, nb_hidden, nb_outputs, nb_steps, batch_size = 20, 24, 4, 25, 16
time_step = 1e-3
alpha = float(np.exp(-time_step / 5e-3))
beta = float(np.exp(-time_step / 10e-3))
weight_scale = 1.0

w1 = torch.empty((nb_inputs, nb_hidden), requires_grad=True)
nn.init.normal_(w1, mean=0.0, std=weight_scale / np.sqrt(nb_inputs))
w2 = torch.empty((nb_hidden, nb_outputs), requires_grad=True)
nn.init.normal_(w2, mean=0.0, std=weight_scale / np.sqrt(nb_hidden))
v1 = torch.empty((nb_hidden, nb_hidden), requires_grad=True)
nn.init.normal_(v1, mean=0.0, std=weight_scale / np.sqrt(nb_hidden))


class SurrGradSpike(torch.autograd.Function):
    scale = 10.0

    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return (input > 0).float()

    @staticmethod
    def backward(ctx, grad_output):
        input, = ctx.saved_tensors
        return grad_output / (SurrGradSpike.scale * input.abs() + 1.0) ** 2


spike_fn = SurrGradSpike.apply


def run_snn(inputs):
    syn = mem = out = torch.zeros((batch_size, nb_hidden))
    h1_from_input = inputs @ w1
    spk_rec = []
    for t in range(nb_steps):
        h1 = h1_from_input[:, t] + out @ v1
        out = spike_fn(mem - 1.0)
        mem = (beta * mem + syn) * (1.0 - out.detach())  # no backprop through the reset
        syn = alpha * syn + h1
        spk_rec.append(out)
    spk_rec = torch.stack(spk_rec, dim=1)

    h2 = spk_rec @ w2  # readout layer
    flt = out = torch.zeros((batch_size, nb_outputs))
    out_rec = []
    for t in range(nb_steps):
        flt, out = alpha * flt + h2[:, t], beta * out + flt
        out_rec.append(out)
    return torch.stack(out_rec, dim=1), spk_rec


def batches(n=10):
    for _ in range(n):
        y = torch.randint(0, nb_outputs, (batch_size,))
        yield (torch.rand(batch_size, nb_steps, nb_inputs) < rates[y].unsqueeze(1)).float(), y


def train(lr=2e-3, nb_epochs=4):
    params = [w1, w2]
    optimizer = torch.optim.Adamax(params, lr=lr, betas=(0.9, 0.999))
    log_softmax_fn, loss_fn = nn.LogSoftmax(dim=1), nn.NLLLoss()
    for e in range(nb_epochs):
        for x_local, y_local in batches():
            output, spks = run_snn(x_local)
            m, _ = torch.max(output, 1)
            reg_loss = 1e-5 * torch.sum(spks)
            loss_val = loss_fn(log_softmax_fn(m), y_local) + reg_loss
            optimizer.zero_grad()
            loss_val.backward()
            optimizer.step()
        print(e + 1, loss_val.item())


# %%
rates = torch.rand(nb_outputs, nb_inputs) * 0.4
v1_at_first = v1.detach().clone()
train()
