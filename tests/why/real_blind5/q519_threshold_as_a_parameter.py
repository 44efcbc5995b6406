# https://discuss.pytorch.org/t/if-a-parameter-is-trainable-in-the-following-case/149907
import torch

torch.manual_seed(0)
A = torch.tensor([3., 4., 5., 6.], requires_grad=True)
THRES = torch.tensor([4.], requires_grad=True)
optimizer = torch.optim.SGD([A, THRES], lr=0.1)
alpha = 2.5

# %%
for i in range(3):
    optimizer.zero_grad()
    loss = A[A > THRES].sum()
    loss.backward()
    optimizer.step()
    print(i, loss.item(), A, THRES)
print(A.grad)
print(THRES.grad)
