# https://github.com/pytorch/pytorch/pull/173888
import torch
import torch.nn as nn

torch.manual_seed(0)
rnn = nn.RNN(10, 20, 2)
weight_ih = [rnn.weight_ih_l0, rnn.weight_ih_l1]
weight_hh = [rnn.weight_hh_l0, rnn.weight_hh_l1]
bias_ih = [rnn.bias_ih_l0, rnn.bias_ih_l1]
bias_hh = [rnn.bias_hh_l0, rnn.bias_hh_l1]


# %%
# Efficient implementation equivalent to the following with bidirectional=False
def forward(x, hx=None, batch_first=False):
    if batch_first:
        x = x.transpose(0, 1)
    seq_len, batch_size, _ = x.size()
    if hx is None:
        hx = torch.zeros(rnn.num_layers, batch_size, rnn.hidden_size)
    h_t_minus_1 = hx.clone()
    h_t = hx.clone()
    output = []
    for t in range(seq_len):
        for layer in range(rnn.num_layers):
            input_t = x[t] if layer == 0 else h_t[layer - 1]
            h_t[layer] = torch.tanh(
                input_t @ weight_ih[layer].T
                + bias_ih[layer]
                + h_t_minus_1[layer] @ weight_hh[layer].T
                + bias_hh[layer]
            )
        output.append(h_t[-1].clone())
        h_t_minus_1 = h_t.clone()
    output = torch.stack(output)
    return output, h_t


# %%
x = torch.randn(5, 3, 10)
output, h_n = forward(x)
output.sum().backward()
