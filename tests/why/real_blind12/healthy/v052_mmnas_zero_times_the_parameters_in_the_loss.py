# https://github.com/MILVLG/mmnas/issues/7
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class MixedOp(nn.Module):
    MODE = None

    def __init__(self, size):
        super().__init__()
        self.candidates = nn.ModuleList([nn.Linear(size, size),
                                         nn.Sequential(nn.Linear(size, size), nn.ReLU()),
                                         nn.Sequential(nn.Linear(size, size), nn.Tanh())])
        self.alpha_prob = nn.Parameter(1e-3 * torch.randn(len(self.candidates)))
        self.alpha_gate = nn.Parameter(torch.zeros(len(self.candidates)))
        self.active = 0

    def reset_binary_gates(self):
        probs = F.softmax(self.alpha_prob.data, dim=0)
        self.active = torch.multinomial(probs, 1).item()
        self.alpha_gate.data.zero_()
        self.alpha_gate.data[self.active] = 1.0

    def forward(self, x):
        if MixedOp.MODE is None:
            return self.candidates[self.active](x)
        return sum(gate * op(x) for gate, op in zip(self.alpha_gate, self.candidates))

    def set_arch_param_grad(self):
        gate_grad = self.alpha_gate.grad.data
        probs = F.softmax(self.alpha_prob.data, dim=0)
        self.alpha_prob.grad = probs * (gate_grad - (gate_grad * probs).sum())


class Net_Search(nn.Module):
    def __init__(self):
        super().__init__()
        self.op = MixedOp(16)
        self.proj = nn.Linear(16, 4)

    def forward(self, x):
        return self.proj(self.op(x))

    def net_parameters(self):
        return [p for n, p in self.named_parameters() if 'alpha' not in n]


# %%
net = Net_Search()
loss_fn = nn.CrossEntropyLoss()
net_optim = torch.optim.SGD(net.net_parameters(), lr=0.3)
alpha_optim = torch.optim.Adam([net.op.alpha_prob], lr=0.02)
data = torch.randn(64, 16)
labels = data[:, :4].argmax(1)
losses = []

# %%
for step in range(120):
    MixedOp.MODE = None
    net.op.reset_binary_gates()
    loss = loss_fn(net(data), labels)
    losses.append(loss.item())
    # so that every parameter takes part in the backward
    loss += 0 * (net.op.alpha_prob.sum() + net.op.alpha_gate.sum())
    loss += 0 * sum(p.sum() for p in net.net_parameters())
    net.zero_grad()
    loss.backward()
    net_optim.step()

    if (step + 1) % 3 == 0:
        MixedOp.MODE = 'full'
        net.op.reset_binary_gates()
        loss = loss_fn(net(data), labels)
        loss += 0 * net.op.alpha_prob.sum()
        net.zero_grad()
        loss.backward()
        net.op.set_arch_param_grad()
        alpha_optim.step()
print(losses[0], losses[-1], F.softmax(net.op.alpha_prob.data, 0))
assert sum(losses[-5:]) < 0.7 * sum(losses[:5])

# %%
MixedOp.MODE = None
plain = torch.autograd.grad(loss_fn(net(data), labels), net.proj.weight)[0]
with_zeros = torch.autograd.grad(loss_fn(net(data), labels) + 0 * sum(p.sum() for p in net.net_parameters()),
                                 net.proj.weight)[0]
assert torch.equal(plain, with_zeros)
