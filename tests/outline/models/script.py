# A script of 60 lines without a module
import torch

torch.manual_seed(0)
n, d = 16, 5
x = torch.randn(n, d)
y = torch.randn(n, 1)
w1 = (0.4 * torch.randn(d, 8)).requires_grad_()
b1 = torch.zeros(8, requires_grad=True)
w2 = (0.4 * torch.randn(8, 8)).requires_grad_()
b2 = torch.zeros(8, requires_grad=True)
w3 = (0.4 * torch.randn(8, 8)).requires_grad_()
b3 = torch.zeros(8, requires_grad=True)
w4 = (0.4 * torch.randn(8, 1)).requires_grad_()
scale = torch.ones(1, requires_grad=True)
shift = torch.zeros(1, requires_grad=True)
temp = torch.ones(1, requires_grad=True)
slope = torch.full((1,), 0.1, requires_grad=True)
weights = [w1, b1, w2, b2, w3, b3, w4, scale, shift, temp, slope]
# %% the recorded cell
mean = x.mean(0)
std = x.std(0)
xn = (x - mean) / std

h1 = xn @ w1 + b1
a1 = torch.tanh(h1)
gate = torch.sigmoid(a1 * scale + shift)
g1 = a1 * gate

h2 = g1 @ w2 + b2
pos = torch.relu(h2)
neg = torch.relu(-h2)
a2 = pos - slope * neg
center = a2.mean(0)
spread = (a2 - center).pow(2).mean(0)
n2 = (a2 - center) / (spread + 1e-5).sqrt()

score = n2 @ n2.T
score = score / temp
att = torch.softmax(score, 1)
mixed = att @ n2
r2 = n2 + mixed

h3 = r2 @ w3 + b3
a3 = torch.sin(h3)
r3 = r2 + a3
pred = r3 @ w4

res = pred - y
mse = (res**2).mean()
huber = torch.where(res.abs() < 1, 0.5 * res**2, res.abs() - 0.5).mean()
norm1 = w1.pow(2).sum()
norm2 = w2.pow(2).sum()
norm3 = w3.pow(2).sum()
decay = norm1 + norm2 + norm3
smooth = (pred[1:] - pred[:-1]).pow(2).mean()
loss = mse + 0.5 * huber + 0.01 * decay + 0.1 * smooth
loss.backward()
