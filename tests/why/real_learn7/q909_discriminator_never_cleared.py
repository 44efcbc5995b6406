# https://github.com/ajbrock/BigGAN-PyTorch/issues/25
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

num_D_steps = 3
G = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 16))
D = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))
G.optim = torch.optim.Adam(G.parameters(), lr=1e-4, betas=(0.0, 0.999))
D.optim = torch.optim.Adam(D.parameters(), lr=4e-4, betas=(0.0, 0.999))
norms = []


# %%
def train(x):
    G.optim.zero_grad()
    D.optim.zero_grad()
    for step_index in range(num_D_steps):
        z = torch.randn(16, 8)
        with torch.no_grad():
            fake = G(z)
        D_fake, D_real = D(fake), D(x[step_index])
        D_loss = torch.mean(F.relu(1.0 - D_real)) + torch.mean(F.relu(1.0 + D_fake))
        D_loss.backward()
        norms.append(D[2].weight.grad.norm().item())
        D.optim.step()
    G.optim.zero_grad()
    G_loss = -torch.mean(D(G(torch.randn(16, 8))))
    G_loss.backward()
    G.optim.step()
    return {"G_loss": G_loss.item(), "D_loss": D_loss.item()}


# %%
for itr in range(3):
    print(train(torch.randn(num_D_steps, 16, 16)))
print(norms)
