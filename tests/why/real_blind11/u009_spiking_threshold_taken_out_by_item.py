# https://github.com/fangwei123456/spikingjelly/issues/371
import torch
import torch.nn as nn

torch.manual_seed(0)


class SurrogateSigmoid(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.save_for_backward(x)
        ctx.alpha = alpha
        return (x >= 0).to(x)

    @staticmethod
    def backward(ctx, grad_output):
        x, = ctx.saved_tensors
        s = torch.sigmoid(ctx.alpha * x)
        return grad_output * ctx.alpha * s * (1 - s), None


class MultiStepLIFNode(nn.Module):
    def __init__(self, tau=2.0, v_threshold=1.0, detach_reset=True):
        super().__init__()
        self.tau, self.v_threshold, self.detach_reset = tau, v_threshold, detach_reset

    def forward(self, x_seq):
        v, spikes = 0., []
        for x in x_seq:
            v = v + (x - v) / self.tau
            spike = SurrogateSigmoid.apply(v - self.v_threshold, 4.0)
            reset = spike.detach() if self.detach_reset else spike
            v = v * (1 - reset)
            spikes.append(spike)
        return torch.stack(spikes)


class Net(nn.Module):
    def __init__(self, v_th=1.0):
        super().__init__()
        self.v_th = nn.Parameter(torch.tensor([v_th]))
        self.fc1 = nn.Linear(20, 32)
        self.lif = MultiStepLIFNode(tau=2.0, v_threshold=self.v_th.item(), detach_reset=True)
        self.fc2 = nn.Linear(32, 5)

    def forward(self, x_seq):
        return self.fc2(self.lif(self.fc1(x_seq))).mean(0)


# %%
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
x, label = torch.randn(4, 32, 20) * 2, torch.randint(0, 5, (32,))

# %%
for epoch in range(5):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(x), label)
    loss.backward()
    optimizer.step()
    print(epoch, loss.item(), net.v_th.item())
