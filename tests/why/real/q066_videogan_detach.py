# https://github.com/batsa003/videogan/pull/1
import torch
import torch.nn as nn

generator, discriminator = nn.Linear(4, 6), nn.Linear(6, 1)
gen_optimizer = torch.optim.Adam(generator.parameters(), lr=2e-4)
disc_optimizer = torch.optim.Adam(discriminator.parameters(), lr=2e-4)
loss_function = nn.BCEWithLogitsLoss()
before = generator.weight.detach().clone()

# %%
real, noise = torch.randn(5, 6), torch.randn(5, 4)
discriminator.zero_grad()
loss = (loss_function(discriminator(real), torch.ones(5, 1))
        + loss_function(discriminator(generator(noise)), torch.zeros(5, 1)))
loss.backward()
disc_optimizer.step()

# %%
print(torch.equal(before, generator.weight), generator.weight.grad is None)
