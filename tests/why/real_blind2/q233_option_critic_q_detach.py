# https://github.com/lweitkamp/option-critic-pytorch/issues/2
from types import SimpleNamespace

import torch
import torch.nn as nn
from torch.distributions import Bernoulli, Categorical


class OptionCritic(nn.Module):
    def __init__(self, in_features, num_actions, num_options, temperature=1.0):
        super().__init__()
        self.temperature = temperature
        self.features = nn.Sequential(nn.Linear(in_features, 16), nn.ReLU())
        self.Q = nn.Linear(16, num_options)
        self.terminations = nn.Linear(16, num_options)
        self.options_W = nn.Parameter(torch.zeros(num_options, 16, num_actions))
        self.options_b = nn.Parameter(torch.zeros(num_options, num_actions))

    def get_state(self, obs):
        return self.features(obs.unsqueeze(0) if obs.ndim < 2 else obs)

    def get_Q(self, state):
        return self.Q(state)

    def get_terminations(self, state):
        return self.terminations(state).sigmoid()

    def get_action(self, state, option):
        logits = state @ self.options_W[option] + self.options_b[option]
        action_dist = Categorical((logits / self.temperature).softmax(dim=-1))
        action = action_dist.sample()
        return action.item(), action_dist.log_prob(action), action_dist.entropy()


def actor_loss(obs, option, logp, entropy, reward, done, next_obs, model, model_prime, args):
    state = model.get_state(obs)
    next_state = model.get_state(next_obs)
    next_state_prime = model_prime.get_state(next_obs)

    option_term_prob = model.get_terminations(state)[:, option]
    next_option_term_prob = model.get_terminations(next_state)[:, option].detach()

    Q = model.get_Q(state).detach().squeeze()
    next_Q_prime = model_prime.get_Q(next_state_prime).detach().squeeze()

    gt = reward + (1 - done) * args.gamma * (
        (1 - next_option_term_prob) * next_Q_prime[option]
        + next_option_term_prob * next_Q_prime.max(dim=-1)[0])

    termination_loss = option_term_prob * (Q[option] - Q.max(dim=-1)[0] + args.termination_reg) * (1 - done)
    # should Q[option] have a detach() here, as gt has one?
    policy_loss = -logp * (gt.detach() - Q[option]) - args.entropy_reg * entropy
    return termination_loss + policy_loss


# %%
args = SimpleNamespace(gamma=0.99, termination_reg=0.01, entropy_reg=0.01)
option_critic = OptionCritic(4, num_actions=2, num_options=3)
option_critic_prime = OptionCritic(4, num_actions=2, num_options=3)
option_critic_prime.load_state_dict(option_critic.state_dict())
optim = torch.optim.RMSprop(option_critic.parameters(), lr=5e-4)

obs, current_option = torch.randn(4), 1
state = option_critic.get_state(obs)
action, logp, entropy = option_critic.get_action(state, current_option)
next_obs, reward, done = torch.randn(4), 1.0, False
terminated = bool(Bernoulli(option_critic.get_terminations(state)[0, current_option].detach()).sample())

# %%
ac_loss = actor_loss(obs, current_option, logp, entropy, reward, done, next_obs,
                     option_critic, option_critic_prime, args)
optim.zero_grad()
ac_loss.backward()
optim.step()
print(option_critic.Q.weight.grad)
