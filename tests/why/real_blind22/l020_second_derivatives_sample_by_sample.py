# https://discuss.pytorch.org/t/calculating-hessian-vectors-for-outputs-with-respect-to-the-inputs
import torch
import torch.nn as nn

torch.manual_seed(0)


class SimpleNet(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        x = x ** 3
        return x


class SigmoidNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 1), nn.Sigmoid())

    def forward(self, x):
        return self.net(x)


class ReLUNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 1), nn.ReLU())

    def forward(self, x):
        return self.net(x)


def jacobian_vector(y, x, create_graph=False):
    """
    reference: https://gist.github.com/apaszke/226abdf867c4e9d6698bd198f3b45fb7
    """
    jac = []
    batch_size = y.size(0)
    flat_y = y.reshape(-1)
    grad_y = torch.zeros_like(flat_y)
    for i in range(batch_size):
        grad_y[i] = 1.
        grad_x, = torch.autograd.grad(flat_y, x, grad_y, retain_graph=True, create_graph=create_graph)
        grad_x = grad_x.reshape(x.shape)
        jac_vec = grad_x[i]
        jac.append(jac_vec)
        grad_y[i] = 0.
    return torch.stack(jac, axis=0)


def hessian(y, x):
    first_dev = jacobian_vector(y, x, create_graph=True)
    print("first dev:\n", first_dev)
    return jacobian_vector(first_dev, x)


# %%
inputs = torch.rand(4, 2, requires_grad=True)
for net in (SigmoidNet(), ReLUNet()):
    y = net(inputs)
    print("first dev:\n", jacobian_vector(y, inputs))

# %%
x = torch.tensor([[1.], [2.], [3.]], requires_grad=True)
simple_net = SimpleNet()
y = simple_net(x)
second_dev = hessian(y, x)
print("second dev:\n", second_dev)
