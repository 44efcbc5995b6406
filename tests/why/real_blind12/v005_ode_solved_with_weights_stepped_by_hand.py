# https://discuss.pytorch.org/t/solving-an-ode-using-pytorch
import torch
from torch.autograd import Variable

torch.manual_seed(0)


def f(x):
    """
    Function that computes the output of the neural net.
    """
    l1 = torch.matmul(W1.T, x).reshape(-1, 1)
    l1_act = torch.tanh(l1)
    l2 = torch.matmul(W2.T, l1_act)
    return l2


def g(t):
    """
    The form of the solution chosen such that the boundary condition
    u(0) = 1 is satisfied.
    """
    return t * f(t) + torch.tensor([1.])


def loss(t, eps):
    """
    The loss function, which measures the discrepancy between the
    gradient of the network and the analytical gradient.
    """
    return torch.mean(((g(t + eps) - g(t)) / eps - torch.cos(2 * 3.14 * t))**2)


eps = torch.tensor([0.000345])
T0 = 0
T1 = 1
nsamples = 20
t = torch.linspace(T0, T1, nsamples)

W1 = Variable(torch.ones(1, 32), requires_grad=True)
W2 = Variable(torch.ones(32, 1), requires_grad=True)


def mean_error():
    err = 0
    for ti in t:
        ti = torch.tensor([ti])
        err += loss(ti, eps)
    return err / nsamples


# %%
learning_rate = 1e-3
for it in range(60):
    err = mean_error()
    err.backward()

    W1.data -= learning_rate * W1.grad.data
    W2.data -= learning_rate * W2.grad.data

    if it % 10 == 0:
        print(it, err.item(), W1.grad.norm().item(), W2.grad.norm().item())
