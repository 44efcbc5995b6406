# https://stackoverflow.com/questions/64513183
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

x = torch.linspace(0, 2, 32).unsqueeze(1)
x.requires_grad = True
x0, u0 = torch.zeros(1, 1), torch.ones(1, 1)

# %%
for epoch in range(30):
    u = model(x)
    dudx = torch.autograd.grad(u, x, torch.ones_like(u), retain_graph=True)[0]
    loss_f = torch.mean((dudx + u.detach()) ** 2)
    loss_b = torch.mean((model(x0) - u0) ** 2)
    loss = loss_f + loss_b
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 10 == 0:
        print(epoch, loss_f.item(), loss_b.item())
