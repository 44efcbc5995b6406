# https://discuss.pytorch.org/t/optimize-input-instead-of-network-weights/114378
import torch

torch.manual_seed(0)

z = torch.rand((1, 6))
z.requires_grad_(True)
optimizer = torch.optim.SGD([z], lr=0.1)
criteria = torch.nn.MSELoss()
z_first = z.detach().clone()

# %%
for i in range(10):
    optimizer.zero_grad()
    print(z)
    loss = criteria(z, z + torch.rand(1))
    # print(loss)
    loss.backward()
    optimizer.step()
