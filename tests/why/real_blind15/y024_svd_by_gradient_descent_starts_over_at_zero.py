# https://discuss.pytorch.org/t/training-variables-to-do-svd/136441
import torch

torch.manual_seed(0)

N = 5

# load into pytorch
D = torch.rand(N, N).float()
H = torch.eye(N).float() - 1 / N * torch.ones(D.shape).float()
B = 0.5 * torch.matmul(torch.matmul(H, D**2), H)

# declare constants
stop_loss = 1e-2
step_size = stop_loss / 3

# start values that emulate an SVD: U s Vh.T ~ B
U = torch.autograd.Variable(torch.rand(N, N), requires_grad=True)
s = torch.autograd.Variable(torch.diag(torch.sort(torch.rand(N), descending=True).values), requires_grad=True)
Vh = torch.autograd.Variable(torch.rand(N, N), requires_grad=True)

# %%
loss_hist = []
for i in range(1500):
    # how close is our SVD function?
    L1 = torch.norm(torch.matmul(U.T, U) - torch.eye(N), p=2)
    L2 = torch.norm(torch.matmul(Vh.T, Vh) - torch.eye(N), p=2)
    L3 = torch.norm(torch.matmul(torch.matmul(U, s), Vh.T) - B, p=2)

    # Backprop
    loss = L1 + L2 + L3
    loss.backward()
    loss_hist.append(loss.item())

    # update
    U.data -= step_size * U.grad.data
    s.data -= step_size * s.grad.data
    Vh.data -= step_size * Vh.grad.data

    U.data.zero_()
    s.data.zero_()
    Vh.data.zero_()

    if i % 300 == 0:
        print("Loss is", loss_hist[-1])
    if loss_hist[-1] < stop_loss:
        break
