# https://github.com/RLinf/RLinf/issues/1568
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def huber_loss(error, delta):
    return F.huber_loss(error, torch.zeros_like(error), reduction="none", delta=delta)


def compute_ppo_actor_loss(logprobs, old_logprobs, advantages, clip_ratio=0.2):
    ratio = (logprobs - old_logprobs).exp()
    unclipped = ratio * advantages
    clipped = ratio.clamp(1 - clip_ratio, 1 + clip_ratio) * advantages
    return -torch.minimum(unclipped, clipped).mean()


def compute_ppo_critic_loss(values, returns, prev_values, value_clip=0.2, huber_delta=10.0):
    step = values - prev_values
    clipped = prev_values + step.clamp(min=-value_clip, max=value_clip)
    loss = torch.maximum(
        huber_loss(returns - values, huber_delta),
        huber_loss(returns - clipped, huber_delta),
    )
    clip_ratio = (step.abs() > value_clip).float().mean()
    return loss.mean(), clip_ratio.item()


class ValueHead(nn.Module):
    def __init__(self, input_dim, hidden=64):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(input_dim, hidden), nn.GELU(), nn.Linear(hidden, 1))

    def forward(self, feats):
        return self.mlp(feats)


class OpenPiForActionPrediction(nn.Module):
    def __init__(self, state_dim=8, action_dim=7, width=32):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(state_dim, width), nn.GELU())
        self.action_out_proj = nn.Linear(width, action_dim)
        self.log_std = nn.Parameter(torch.full((action_dim,), -0.5))
        self.value_head = ValueHead(width)

    def get_dist(self, feats):
        return torch.distributions.Normal(self.action_out_proj(feats), self.log_std.exp())

    @torch.no_grad()
    def predict_action_batch(self, states):
        feats = self.backbone(states)
        dist = self.get_dist(feats)
        actions = dist.sample()
        return actions, {
            "prev_logprobs": dist.log_prob(actions).sum(-1, keepdim=True),
            "prev_values": self.value_head(feats),
        }

    def default_forward(self, states, actions):
        feats = self.backbone(states)
        logprobs = self.get_dist(feats).log_prob(actions).sum(-1, keepdim=True)
        values = self.value_head(feats)[:, 0]
        return {"logprobs": logprobs, "values": values}


# %%
model = OpenPiForActionPrediction()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
states = torch.randn(64, 8)
returns = 3 * states[:, :1]

for epoch in range(60):
    actions, rollout = model.predict_action_batch(states)
    advantages = returns - rollout["prev_values"]
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    for _ in range(4):
        out = model.default_forward(states, actions)
        actor_loss = compute_ppo_actor_loss(out["logprobs"], rollout["prev_logprobs"], advantages)
        critic_loss, clip_ratio = compute_ppo_critic_loss(out["values"], returns, rollout["prev_values"])
        loss = actor_loss + critic_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 20 == 19:
        print(epoch, {"actor/policy_loss": actor_loss.item(), "critic/value_loss": critic_loss.item(),
                      "critic/value_clip_ratio": clip_ratio})

predicted = model.predict_action_batch(states)[1]["prev_values"]
explained = 1 - (returns - predicted).var() / returns.var()
print("explained variance:", explained.item())
