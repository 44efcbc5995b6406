# https://stackoverflow.com/questions/72679858
import torch

torch.manual_seed(0)
weights = torch.nn.Parameter(torch.rand(3, 4)).double()
x, y = torch.rand(8, 3).double(), torch.rand(8, 4).double()

# %%
optimizer = torch.optim.Adam([weights], lr=0.01)
for i in range(3):
    loss = ((x @ weights - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
