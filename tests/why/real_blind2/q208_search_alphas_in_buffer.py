# https://github.com/vicFigure/EAutoDet/issues/3
import torch
import torch.nn as nn
import torch.nn.functional as F


def autopad(k, d=1):
    return d * (k - 1) // 2


class Conv_search(nn.Module):
    def __init__(self, c1, c2, kd=[(1, 1), (3, 1), (5, 1), (3, 2)], s=1):
        super(Conv_search, self).__init__()
        self.m = nn.ModuleList([])
        for kernel_size, dilation in kd:
            conv = nn.Conv2d(c1, c2, kernel_size, s, autopad(kernel_size, dilation), dilation=dilation, bias=False)
            self.m.append(nn.Sequential(conv, nn.BatchNorm2d(c2)))
        self.act = nn.SiLU()
        self.register_buffer('alphas', torch.autograd.Variable(1e-3 * torch.randn(len(kd)), requires_grad=True))

    def forward(self, x):
        alphas = F.softmax(self.alphas, dim=-1)
        return self.act(sum([a * m(x) for m, a in zip(self.m, alphas)]))

    def get_alphas(self):
        return [self.alphas]


class Model(nn.Module):
    def __init__(self, nc=4):
        super(Model, self).__init__()
        self.conv1 = Conv_search(3, 6)
        self.conv2 = Conv_search(6, 6)
        self.detect = nn.Linear(6, nc)

    def forward(self, x):
        return self.detect(self.conv2(self.conv1(x)).mean(dim=(2, 3)))

    def arch_parameters(self):
        return [a for m in self.modules() if isinstance(m, Conv_search) for a in m.get_alphas()]


# %%
class Architect(object):
    def __init__(self, model, compute_loss, arch_learning_rate=3e-3, arch_weight_decay=1e-3):
        self.model = model
        self.compute_loss = compute_loss
        self.optimizer = torch.optim.Adam(
            self.model.arch_parameters(), lr=arch_learning_rate, betas=(0.5, 0.999), weight_decay=arch_weight_decay)
        self.optimizer.zero_grad()

    def step(self, input_valid, target_valid):
        self._backward_step(input_valid, target_valid)
        self.optimizer.step()
        self.optimizer.zero_grad()

    def _backward_step(self, input_valid, target_valid):
        loss = self.compute_loss(self.model(input_valid), target_valid)
        # loss.backward()  # it will affect model.parameters()
        grads = torch.autograd.grad(loss, self.model.arch_parameters(), allow_unused=True)
        for v, g in zip(self.model.arch_parameters(), grads):
            if v.grad is None:
                v.grad = g.data.clone()
            else:
                v.grad.data.add_(g.data)


# %%
model = Model()
compute_loss = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
architect = Architect(model, compute_loss)
alphas_before = model.conv1.alphas.detach().clone()
search_warmup = 1
for epoch in range(3):
    imgs, targets = torch.rand(4, 3, 8, 8), torch.randint(4, (4,))
    if epoch >= search_warmup:
        input_valid, target_valid = torch.rand(4, 3, 8, 8), torch.randint(4, (4,))
        architect.step(input_valid, target_valid)
    loss = compute_loss(model(imgs), targets)
    # loss.backward()
    grads = torch.autograd.grad(loss, model.parameters(), allow_unused=True)
    for v, g in zip(model.parameters(), grads):
        if v.grad is None:
            v.grad = g.data.clone()
        else:
            v.grad.data.add_(g.data)
    optimizer.step()
    optimizer.zero_grad()

# %%
print([name for name, _ in model.named_parameters() if 'alphas' in name])
print(alphas_before, model.conv1.alphas)
