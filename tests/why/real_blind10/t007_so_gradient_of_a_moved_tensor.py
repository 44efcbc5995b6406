# https://stackoverflow.com/questions/63222657
import torch
import numpy as np

torch.manual_seed(0)
np.random.seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
dtype = torch.float64

# y = 1 + 2x with a bit of noise
x_np = np.random.rand(100, 1)
y_np = 1 + 2 * x_np + .1 * np.random.randn(100, 1)

x_train = torch.from_numpy(x_np).to(device, dtype)
y_train = torch.from_numpy(y_np).to(device, dtype)

a = torch.randn(1, requires_grad=True, dtype=torch.float).to(device, dtype)
b = torch.randn(1, requires_grad=True, dtype=torch.float).to(device, dtype)
print(a, b)

# %%
lr = 1e-1
n_epochs = 5

for epoch in range(n_epochs):
    yhat = a + b * x_train
    error = y_train - yhat
    loss = (error ** 2).mean()
    loss.backward(retain_graph=True)

    print(epoch, loss.item(), a.grad, b.grad)
    if a.grad is not None:
        with torch.no_grad():
            a -= lr * a.grad
            b -= lr * b.grad
        a.grad.zero_()
        b.grad.zero_()
