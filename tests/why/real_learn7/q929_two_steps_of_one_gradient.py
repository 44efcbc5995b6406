# https://github.com/JaydenLyh/Reward-Forcing/issues/7
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

dfake_gen_update_ratio, gradient_accumulation_steps = 1, 2
generator = nn.Sequential(nn.Linear(4, 16), nn.GELU(), nn.Linear(16, 4))
critic = nn.Sequential(nn.Linear(4, 16), nn.GELU(), nn.Linear(16, 1))
generator_optimizer = torch.optim.AdamW(generator.parameters(), lr=1e-3)
critic_optimizer = torch.optim.AdamW(critic.parameters(), lr=1e-3)


# %%
def train(steps):
    for step in range(steps):
        TRAIN_GENERATOR = step % (dfake_gen_update_ratio * gradient_accumulation_steps) == 0
        noise = torch.randn(8, 4)
        if TRAIN_GENERATOR:
            generator_optimizer.zero_grad()
            generator_loss = -critic(generator(noise)).mean()
            (generator_loss / gradient_accumulation_steps).backward()
            generator_optimizer.step()
        critic_loss = F.mse_loss(critic(generator(noise).detach()), noise.sum(1, keepdim=True))
        (critic_loss / gradient_accumulation_steps).backward()
        if step % gradient_accumulation_steps == 0:
            generator_optimizer.step()
            critic_optimizer.step()
        print(step, critic_loss.item())


# %%
train(4)
