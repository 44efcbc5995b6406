# https://github.com/yunjey/pytorch-tutorial/issues/56
import torch
import torch.nn as nn

G = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 6), nn.Tanh())
D = nn.Sequential(nn.Linear(6, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1), nn.Sigmoid())
criterion = nn.BCELoss()
d_optimizer = torch.optim.Adam(D.parameters(), lr=0.0003)
g_optimizer = torch.optim.Adam(G.parameters(), lr=0.0003)
images, real_labels, fake_labels = torch.randn(5, 6), torch.ones(5, 1), torch.zeros(5, 1)
G_before = G[0].weight.detach().clone()

# %%
# ============= Train the discriminator =============#
d_loss_real = criterion(D(images), real_labels)
z = torch.randn(5, 4)
fake_images = G(z)
d_loss_fake = criterion(D(fake_images), fake_labels)
d_loss = d_loss_real + d_loss_fake
D.zero_grad()
d_loss.backward()
d_optimizer.step()
G_after_d_step = G[0].weight.detach().clone()

# %%
# =============== Train the generator ===============#
z = torch.randn(5, 4)
g_loss = criterion(D(G(z)), real_labels)
G_grad_alone, = torch.autograd.grad(g_loss, G[0].weight, retain_graph=True)
D.zero_grad()
G.zero_grad()
g_loss.backward()
G_grad = G[0].weight.grad.clone()
g_optimizer.step()
print(torch.equal(G_before, G_after_d_step))
