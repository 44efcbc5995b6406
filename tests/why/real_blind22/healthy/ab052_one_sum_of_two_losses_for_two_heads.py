# https://github.com/ikostrikov/pytorch-a3c/issues/28
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.manual_seed(0)


class ActorCritic(nn.Module):
    def __init__(self, num_inputs, num_actions, hidden=32):
        super(ActorCritic, self).__init__()
        self.fc = nn.Linear(num_inputs, hidden)
        self.lstm = nn.LSTMCell(hidden, hidden)
        self.critic_linear = nn.Linear(hidden, 1)
        self.actor_linear = nn.Linear(hidden, num_actions)
        self.actor_linear.weight.data.mul_(0.01)
        self.lstm.bias_ih.data.fill_(0)
        self.lstm.bias_hh.data.fill_(0)

    def forward(self, inputs):
        inputs, (hx, cx) = inputs
        x = F.elu(self.fc(inputs))
        hx, cx = self.lstm(x, (hx, cx))
        return self.critic_linear(hx), self.actor_linear(hx), (hx, cx)


class Env:
    """A light is shown; the button of the light before pays."""

    def reset(self):
        self.t, self.light = 0, torch.randint(0, 3, ()).item()
        self.before = self.light
        return F.one_hot(torch.tensor(self.light), 3).float()

    def step(self, action):
        reward = 1.0 if action.item() == self.before else 0.0
        self.t, self.before = self.t + 1, self.light
        self.light = torch.randint(0, 3, ()).item()
        return F.one_hot(torch.tensor(self.light), 3).float(), reward, self.t >= 20, {}


def ensure_shared_grads(model, shared_model):
    for param, shared_param in zip(model.parameters(), shared_model.parameters()):
        if shared_param.grad is not None:
            return
        shared_param._grad = param.grad


# %%
gamma, gae_lambda, entropy_coef, value_loss_coef, max_grad_norm, num_steps = 0.5, 1.0, 0.01, 0.5, 50, 20
env = Env()
shared_model = ActorCritic(3, 3)
optimizer = optim.Adam(shared_model.parameters(), lr=0.01)
model = ActorCritic(3, 3)

# %%
model.train()
state = env.reset()
done = True
returns = []
for update in range(150):
    # Sync with the shared model
    model.load_state_dict(shared_model.state_dict())
    if done:
        cx = torch.zeros(1, 32)
        hx = torch.zeros(1, 32)
    else:
        cx = cx.detach()
        hx = hx.detach()

    values, log_probs, rewards, entropies = [], [], [], []
    for step in range(num_steps):
        value, logit, (hx, cx) = model((state.unsqueeze(0), (hx, cx)))
        prob = F.softmax(logit, dim=-1)
        log_prob = F.log_softmax(logit, dim=-1)
        entropy = -(log_prob * prob).sum(1, keepdim=True)
        entropies.append(entropy)

        action = prob.multinomial(num_samples=1).detach()
        log_prob = log_prob.gather(1, action)

        state, reward, done, _ = env.step(action)
        if done:
            state = env.reset()
        values.append(value)
        log_probs.append(log_prob)
        rewards.append(reward)
        if done:
            break

    R = torch.zeros(1, 1)
    if not done:
        value, _, _ = model((state.unsqueeze(0), (hx, cx)))
        R = value.detach()

    values.append(R)
    policy_loss = 0
    value_loss = 0
    gae = torch.zeros(1, 1)
    for i in reversed(range(len(rewards))):
        R = gamma * R + rewards[i]
        advantage = R - values[i]
        value_loss = value_loss + 0.5 * advantage.pow(2)

        # Generalized Advantage Estimation
        delta_t = rewards[i] + gamma * values[i + 1] - values[i]
        gae = gae * gamma * gae_lambda + delta_t
        policy_loss = policy_loss - log_probs[i] * gae.detach() - entropy_coef * entropies[i]

    optimizer.zero_grad(set_to_none=False)
    (policy_loss + value_loss_coef * value_loss).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_grad_norm)
    ensure_shared_grads(model, shared_model)
    optimizer.step()
    returns.append(sum(rewards))

# %%
early, late = sum(returns[:20]) / 20, sum(returns[-20:]) / 20
print(early, late, value_loss.item())
