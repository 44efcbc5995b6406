# https://discuss.pytorch.org/t/pytorch-runtimeerror-trying-to-backward-through-the-graph-a-second-time/191396
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Value(nn.Module):
    def __init__(self, inputs):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(inputs, 16), nn.Tanh(), nn.Linear(16, 1))
        self.optimizer = torch.optim.SGD(self.parameters(), lr=1e-2)

    def forward(self, x):
        return self.net(x)

    def SGD(self, prediction, target):
        self.optimizer.zero_grad()
        F.mse_loss(prediction, target).backward()
        self.optimizer.step()


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
        self.optimizer = torch.optim.SGD(self.parameters(), lr=1e-2)

    def forward(self, state):
        return torch.distributions.Categorical(logits=self.net(state))

    def clipped_surrogate(self, log_prob, old_log_prob, advantage):
        ratio = torch.exp(log_prob - old_log_prob)
        return torch.min(ratio * advantage, torch.clamp(ratio, 0.8, 1.2) * advantage)

    def SGA(self, surrogates):
        self.optimizer.zero_grad()
        loss = -torch.stack(surrogates).mean()
        loss.backward()
        self.optimizer.step()


# %%
V, Q, policy = Value(4), Value(5), Policy()

# %%
state, surrogates = torch.randn(4), []
for t in range(6):
    dist = policy(state)
    action = dist.sample()
    log_prob = dist.log_prob(action)
    reward = state.sum().item() * (1 if action == 0 else -1)
    v = V(state)
    q = Q(torch.cat([state, action.view(1).float()]))
    advantage = q - v
    V.SGD(v, torch.tensor([reward]))
    Q.SGD(q, torch.tensor([reward]))
    surrogates.append(policy.clipped_surrogate(log_prob, log_prob.detach(), advantage))
    state = torch.randn(4)
policy.SGA(surrogates)
