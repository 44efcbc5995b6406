# https://github.com/ikostrikov/pytorch-a3c/issues/55
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Corridor:
    """Seven cells; the episode ends at either side, and only the right one pays."""

    def reset(self):
        self.at, self.steps = 3, 0
        return self.observe()

    def observe(self):
        return F.one_hot(torch.tensor(self.at), 7).float()

    def step(self, action):
        self.at += 1 if action == 1 else -1
        self.steps += 1
        reward = 1.0 if self.at == 6 else 0.0
        done = self.at in (0, 6) or self.steps >= 30
        return self.observe(), reward, done


class ActorCritic(nn.Module):
    def __init__(self, num_inputs, num_actions, hidden=32):
        super().__init__()
        self.fc = nn.Linear(num_inputs, hidden)
        self.critic_linear = nn.Linear(hidden, 1)
        self.actor_linear = nn.Linear(hidden, num_actions)

    def forward(self, x):
        x = torch.tanh(self.fc(x))
        return self.critic_linear(x), self.actor_linear(x)


def ensure_shared_grads(model, shared_model):
    """From the second time on both already hold the same tensors."""
    for param, shared_param in zip(model.parameters(), shared_model.parameters()):
        if shared_param.grad is not None:
            return 0
        shared_param._grad = param.grad
    return 1


# %%
shared_model = ActorCritic(7, 2)
model = ActorCritic(7, 2)
optimizer = torch.optim.Adam(shared_model.parameters(), lr=5e-3)
start = [p.detach().clone() for p in shared_model.parameters()]
gamma, tau, num_steps = 0.95, 1.0, 20
env, assigned, payoffs = Corridor(), 0, []
state = env.reset()

# %%
for update in range(250):
    model.load_state_dict(shared_model.state_dict())
    values, log_probs, rewards, entropies, done = [], [], [], [], False
    for step in range(num_steps):
        value, logit = model(state.unsqueeze(0))
        prob, log_prob = F.softmax(logit, dim=-1), F.log_softmax(logit, dim=-1)
        entropies.append(-(log_prob * prob).sum(1))
        action = prob.multinomial(num_samples=1).detach()
        state, reward, done = env.step(action.item())
        values.append(value)
        log_probs.append(log_prob.gather(1, action))
        rewards.append(reward)
        if done:
            payoffs.append(reward)
            state = env.reset()
            break

    R = torch.zeros(1, 1)
    if not done:
        R = model(state.unsqueeze(0))[0].detach()
    values.append(R)
    policy_loss, value_loss, gae = 0, 0, torch.zeros(1, 1)
    for i in reversed(range(len(rewards))):
        R = gamma * R + rewards[i]
        value_loss = value_loss + 0.5 * (R - values[i]).pow(2)
        delta_t = rewards[i] + gamma * values[i + 1].detach() - values[i].detach()
        gae = gae * gamma * tau + delta_t
        policy_loss = policy_loss - log_probs[i] * gae - 0.01 * entropies[i]

    optimizer.zero_grad(set_to_none=False)
    loss = (policy_loss + 0.5 * value_loss).sum()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 40)
    assigned += ensure_shared_grads(model, shared_model)
    optimizer.step()

# %%
success = sum(payoffs[-50:]) / 50
print(assigned, len(payoffs), sum(payoffs[:50]) / 50, success)
assert assigned == 1
assert all(p.grad is s.grad for p, s in zip(model.parameters(), shared_model.parameters()))
assert all(not torch.equal(a, b) for a, b in zip(start, shared_model.parameters()))
assert success > 0.9
