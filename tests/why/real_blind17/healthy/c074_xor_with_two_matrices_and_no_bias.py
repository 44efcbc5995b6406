# https://github.com/qcao10/Pytorch/blob/master/NeuralNetworkXOR-Pytorch.ipynb
import torch

torch.manual_seed(1)

# input dataset, in matrix form
# X3 is irrelevant, the XOR signal is from X1 and X2
x = torch.tensor([[0, 0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 1]])
x = x.double()
y = torch.tensor([[0, 1, 1, 0]]).t()
y = y.double()


# sigmoid function
def sigmoid(x):
    return 1.0 / (1 + torch.exp(-x))


# %%
learning_rate = 5e-2

# initialize weights randomly
w1 = torch.rand(3, 2, requires_grad=True, dtype=torch.double)
w2 = torch.rand(2, 1, requires_grad=True, dtype=torch.double)
start = w1.detach().clone()

# %%
# gradient descent step:
losses = []
for i in range(6001):
    # forward pass: go from input layer to output layer
    y_pred = sigmoid(x.mm(w1)).mm(w2)

    # compute and print the loss
    loss = (y_pred - y).pow(2).sum()
    losses.append(loss.item())
    if i % 1000 == 0:
        print(i, loss.item())

    # note that loss is a scalar
    loss.backward()

    with torch.no_grad():
        # update weights
        w1 -= learning_rate * w1.grad
        w2 -= learning_rate * w2.grad
        # zero out the gradient
        w1.grad.zero_()
        w2.grad.zero_()

# %%
print(y_pred.detach().squeeze().tolist())
print(w1, w2)
assert losses[-1] < 1e-2 and (y_pred - y).abs().max() < 0.1
