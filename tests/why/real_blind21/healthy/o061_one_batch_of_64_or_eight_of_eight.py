# https://discuss.pytorch.org/t/getting-different-values-for-single-batch-vs-accumulating-gradients/36889
import torch

torch.manual_seed(0)


def set_seed(seed):
    torch.manual_seed(seed)


def batch_generator(tensor, bs):
    while len(tensor) != 0:
        yield tensor[:bs]
        tensor = tensor[bs::]


# %%
set_seed(0)
device = torch.device('cpu')
# N is batch size; D_in is input dimension;
# H is hidden dimension; D_out is output dimension.
N, D_in, H, D_out = 64, 200, 50, 10

# Create random Tensors to hold input and outputs
x = torch.randn(N, D_in, device=device)
y = torch.randn(N, D_out, device=device)

w1 = torch.randn(D_in, H, device=device, requires_grad=True)
w2 = torch.randn(H, D_out, device=device, requires_grad=True)

learning_rate = 1e-6
loss_fn = torch.nn.MSELoss(reduction='sum')
large = []
for t in range(200):
    y_pred = x.mm(w1).clamp(min=0).mm(w2)
    loss = loss_fn(y_pred, y)
    loss.backward()
    large.append((loss.item(), w2.grad[0, :3].tolist()))
    with torch.no_grad():
        w1 -= learning_rate * w1.grad
        w2 -= learning_rate * w2.grad
        w1.grad.zero_()
        w2.grad.zero_()

# %%
set_seed(0)
x_data = torch.randn(N, D_in, device=device)
y_data = torch.randn(N, D_out, device=device)

v1 = torch.randn(D_in, H, device=device, requires_grad=True)
v2 = torch.randn(H, D_out, device=device, requires_grad=True)

net_subdiv = 8
small = []
for t in range(200):
    total = 0.0
    for x_mini, y_mini in zip(batch_generator(x_data, N // net_subdiv), batch_generator(y_data, N // net_subdiv)):
        y_pred = x_mini.mm(v1).clamp(min=0).mm(v2)
        loss = loss_fn(y_pred, y_mini)
        loss.backward()
        total += loss.item()
    small.append((total, v2.grad[0, :3].tolist()))
    with torch.no_grad():
        v1 -= learning_rate * v1.grad
        v2 -= learning_rate * v2.grad
        v1.grad.zero_()
        v2.grad.zero_()

# %%
for t in (0, 1, 199):
    print(t, large[t], small[t])
first_difference = max(abs(a - b) for a, b in zip(large[0][1], small[0][1]))
relative = abs(large[-1][0] - small[-1][0]) / large[-1][0]
assert large[-1][0] < 0.1 * large[0][0] and relative < 1e-3
