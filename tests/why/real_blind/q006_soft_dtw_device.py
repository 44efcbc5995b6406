# https://github.com/Maghoumi/pytorch-softdtw-cuda/issues/25
import torch


class SoftDTW(torch.nn.Module):
    def __init__(self, gamma):
        super().__init__()
        self.gamma = gamma

    def forward(self, x, y):
        d = torch.cdist(x, y) ** 2
        return -self.gamma * torch.logsumexp(-d / self.gamma, dim=(1, 2))


device = torch.device("cpu")

# %%
# Create the sequences
batch_size, len_x, len_y, dims = 8, 15, 12, 5
x = torch.rand((batch_size, len_x, dims), requires_grad=True)
y = torch.rand((batch_size, len_y, dims))
# Transfer tensors to the GPU
x = x.to(device, copy=True)
y = y.to(device, copy=True)

# %%
# Create the "criterion" object
sdtw = SoftDTW(gamma=0.1)

# Compute the loss value
loss = sdtw(x, y)

# Aggregate and call backward()
loss.mean().backward()
print(x.grad)
