# https://github.com/fungtion/DANN/issues/7
import math
import torch
import torch.nn as nn
from torch.autograd import Function

torch.manual_seed(0)


class ReverseLayerF(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        output = grad_output.neg() * ctx.alpha
        return output, None


class CNNModel(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.feature = nn.Sequential()
        self.feature.add_module('f_fc1', nn.Linear(3, hidden))
        self.feature.add_module('f_relu1', nn.ReLU(True))
        self.feature.add_module('f_fc2', nn.Linear(hidden, hidden))
        self.feature.add_module('f_relu2', nn.ReLU(True))
        self.class_classifier = nn.Sequential()
        self.class_classifier.add_module('c_fc1', nn.Linear(hidden, hidden))
        self.class_classifier.add_module('c_relu1', nn.ReLU(True))
        self.class_classifier.add_module('c_fc2', nn.Linear(hidden, 2))
        self.class_classifier.add_module('c_softmax', nn.LogSoftmax(dim=1))
        self.domain_classifier = nn.Sequential()
        self.domain_classifier.add_module('d_fc1', nn.Linear(hidden, hidden))
        self.domain_classifier.add_module('d_relu1', nn.ReLU(True))
        self.domain_classifier.add_module('d_fc2', nn.Linear(hidden, 2))
        self.domain_classifier.add_module('d_softmax', nn.LogSoftmax(dim=1))

    def forward(self, input_data, alpha):
        feature = self.feature(input_data)
        reverse_feature = ReverseLayerF.apply(feature, alpha)
        return self.class_classifier(feature), self.domain_classifier(reverse_feature)


def source(n=64):
    """The kind is in the first number, and the third one knows it too."""
    y = torch.randint(0, 2, (n,))
    side = 2. * y - 1
    return torch.stack([side, torch.randn(n), 2 * side], 1) + 0.4 * torch.randn(n, 3), y


def target(n=64):
    """Here the third number stands still somewhere else."""
    y = torch.randint(0, 2, (n,))
    return torch.stack([2. * y - 1, torch.randn(n), torch.full((n,), 2.)], 1) + 0.4 * torch.randn(n, 3), y


def train(use_domain, n_epoch=6, len_dataloader=80):
    torch.manual_seed(1)
    my_net = CNNModel()
    optimizer = torch.optim.Adam(my_net.parameters(), lr=1e-3)
    loss_class, loss_domain = nn.NLLLoss(), nn.NLLLoss()
    first_alpha_grad = None
    for epoch in range(n_epoch):
        for i in range(len_dataloader):
            p = float(i + epoch * len_dataloader) / n_epoch / len_dataloader
            alpha = 2. / (1. + math.exp(-10 * p)) - 1
            my_net.zero_grad()
            s_img, s_label = source()
            class_output, domain_output = my_net(input_data=s_img, alpha=alpha)
            err_s_label = loss_class(class_output, s_label)
            err_s_domain = loss_domain(domain_output, torch.zeros(64).long())
            t_img, _ = target()
            _, domain_output = my_net(input_data=t_img, alpha=alpha)
            err_t_domain = loss_domain(domain_output, torch.ones(64).long())
            err = err_s_label + (err_t_domain + err_s_domain) * use_domain
            err.backward()
            if first_alpha_grad is None:
                first_alpha_grad = my_net.domain_classifier.d_fc1.weight.grad.abs().max().item()
            optimizer.step()
    return my_net, err_s_domain.item(), first_alpha_grad


# %%
x, y = target(1000)
accuracies = []
for use_domain in (0, 1):
    my_net, last_domain_loss, domain_grad = train(use_domain)
    with torch.no_grad():
        accuracies.append((my_net(x, 0)[0].argmax(1) == y).float().mean().item())

# %%
s, _ = source(8)
class_output, domain_output = my_net(s, 1.0)
f = my_net.feature.f_fc1.weight
reversed_grad, = torch.autograd.grad(domain_output[:, 0].mean(), f, retain_graph=True)
plain_grad, = torch.autograd.grad(my_net.domain_classifier(my_net.feature(s))[:, 0].mean(), f)
print(accuracies, last_domain_loss, domain_grad)
assert torch.allclose(reversed_grad, -plain_grad, atol=1e-7)
assert domain_grad > 0  # the classifier of the domain learns while alpha is zero
assert accuracies[1] > accuracies[0] + 0.1
