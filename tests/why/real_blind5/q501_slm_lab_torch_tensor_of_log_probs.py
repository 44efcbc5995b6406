# https://github.com/kengz/SLM-Lab/pull/133
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(0)


class Body:
    def __init__(self):
        self.epi_reset()

    def epi_reset(self):
        self.log_probs, self.entropies, self.states, self.rewards = [], [], [], []


class SharedNet(nn.Module):
    def __init__(self, state_dim, action_dim):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(state_dim, 16), nn.SELU())
        self.policy_tail = nn.Linear(16, action_dim)
        self.value_tail = nn.Linear(16, 1)

    def forward(self, x):
        h = self.body(x)
        return self.policy_tail(h), self.value_tail(h).squeeze(-1)


class ActorCritic:
    def __init__(self, net, gamma=0.99):
        self.net, self.gamma, self.body = net, gamma, Body()
        self.optim = torch.optim.Adam(net.parameters(), lr=0.01)

    def act(self, state):
        logits, _ = self.net(state)
        action_pd = Categorical(logits=logits)
        action = action_pd.sample()
        self.body.log_probs.append(action_pd.log_prob(action))
        self.body.states.append(state)
        return action.item()

    def calc_returns(self):
        ret, rets = 0.0, []
        for r in reversed(self.body.rewards):
            ret = r + self.gamma * ret
            rets.insert(0, ret)
        return torch.tensor(rets)

    def calc_policy_loss(self, advs):
        log_probs = torch.tensor(self.body.log_probs)
        return -(log_probs * advs).mean()

    def train(self):
        rets = self.calc_returns()
        _, v_preds = self.net(torch.stack(self.body.states))
        advs = (rets - v_preds).detach()
        policy_loss = self.calc_policy_loss(advs)
        val_loss = nn.functional.mse_loss(v_preds, rets)
        loss = policy_loss + 0.5 * val_loss
        self.optim.zero_grad()
        loss.backward()
        self.optim.step()
        self.body.epi_reset()
        return policy_loss, val_loss


# %%
net = SharedNet(4, 2)
agent = ActorCritic(net)
policy_before = net.policy_tail.weight.detach().clone()
for epi in range(4):
    state = torch.randn(4)
    for t in range(8):
        action = agent.act(state)
        agent.body.rewards.append(1.0 if action == 0 else 0.0)
        state = torch.randn(4)
    policy_loss, val_loss = agent.train()
    print(f'epi {epi} policy loss {policy_loss.item():.3f} value loss {val_loss.item():.3f}')
