# https://discuss.pytorch.org/t/pytorch-autograd-not-matching-with-computed-derivatives/187917
import math

import torch

torch.manual_seed(0)

W_h = torch.tensor(2.0, requires_grad=True)
w_h = W_h.detach().item()
W_y = torch.tensor(40.0, requires_grad=True)
w_y = W_y.detach().item()
H0 = torch.tensor(0.5, requires_grad=False)
h0 = H0.item()

H1_raw = W_h * H0
h1_raw = H1_raw.item()
H1 = torch.tanh(H1_raw)
h1 = H1.detach().item()
H2_raw = W_h * H1
h2_raw = H2_raw.detach().item()
H2 = torch.tanh(H2_raw)
Y2 = W_y * H2
h2 = H2.detach().item()
Y2.backward()

# %%
# analytic method for derivatives
dh1raw_dwh = h0
dh1_dwh = (1 - h1_raw**2) * dh1raw_dwh
dh2raw_dwh = h1 + w_h * dh1_dwh
dh2_dwh = (1 - h2_raw**2) * dh2raw_dwh
dy2_dwh = w_y * dh2_dwh
dy2_dwy = h2
print(W_h.grad, "<>", dy2_dwh)
print(W_y.grad, "<>", dy2_dwy)


# %%
# the same with differences
def y2(w_h, w_y):
    return w_y * math.tanh(w_h * math.tanh(w_h * h0))


eps = 1e-5
dw_h = (y2(w_h + eps, w_y) - y2(w_h - eps, w_y)) / (2 * eps)
dw_y = (y2(w_h, w_y + eps) - y2(w_h, w_y - eps)) / (2 * eps)
print(W_h.grad, "<>", dw_h)
print(W_y.grad, "<>", dw_y)

assert abs(W_h.grad.item() - dw_h) < 1e-3 and abs(W_y.grad.item() - dw_y) < 1e-4
assert abs(dy2_dwh - dw_h) > 10
