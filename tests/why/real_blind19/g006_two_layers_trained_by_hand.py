# https://github.com/jcjohnson/pytorch-examples/issues/7
import torch
from torch.autograd import Variable

torch.manual_seed(0)

dtype = torch.FloatTensor


def make_data(N, D_in, D_out):
    x = Variable(torch.randn(N, D_in).type(dtype), requires_grad=False)
    y = Variable(torch.randn(N, D_out).type(dtype), requires_grad=False)
    return x, y


def make_weights(D_in, H, D_out):
    w1 = Variable(torch.randn(D_in, H).type(dtype), requires_grad=True)
    w2 = Variable(torch.randn(H, D_out).type(dtype), requires_grad=True)
    return w1, w2


# %%
# N is batch size; D_in is input dimension;
# H is hidden dimension; D_out is output dimension.
N, D_in, H, D_out = 64, 100, 50, 10
x, y = make_data(N, D_in, D_out)
w1, w2 = make_weights(D_in, H, D_out)
learning_rate = 1e-6

# %%
for t in range(200):
    # Forward pass: compute predicted y using operations on Variables
    y_pred = x.mm(w1).clamp(min=0).mm(w2)

    loss = (y_pred - y).pow(2).sum()
    if t % 50 == 0:
        print(t, loss.item())

    # Manually zero the gradients before running the backward pass
    w1.grad.data.zero_()
    w2.grad.data.zero_()

    # Use autograd to compute the backward pass.
    loss.backward()

    # Update weights using gradient descent
    w1.data -= learning_rate * w1.grad.data
    w2.data -= learning_rate * w2.grad.data
