# https://github.com/ikostrikov/pytorch-meta-optimizer/issues/11
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.manual_seed(0)


def preprocess_gradients(x):
    p = 10
    eps = 1e-6
    indicator = (x.abs() > torch.exp(torch.tensor(-float(p)))).float()
    x1 = (x.abs() + eps).log() / p * indicator - (1 - indicator)
    x2 = x.sign() * indicator + torch.exp(torch.tensor(float(p))) * x * (1 - indicator)
    return torch.cat((x1, x2), 1)


class LayerNormLSTMCell(nn.Module):
    def __init__(self, num_inputs, num_hidden, forget_gate_bias=-1):
        super(LayerNormLSTMCell, self).__init__()
        self.forget_gate_bias = forget_gate_bias
        self.num_hidden = num_hidden
        self.fc_i2h = None
        self.i2h = nn.Linear(num_inputs, 4 * num_hidden)
        self.h2h = nn.Linear(num_hidden, 4 * num_hidden)
        self.ln = nn.LayerNorm(4 * num_hidden)

    def forward(self, inputs, state):
        hx, cx = state
        gates = self.ln(self.i2h(inputs)) + self.h2h(hx)
        in_gate, forget_gate, out_gate, cell = gates.chunk(4, 1)
        cx = torch.sigmoid(forget_gate + self.forget_gate_bias) * cx + torch.sigmoid(in_gate) * torch.tanh(cell)
        hx = torch.sigmoid(out_gate) * torch.tanh(cx)
        return hx, cx


class MetaOptimizer(nn.Module):
    def __init__(self, num_params, num_layers, hidden_size):
        super(MetaOptimizer, self).__init__()
        self.num_params = num_params
        self.hidden_size = hidden_size
        self.linear1 = nn.Linear(3, hidden_size)
        self.ln1 = nn.LayerNorm(hidden_size)

        self.lstms = []
        for i in range(num_layers):
            self.lstms.append(LayerNormLSTMCell(hidden_size, hidden_size))

        self.linear2 = nn.Linear(hidden_size, 1)
        self.linear2.weight.data.mul_(0.1)
        self.linear2.bias.data.fill_(0.0)

    def reset_lstm(self, theta):
        self.theta = theta
        self.hx = [torch.zeros(self.num_params, self.hidden_size) for _ in self.lstms]
        self.cx = [torch.zeros(self.num_params, self.hidden_size) for _ in self.lstms]

    def forward(self, x):
        x = torch.tanh(self.ln1(self.linear1(x)))
        for i in range(len(self.lstms)):
            self.hx[i], self.cx[i] = self.lstms[i](x, (self.hx[i], self.cx[i]))
            x = self.hx[i]
        return self.linear2(x).squeeze(1)

    def meta_update(self, grad, loss):
        inputs = torch.cat((preprocess_gradients(grad.view(-1, 1)), loss.expand(self.num_params, 1)), 1)
        self.theta = self.theta - self(inputs)
        return self.theta


# %%
def f(theta, target):
    return (theta - target).pow(2).mean()


meta_optimizer = MetaOptimizer(num_params=10, num_layers=2, hidden_size=6)
optimizer = optim.Adam(meta_optimizer.parameters(), lr=1e-2)
lstm_before = meta_optimizer.lstms[0].i2h.weight.detach().clone()

for epoch in range(2):
    for i in range(2):
        target, theta = torch.randn(10), torch.randn(10)
        meta_optimizer.reset_lstm(theta)
        loss_sum = 0
        for k in range(4):
            # gradient of the optimizee
            point = meta_optimizer.theta.detach().requires_grad_()
            loss = f(point, target)
            grad, = torch.autograd.grad(loss, point)
            # perform a meta update using gradients and loss
            theta = meta_optimizer.meta_update(grad, loss.detach())
            loss_sum += f(theta, target)
        # update the parameters of the meta optimizer
        meta_optimizer.zero_grad()
        loss_sum.backward()
        for param in meta_optimizer.parameters():
            param.grad.data.clamp_(-1, 1)
        optimizer.step()
    print("Epoch: {}, final loss {}".format(epoch, loss_sum.item()))
