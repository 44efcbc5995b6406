# https://github.com/verl-project/verl/issues/3674
import torch
import torch.nn as nn
from torch.optim.lr_scheduler import LambdaLR

torch.manual_seed(0)


def get_constant_schedule_with_warmup(optimizer, num_warmup_steps, last_epoch=-1):
    def lr_lambda(current_step):
        return min(1, float(current_step) / float(max(1, num_warmup_steps)))

    return LambdaLR(optimizer, lr_lambda, last_epoch)


class Actor:
    def __init__(self, module, optimizer):
        self.module, self.optimizer = module, optimizer

    def update_policy(self, data):
        for obs, actions, advantages in data:
            self.optimizer.zero_grad()
            logp = torch.log_softmax(self.module(obs), -1).gather(1, actions[:, None])[:, 0]
            pg_loss = -(logp * advantages).mean()
            pg_loss.backward()
            nn.utils.clip_grad_norm_(self.module.parameters(), 1.0)
            self.optimizer.step()


# %%
module = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 4))
optimizer = torch.optim.AdamW(module.parameters(), lr=1e-3)
scheduler = get_constant_schedule_with_warmup(optimizer, num_warmup_steps=2)
actor = Actor(module, optimizer)
before = module[0].weight.detach().clone()

# %%
data = [(torch.randn(16, 6), torch.randint(0, 4, (16,)), torch.randn(16)) for _ in range(2)]
actor.update_policy(data)
print((module[0].weight - before).abs().max())
scheduler.step()
