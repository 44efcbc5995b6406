# https://github.com/chenwydj/learning-to-learn-by-gradient-descent-by-gradient-descent/issues/2
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.autograd import Variable

torch.manual_seed(0)


def to_var(x, requires_grad=True):
    return Variable(x, requires_grad=requires_grad)


class MetaModule(nn.Module):
    # adopted from: Adrien Ecoffet
    def parameters(self):
        for name, param in self.named_parameters(self):
            yield param

    def named_parameters(self, curr_module=None, memo=None, prefix=''):
        if memo is None:
            memo = set()
        for name, p in (curr_module or self)._parameters.items():
            if p is not None and p not in memo:
                memo.add(p)
                yield prefix + ('.' if prefix else '') + name, p
        for mname, module in (curr_module or self).named_children():
            submodule_prefix = prefix + ('.' if prefix else '') + mname
            for name, p in self.named_parameters(module, memo, submodule_prefix):
                yield name, p


class MetaLinear(MetaModule):
    def __init__(self, *args, **kwargs):
        super().__init__()
        ignore = nn.Linear(*args, **kwargs)
        self.register_buffer('weight', to_var(ignore.weight.data, requires_grad=True))
        self.register_buffer('bias', to_var(ignore.bias.data, requires_grad=True))

    def forward(self, x):
        return F.linear(x, self.weight, self.bias)


class MNISTLoss:
    def __init__(self, training=True):
        self.data = torch.randn(256, 28 * 28)
        self.target = torch.randint(0, 10, (256,))

    def sample(self):
        idx = torch.randint(0, 256, (32,))
        return self.data[idx], self.target[idx]


class MNISTNet(MetaModule):
    def __init__(self, layer_size=20, n_layers=1, **kwargs):
        super().__init__()
        inp_size = 28 * 28
        self.layers = {}
        for i in range(n_layers):
            self.layers[f'mat_{i}'] = MetaLinear(inp_size, layer_size)
            inp_size = layer_size
        self.layers['final_mat'] = MetaLinear(inp_size, 10)
        self.layers = nn.ModuleDict(self.layers)
        self.activation = nn.Sigmoid()
        self.loss = nn.NLLLoss()

    def all_named_parameters(self):
        return [(k + '.' + n, p) for k, layer in self.layers.items() for n, p in layer.named_buffers()]

    def forward(self, loss):
        inp, out = loss.sample()
        cur_layer = 0
        while f'mat_{cur_layer}' in self.layers:
            inp = self.activation(self.layers[f'mat_{cur_layer}'](inp))
            cur_layer += 1
        inp = F.log_softmax(self.layers['final_mat'](inp), dim=1)
        return self.loss(inp, out)


# %%
def fit_normal(target_cls, target_to_opt, opt_class, n_tests=2, n_epochs=20, **kwargs):
    results = []
    for i in range(n_tests):
        target = target_cls(training=False)
        optimizee = target_to_opt()
        optimizer = opt_class(optimizee.parameters(), **kwargs)
        total_loss = []
        for _ in range(n_epochs):
            loss = optimizee(target)
            total_loss.append(loss.data.cpu().numpy())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        results.append(total_loss)
    return results


NORMAL_OPTS = [(optim.Adam, {}), (optim.SGD, {'momentum': 0.9}), (optim.RMSprop, {})]
LRS = [0.03, 1.0, 0.01]

# %%
fit_data = np.zeros((2, 20, len(NORMAL_OPTS)))
for i, ((opt, extra_kwargs), lr) in enumerate(zip(NORMAL_OPTS, LRS)):
    fit_data[:, :, i] = np.array(fit_normal(MNISTLoss, MNISTNet, opt, lr=lr, **extra_kwargs))
