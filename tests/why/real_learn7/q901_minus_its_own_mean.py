# https://discuss.pytorch.org/t/understanding-autograd-in-pytorch
import torch
import torch.nn as nn

torch.manual_seed(0)

dtype = torch.float
device = torch.device("cpu")
N, D_in, H, D_out = 1, 1, 1, 1

x = torch.randn(N, D_in, device=device, dtype=dtype)
x[0, 0] = 2

w1 = torch.randn(D_in, H, device=device, dtype=dtype, requires_grad=True)
nn.init.uniform_(w1, 0.5, 0.5)
w2 = torch.randn(H, D_out, device=device, dtype=dtype, requires_grad=True)
nn.init.uniform_(w2, 1, 1)
w3 = torch.randn(H, 1, device=device, dtype=dtype, requires_grad=True)
nn.init.uniform_(w3, 1, 1)
target = torch.tensor([[3.0]])

learning_rate = 1e-2

# %%
for t in range(20):
    p = torch.tanh(x.mm(w1))
    y_pred = p.mm(w2)
    y_pred -= y_pred.mean()
    m = x.mm(w1).mm(w3)
    y_pred += m
    loss = (y_pred - target).pow(2).sum()
    if t % 10 == 9:
        print(t, loss.item())
    loss.backward()
    with torch.no_grad():
        w1 -= learning_rate * w1.grad
        w2 -= learning_rate * w2.grad
        w3 -= learning_rate * w3.grad
        last = w2.grad.clone()
        w1.grad.zero_()
        w2.grad.zero_()
        w3.grad.zero_()
print(w2)
