# https://github.com/toshikwa/sac-discrete.pytorch/issues/24
import math
import torch
import torch.nn as nn
from torch.distributions import Categorical
from torch.optim import Adam

torch.manual_seed(0)
STATES, ACTIONS = 6, 3


def disable_gradients(network):
    for param in network.parameters():
        param.requires_grad = False


class QNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Sequential(nn.Linear(STATES, 64), nn.ReLU(), nn.Linear(64, ACTIONS))

    def forward(self, states):
        return self.head(states)


class TwinnedQNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.Q1, self.Q2 = QNetwork(), QNetwork()

    def forward(self, states):
        return self.Q1(states), self.Q2(states)


class CateoricalPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Sequential(nn.Linear(STATES, 64), nn.ReLU(), nn.Linear(64, ACTIONS))

    def sample(self, states):
        action_probs = torch.softmax(self.head(states), dim=1)
        actions = Categorical(action_probs).sample().view(-1, 1)
        z = (action_probs == 0.0).float() * 1e-8
        return actions, action_probs, torch.log(action_probs + z)


def update_params(optim, loss):
    optim.zero_grad()
    loss.backward()
    optim.step()


class SacdAgent:
    def __init__(self, lr=3e-3, gamma=0.8, target_entropy_ratio=0.3):
        self.policy, self.online_critic, self.target_critic = CateoricalPolicy(), TwinnedQNetwork(), TwinnedQNetwork()
        self.target_critic.load_state_dict(self.online_critic.state_dict())
        disable_gradients(self.target_critic)
        self.policy_optim = Adam(self.policy.parameters(), lr=lr)
        self.q1_optim = Adam(self.online_critic.Q1.parameters(), lr=lr)
        self.q2_optim = Adam(self.online_critic.Q2.parameters(), lr=lr)
        self.target_entropy = -math.log(1.0 / ACTIONS) * target_entropy_ratio
        self.log_alpha = torch.zeros(1, requires_grad=True)
        self.alpha = self.log_alpha.exp()
        self.alpha_optim = Adam([self.log_alpha], lr=lr)
        self.gamma = gamma

    def calc_critic_loss(self, states, actions, rewards, next_states):
        curr_q1, curr_q2 = self.online_critic(states)
        curr_q1, curr_q2 = curr_q1.gather(1, actions), curr_q2.gather(1, actions)
        with torch.no_grad():
            _, action_probs, log_action_probs = self.policy.sample(next_states)
            next_q1, next_q2 = self.target_critic(next_states)
            next_q = (action_probs * (torch.min(next_q1, next_q2) - self.alpha * log_action_probs)).sum(dim=1, keepdim=True)
        target_q = rewards + self.gamma * next_q
        return torch.mean((curr_q1 - target_q).pow(2)), torch.mean((curr_q2 - target_q).pow(2))

    def calc_policy_loss(self, states):
        _, action_probs, log_action_probs = self.policy.sample(states)
        with torch.no_grad():
            q1, q2 = self.online_critic(states)
        entropies = -torch.sum(action_probs * log_action_probs, dim=1, keepdim=True)
        q = torch.sum(torch.min(q1, q2) * action_probs, dim=1, keepdim=True)
        return (-q - self.alpha * entropies).mean(), entropies.detach()

    def learn(self, batch):
        q1_loss, q2_loss = self.calc_critic_loss(*batch)
        policy_loss, entropies = self.calc_policy_loss(batch[0])
        entropy_loss = -torch.mean(self.log_alpha * (self.target_entropy - entropies))
        update_params(self.q1_optim, q1_loss)
        update_params(self.q2_optim, q2_loss)
        update_params(self.policy_optim, policy_loss)
        update_params(self.alpha_optim, entropy_loss)
        self.alpha = self.log_alpha.exp()
        return entropies.mean().item()


def transitions(n):
    """A row of six states; a step to the right of the last one pays and ends at the first."""
    s, a = torch.randint(0, STATES, (n,)), torch.randint(0, ACTIONS, (n, 1))
    nxt = (s + a.squeeze(1) - 1).clamp(0, STATES - 1)
    paid = (s == STATES - 1) & (a.squeeze(1) == 2)
    nxt[paid] = 0
    eye = torch.eye(STATES)
    return eye[s], a, paid.float().unsqueeze(1), eye[nxt]


# %%
agent = SacdAgent()
entropies = []
for steps in range(500):
    entropies.append(agent.learn(transitions(64)))
    if steps % 20 == 0:
        agent.target_critic.load_state_dict(agent.online_critic.state_dict())

# %%
with torch.no_grad():
    greedy = agent.policy.head(torch.eye(STATES)).argmax(1)
print(greedy, agent.alpha.item(), sum(entropies[-50:]) / 50, agent.target_entropy)
assert torch.equal(greedy, torch.full((STATES,), 2))
assert all(p.grad is not None for p in agent.policy.parameters())
assert all(p.grad is None for p in agent.target_critic.parameters())
