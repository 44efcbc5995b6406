# https://github.com/PacktPublishing/Deep-Reinforcement-Learning-Hands-On/issues/33
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

GAMMA = 0.9
ENTROPY_BETA = 0.01
BATCH_SIZE = 64
CLIP_GRAD = 0.5


class A2C(nn.Module):
    def __init__(self, input_size, n_actions):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(input_size, 32), nn.ReLU())
        self.policy = nn.Linear(32, n_actions)
        self.value = nn.Linear(32, 1)

    def forward(self, x):
        body_out = self.body(x)
        return self.policy(body_out), self.value(body_out)


class Corridor:
    """The left half of the places is poor, the right half rich; a good action earns a little more."""

    def __init__(self, n_envs, size=8):
        self.n_envs, self.size = n_envs, size
        self.place = torch.randint(0, size, (n_envs,))

    def observe(self):
        return F.one_hot(self.place, self.size).float()

    def step(self, actions):
        reward = torch.where(self.place >= self.size // 2, 10.0, 0.0) + (actions == self.place % 2).float()
        self.place = torch.randint(0, self.size, (self.n_envs,))
        return reward


# %%
env = Corridor(BATCH_SIZE)
net = A2C(env.size, 2)
optimizer = torch.optim.Adam(net.parameters(), lr=0.01, eps=1e-3)

# %%
history = []
for step_idx in range(60):
    states_v = env.observe()
    with torch.no_grad():
        actions_t = torch.distributions.Categorical(logits=net(states_v)[0]).sample()
    vals_ref_v = env.step(actions_t)

    optimizer.zero_grad()
    logits_v, value_v = net(states_v)
    loss_value_v = F.mse_loss(value_v.squeeze(-1), vals_ref_v)

    log_prob_v = F.log_softmax(logits_v, dim=1)
    adv_v = vals_ref_v - value_v.detach()
    log_prob_actions_v = adv_v * log_prob_v[range(BATCH_SIZE), actions_t]
    loss_policy_v = -log_prob_actions_v.mean()

    prob_v = F.softmax(logits_v, dim=1)
    entropy_loss_v = ENTROPY_BETA * (prob_v * log_prob_v).sum(dim=1).mean()

    loss_v = entropy_loss_v + loss_value_v + loss_policy_v
    loss_v.backward()
    nn.utils.clip_grad_norm_(net.parameters(), CLIP_GRAD)
    optimizer.step()
    history.append((actions_t == states_v.argmax(1) % 2).float().mean().item())

# %%
print(adv_v.shape, log_prob_actions_v.shape)
print(sum(history[:10]) / 10, sum(history[-10:]) / 10)
