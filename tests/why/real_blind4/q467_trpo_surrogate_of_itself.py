# https://github.com/ajlangley/trpo-pytorch/issues/3
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(0)


def get_flat_grads(f, net):
    return torch.cat([g.reshape(-1) for g in torch.autograd.grad(f, net.parameters(), create_graph=True)])


class TRPO:
    def __init__(self, n_states=4, n_actions=3, lr=0.05):
        self.policy = nn.Sequential(nn.Linear(n_states, 16), nn.Tanh(), nn.Linear(16, n_actions))
        self.value_fun = nn.Sequential(nn.Linear(n_states, 16), nn.Tanh(), nn.Linear(16, 1))
        self.policy_optimizer = torch.optim.SGD(self.policy.parameters(), lr=lr)
        self.value_optimizer = torch.optim.Adam(self.value_fun.parameters(), lr=1e-2)

    def surrogate_loss(self, log_action_probs, imp_sample_probs, advantages):
        return torch.mean(torch.exp(log_action_probs - imp_sample_probs) * advantages)

    def get_advantages(self, states, returns):
        values = self.value_fun(states).squeeze(1)
        self.value_optimizer.zero_grad()
        nn.functional.mse_loss(values, returns).backward()
        self.value_optimizer.step()
        adv = returns - values.detach()
        return (adv - adv.mean()) / adv.std()

    def update(self, states, actions, returns):
        advantages = self.get_advantages(states, returns)
        action_dists = Categorical(logits=self.policy(states))
        log_action_probs = action_dists.log_prob(actions)

        loss = self.surrogate_loss(log_action_probs, log_action_probs.detach(), advantages)
        loss_grad = get_flat_grads(loss, self.policy)
        self.policy_optimizer.zero_grad()
        (-loss).backward()
        self.policy_optimizer.step()
        return loss, loss_grad.detach()


# %%
trpo = TRPO()
for episode in range(3):
    states = torch.randn(30, 4)
    actions = Categorical(logits=trpo.policy(states)).sample()
    returns = states[:, 0] * (actions - 1) + 0.1 * torch.randn(30)
    loss, loss_grad = trpo.update(states, actions, returns)
    print(episode, 'surrogate', loss.item(), 'norm of its gradient', loss_grad.norm().item())
