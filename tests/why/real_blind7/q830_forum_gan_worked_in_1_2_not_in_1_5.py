# https://discuss.pytorch.org/t/runtimeerror-one-of-the-variables-needed-for-gradient-computation-has-been-modified-by-an-inplace-operation-code-worked-in-pytorch-1-2-but-not-in-1-5-after-updating/87327
import torch
import torch.nn as nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
discriminator = nn.Sequential(nn.Linear(8, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
generator_optimizer = torch.optim.Adam(generator.parameters(), lr=1e-3)
discriminator_optimizer = torch.optim.Adam(discriminator.parameters(), lr=1e-3)


def ls_discriminator_loss(real, fake):
    return 0.5 * ((real - 1) ** 2).mean() + 0.5 * (fake ** 2).mean()


def ls_generator_loss(fake):
    return 0.5 * ((fake - 1) ** 2).mean()


# %%
for i in range(2):
    real_embedding = torch.randn(16, 8)
    fake_embedding = generator(torch.randn(16, 8))
    gen_logits_fake = discriminator(fake_embedding)

    d_error = ls_discriminator_loss(discriminator(real_embedding), discriminator(fake_embedding.detach()))
    discriminator_optimizer.zero_grad()
    d_error.backward()
    discriminator_optimizer.step()

    g_error = ls_generator_loss(gen_logits_fake)
    generator_optimizer.zero_grad()
    g_error.backward()
    generator_optimizer.step()
