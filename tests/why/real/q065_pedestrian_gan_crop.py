# https://github.com/yifanjiang19/Pedestrian-Synthesis-GAN/issues/32
import torch
import torch.nn as nn

netG, netD_person = nn.Linear(6, 8), nn.Linear(4, 1)
optimizer_G = torch.optim.Adam(netG.parameters(), lr=2e-4)
optimizer_D_person = torch.optim.Adam(netD_person.parameters(), lr=2e-4)
real_A, person_crop_real = torch.randn(5, 6), torch.randn(5, 4)
criterionGAN = nn.MSELoss()

# %%
def forward():
    fake_B = netG(real_A)
    return fake_B, fake_B[:, 2:6]


fake_B, person_crop_fake = forward()
optimizer_D_person.zero_grad()
loss_D_person = (criterionGAN(netD_person(person_crop_fake), torch.zeros(5, 1))
                 + criterionGAN(netD_person(person_crop_real), torch.ones(5, 1))) * 0.5
loss_D_person.backward()
optimizer_D_person.step()

# %%
optimizer_G.zero_grad()
fake_B, person_crop_fake = forward()
loss_G = criterionGAN(netD_person(person_crop_fake), torch.ones(5, 1))
G_alone, = torch.autograd.grad(loss_G, netG.weight, retain_graph=True)
loss_G.backward()
print((netG.weight.grad - G_alone).abs().max())
