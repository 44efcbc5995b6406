# https://github.com/aladdinpersson/Machine-Learning-Collection/issues/42
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)

Z_DIM, BATCH_SIZE, CRITIC_ITERATIONS, LAMBDA_GP, LEARNING_RATE = 8, 4, 2, 10, 1e-4
device = "cpu"


def gradient_penalty(critic, real, fake, device="cpu"):
    BATCH_SIZE, C, H, W = real.shape
    alpha = torch.rand((BATCH_SIZE, 1, 1, 1)).repeat(1, C, H, W).to(device)
    interpolated_images = real * alpha + fake * (1 - alpha)

    # Calculate critic scores
    mixed_scores = critic(interpolated_images)

    # Take the gradient of the scores with respect to the images
    gradient = torch.autograd.grad(
        inputs=interpolated_images,
        outputs=mixed_scores,
        grad_outputs=torch.ones_like(mixed_scores),
        create_graph=True,
        retain_graph=True,
    )[0]
    gradient = gradient.view(gradient.shape[0], -1)
    gradient_norm = gradient.norm(2, dim=1)
    return torch.mean((gradient_norm - 1) ** 2)


# %%
gen = nn.Sequential(nn.ConvTranspose2d(Z_DIM, 8, 4), nn.BatchNorm2d(8), nn.ReLU(), nn.ConvTranspose2d(8, 1, 4, 2, 1), nn.Tanh())
critic = nn.Sequential(nn.Conv2d(1, 8, 4, 2, 1), nn.InstanceNorm2d(8, affine=True), nn.LeakyReLU(0.2), nn.Conv2d(8, 1, 4))
opt_gen = optim.Adam(gen.parameters(), lr=LEARNING_RATE, betas=(0.0, 0.9))
opt_critic = optim.Adam(critic.parameters(), lr=LEARNING_RATE, betas=(0.0, 0.9))
gen.train()
critic.train()

# %%
for epoch in range(2):
    real = (torch.rand(BATCH_SIZE, 1, 8, 8) * 2 - 1).to(device)
    for _ in range(CRITIC_ITERATIONS):
        noise = torch.randn(BATCH_SIZE, Z_DIM, 1, 1).to(device)
        fake = gen(noise)
        critic_real = critic(real).reshape(-1)
        critic_fake = critic(fake).reshape(-1)
        gp = gradient_penalty(critic, real, fake, device=device)
        loss_critic = (
            -(torch.mean(critic_real) - torch.mean(critic_fake)) + LAMBDA_GP * gp
        )
        critic.zero_grad()
        loss_critic.backward(retain_graph=True)
        opt_critic.step()

    # Train Generator: max E[critic(gen_fake)]
    gen_fake = critic(fake).reshape(-1)
    loss_gen = -torch.mean(gen_fake)
    gen.zero_grad()
    loss_gen.backward()
    opt_gen.step()
    print(f"Epoch {epoch} Loss D: {loss_critic:.4f}, loss G: {loss_gen:.4f}")
