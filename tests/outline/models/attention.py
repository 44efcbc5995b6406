# Attention by hand: about 25 operations, no module
import torch

torch.manual_seed(0)
d = 8
x = torch.randn(2, 5, d)
wq = torch.randn(d, d, requires_grad=True)
wk = torch.randn(d, d, requires_grad=True)
wv = torch.randn(d, d, requires_grad=True)
wo = torch.randn(d, d, requires_grad=True)
w1 = torch.randn(d, 16, requires_grad=True)
w2 = torch.randn(16, d, requires_grad=True)
target = torch.randn(2, 5, d)
# %% the recorded cell
q = x @ wq
k = x @ wk
v = x @ wv
scores = q @ k.transpose(-2, -1)
scores = scores / d**0.5
mask = torch.tril(torch.ones(5, 5))
scores = scores.masked_fill(mask == 0, float("-inf"))
att = torch.softmax(scores, -1)
y = att @ v
h = x + y @ wo
mu = h.mean(-1, keepdim=True)
var = h.var(-1, keepdim=True)
n = (h - mu) / (var + 1e-5).sqrt()
f = torch.relu(n @ w1)
out = h + f @ w2
err = out - target
loss = (err**2).mean()
loss.backward()
