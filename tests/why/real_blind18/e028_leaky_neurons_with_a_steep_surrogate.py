# https://github.com/jeshraghian/snntorch/issues/427
import torch
import torch.nn as nn

torch.manual_seed(0)


class Sigmoid(torch.autograd.Function):
    """A step forwards, the slope of a steep sigmoid backwards."""

    @staticmethod
    def forward(ctx, input_, slope):
        ctx.slope = slope
        ctx.save_for_backward(input_)
        return torch.heaviside(input_, torch.zeros(()))

    @staticmethod
    def backward(ctx, grad_output):
        input_, = ctx.saved_tensors
        decay = torch.exp(-ctx.slope * input_)
        return grad_output * ctx.slope * decay / (1 + decay) ** 2, None


def sigmoid(slope=25):
    return lambda x: Sigmoid.apply(x, slope)


class Leaky(nn.Module):
    def __init__(self, beta, threshold=1.0, spike_grad=None):
        super().__init__()
        self.beta = beta
        self.threshold = threshold
        self.spike_grad = spike_grad

    def init_leaky(self):
        return torch.zeros(1)

    def forward(self, input_, mem):
        reset = (mem.detach() > self.threshold).float()
        mem = self.beta * mem + input_ - reset * self.threshold
        return self.spike_grad(mem - self.threshold), mem


num_inputs, num_hidden, num_outputs = 784, 100, 10
num_steps = 25
beta = 0.95


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        spike_grad = sigmoid()
        self.fc1 = nn.Linear(num_inputs, num_hidden)
        self.lif1 = Leaky(beta=beta, spike_grad=spike_grad)
        self.fc2 = nn.Linear(num_hidden, num_outputs)
        self.lif2 = Leaky(beta=beta, spike_grad=spike_grad)

    def forward(self, x):
        mem1, mem2 = self.lif1.init_leaky(), self.lif2.init_leaky()
        spk2_rec = []
        for step in range(num_steps):
            spk1, mem1 = self.lif1(self.fc1(x[step]), mem1)
            spk2, mem2 = self.lif2(self.fc2(spk1), mem2)
            spk2_rec.append(spk2)
        return torch.stack(spk2_rec)


# %%
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-4)
loss_fn = nn.CrossEntropyLoss()

spike_inputs = (torch.rand(num_steps, 16, num_inputs) < 0.3).float()
targets = torch.randint(0, num_outputs, (16,))

for epoch in range(3):
    spk_rec = net(spike_inputs)
    loss_val = loss_fn(spk_rec.sum(0), targets)
    optimizer.zero_grad()
    loss_val.backward()
    optimizer.step()
    print(epoch, loss_val.item(), spk_rec.sum().item())
