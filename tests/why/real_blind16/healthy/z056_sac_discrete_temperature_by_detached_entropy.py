# https://github.com/XinJingHao/SAC-Discrete-Pytorch/issues/1
import copy
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
STATES, ACTIONS = 6, 4


def build_net(out, hidden=64):
    return nn.Sequential(nn.Linear(STATES, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, out))


class Double_Q_Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.Q1, self.Q2 = build_net(ACTIONS), build_net(ACTIONS)

    def forward(self, s):
        return self.Q1(s), self.Q2(s)


class SACD_agent:
    def __init__(self, lr=3e-3, gamma=0.8, tau=0.02):
        self.actor, self.q_critic = build_net(ACTIONS), Double_Q_Net()
        self.q_critic_target = copy.deepcopy(self.q_critic)
        for p in self.q_critic_target.parameters():
            p.requires_grad = False
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), lr=lr)
        self.q_critic_optimizer = torch.optim.Adam(self.q_critic.parameters(), lr=lr)
        self.target_entropy = 0.5 * math.log(ACTIONS)
        self.log_alpha = torch.tensor(math.log(0.5), requires_grad=True)
        self.alpha_optim = torch.optim.Adam([self.log_alpha], lr=1e-2)
        self.alpha, self.H_mean = self.log_alpha.exp().item(), 0
        self.gamma, self.tau = gamma, tau

    def train(self, s, a, r, s_next):
        with torch.no_grad():
            next_probs = self.actor(s_next).softmax(1)
            next_log_probs = torch.log(next_probs + 1e-8)
            next_q = torch.min(*self.q_critic_target(s_next))
            v_next = (next_probs * (next_q - self.alpha * next_log_probs)).sum(1, keepdim=True)
            target_Q = r + self.gamma * v_next
        q1, q2 = (q.gather(1, a) for q in self.q_critic(s))
        q_loss = F.mse_loss(q1, target_Q) + F.mse_loss(q2, target_Q)
        self.q_critic_optimizer.zero_grad()
        q_loss.backward()
        self.q_critic_optimizer.step()

        probs = self.actor(s).softmax(1)
        log_probs = torch.log(probs + 1e-8)
        with torch.no_grad():
            min_q = torch.min(*self.q_critic(s))
        a_loss = (probs * (self.alpha * log_probs - min_q)).sum(1).mean()
        self.actor_optimizer.zero_grad()
        a_loss.backward()
        self.actor_optimizer.step()

        with torch.no_grad():
            self.H_mean = -(probs * log_probs).sum(1).mean()
        alpha_loss = self.log_alpha * (self.H_mean - self.target_entropy)
        self.alpha_optim.zero_grad()
        alpha_loss.backward()
        self.alpha_optim.step()
        self.alpha = self.log_alpha.exp().item()

        with torch.no_grad():
            for p, target in zip(self.q_critic.parameters(), self.q_critic_target.parameters()):
                target.lerp_(p, self.tau)


def transitions(n):
    """In each state one action pays and goes on, one pays half; all others start over."""
    s, a = torch.randint(0, STATES, (n,)), torch.randint(0, ACTIONS, (n,))
    best, second = a == s % ACTIONS, a == (s + 1) % ACTIONS
    r = best.float() + 0.5 * second.float()
    s_next = torch.where(best, (s + 1) % STATES, torch.zeros_like(s))
    return F.one_hot(s, STATES).float(), a.unsqueeze(1), r.unsqueeze(1), F.one_hot(s_next, STATES).float()


# %%
agent = SACD_agent()
alphas, entropies = [], []
for step in range(550):
    agent.train(*transitions(128))
    alphas.append(agent.alpha)
    entropies.append(agent.H_mean.item())

# %%
greedy = agent.actor(torch.eye(STATES)).argmax(1)
print(alphas[0], alphas[-1], entropies[0], sum(entropies[-50:]) / 50, agent.target_entropy, greedy.tolist())
assert torch.equal(greedy, torch.arange(STATES) % ACTIONS)
assert abs(sum(entropies[-50:]) / 50 - agent.target_entropy) < 0.1
assert abs(alphas[-1] - alphas[0]) > 0.05 and agent.alpha > 0
