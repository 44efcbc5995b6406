# https://github.com/jeshraghian/snntorch/issues/250
import torch
import torch.nn as nn

torch.manual_seed(0)


class Spike(torch.autograd.Function):
    @staticmethod
    def forward(ctx, mem):
        ctx.save_for_backward(mem)
        return (mem > 0).float()

    @staticmethod
    def backward(ctx, grad_output):
        mem, = ctx.saved_tensors
        s = torch.sigmoid(5 * mem)
        return grad_output * 5 * s * (1 - s)


class Leaky(nn.Module):
    def __init__(self, beta=0.5, threshold=1.0, init_hidden=True, output=False):
        super().__init__()
        self.beta, self.threshold, self.output = beta, threshold, output
        self.mem = torch.zeros(1)

    def reset_hidden(self):
        self.mem = torch.zeros(1)

    def forward(self, input_):
        self.mem = self.beta * self.mem + input_
        spk = Spike.apply(self.mem - self.threshold)
        self.mem = self.mem - spk.detach() * self.threshold
        return (spk, self.mem) if self.output else spk


def reset(net):
    for m in net.modules():
        if isinstance(m, Leaky):
            m.reset_hidden()


# %%
num_steps, batch_size = 5, 4
net = nn.Sequential(nn.Conv2d(1, 4, 5), nn.MaxPool2d(2), Leaky(), nn.Flatten(), nn.Linear(64, 10), Leaky(output=True))
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2, betas=(0.9, 0.999))


def forward_pass(net, num_steps, data):
    mem_rec = []
    spk_rec = []
    for step in range(num_steps):
        spk_out, mem_out = net(data)
        spk_rec.append(spk_out)
        mem_rec.append(mem_out)
    return torch.stack(spk_rec), torch.stack(mem_rec)


# %%
for i in range(3):
    data, targets = torch.rand(batch_size, 1, 12, 12), torch.randint(0, 10, (batch_size,))
    net.train()
    spk_rec, mem_rec = forward_pass(net, num_steps, data)
    loss_val = sum(loss_fn(mem, targets) for mem in mem_rec)
    optimizer.zero_grad()
    loss_val.backward()
    optimizer.step()
    print(i, loss_val.item())
