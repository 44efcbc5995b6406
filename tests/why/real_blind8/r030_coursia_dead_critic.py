# https://github.com/jsboige/CoursIA/pull/15256
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class PolicyWithValue(nn.Module):
    def __init__(self, vocab=10, hidden=64):
        super().__init__()
        self.embed = nn.Embedding(vocab, hidden)
        self.gru = nn.GRUCell(hidden, hidden)
        self.policy_head = nn.Linear(hidden, vocab)
        self.value_head = nn.Linear(hidden, 1)


def rollout(model, steps=8):
    h, token = torch.zeros(1, 64), torch.zeros(1, dtype=torch.long)
    log_probs, values, rewards = [], [], []
    for t in range(steps):
        h = model.gru(model.embed(token), h)
        dist = torch.distributions.Categorical(logits=model.policy_head(h))
        value = model.value_head(h).squeeze()
        token = dist.sample()
        log_probs.append(dist.log_prob(token).squeeze())
        values.append(value.item())
        rewards.append(1.0 if token.item() == t else 0.0)
    return log_probs, values, rewards


def compute_gae(rewards, values, gamma=0.99, lam=0.95):
    advantages, gae = [], 0.0
    next_value = 0.0
    for r, v in zip(reversed(rewards), reversed(values)):
        delta = r + gamma * next_value - v
        gae = delta + gamma * lam * gae
        advantages.insert(0, gae)
        next_value = v
    return torch.tensor(advantages)


# %%
def train_gae(model, optimizer, epochs=4):
    for epoch in range(epochs):
        log_probs, values, rewards = rollout(model)
        adv = compute_gae(rewards, [float(v) for v in values])
        values_t = torch.tensor(values)
        returns = adv + values_t.detach()
        p_loss = -(torch.stack(log_probs) * adv).mean()
        v_loss = F.mse_loss(values_t, returns)
        loss = p_loss + 0.5 * v_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"epoch {epoch}  p_loss {p_loss.item():.3f}  v_loss {v_loss.item():.3f}")


# %%
model = PolicyWithValue()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
w0 = model.value_head.weight.detach().clone()
train_gae(model, optimizer)
critic_weight_delta = (model.value_head.weight - w0).abs().max().item()
print("critic_weight_delta", critic_weight_delta)
