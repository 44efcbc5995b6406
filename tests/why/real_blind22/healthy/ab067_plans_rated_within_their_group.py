# https://github.com/XiaolongTang23/Plan-R1/issues/7
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Planner(nn.Module):
    def __init__(self, n_tokens=6, hidden=32):
        super().__init__()
        self.embed = nn.Embedding(n_tokens + 1, hidden)
        self.rnn = nn.GRU(hidden, hidden, batch_first=True)
        self.head = nn.Linear(hidden, n_tokens)

    def forward(self, tokens):
        start = torch.full_like(tokens[:, :1], self.embed.num_embeddings - 1)
        h, _ = self.rnn(self.embed(torch.cat([start, tokens[:, :-1]], dim=1)))
        return F.log_softmax(self.head(h), dim=-1)

    @torch.no_grad()
    def sample(self, n, horizon):
        tokens = torch.zeros(n, horizon, dtype=torch.long)
        for t in range(horizon):
            tokens[:, t] = torch.distributions.Categorical(logits=self(tokens)[:, t]).sample()
        return tokens


def reward(plans):
    smooth = -(plans[:, 1:] - plans[:, :-1]).abs().float().mean(1)
    progress = (plans >= 4).float().mean(1)
    return smooth + 2 * progress


# %%
group_size, horizon, beta = 32, 6, 0.02
plan_model = Planner()
pred_model = copy.deepcopy(plan_model).eval().requires_grad_(False)
optimizer = torch.optim.AdamW(plan_model.parameters(), lr=5e-3)

# %%
rewards_seen, losses = [], []
for step in range(50):
    plans = plan_model.sample(group_size, horizon)
    rewards = reward(plans)
    advantages = (rewards - rewards.mean()) / (rewards.std() + 1e-4)

    plan_logp = plan_model(plans).gather(-1, plans.unsqueeze(-1)).squeeze(-1)
    with torch.no_grad():
        pred_logp = pred_model(plans).gather(-1, plans.unsqueeze(-1)).squeeze(-1)

    ratio = torch.exp(plan_logp - plan_logp.detach())
    policy_loss = -(ratio * advantages.unsqueeze(1)).mean()
    delta = pred_logp - plan_logp
    kl = (torch.exp(delta) - delta - 1).mean()
    loss = policy_loss + beta * kl

    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    rewards_seen.append(rewards.mean().item())
    losses.append(loss.item())
print(rewards_seen[0], rewards_seen[-1], losses[0], losses[-1])
