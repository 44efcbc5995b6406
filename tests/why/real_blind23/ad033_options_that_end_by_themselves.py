# https://github.com/lweitkamp/option-critic-pytorch/issues/9
import argparse
from copy import deepcopy

import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Bernoulli, Categorical

torch.manual_seed(0)
np.random.seed(0)

args = argparse.Namespace(gamma=.99, termination_reg=0.01, entropy_reg=0.01, learning_rate=.0005,
                          num_options=2, temp=1, update_frequency=4, freeze_interval=20)


def to_tensor(obs):
    return torch.from_numpy(np.asarray(obs)).float()


class OptionCriticFeatures(nn.Module):
    def __init__(self, in_features, num_actions, num_options, temperature=1.0):
        super(OptionCriticFeatures, self).__init__()
        self.temperature = temperature
        self.features = nn.Sequential(
            nn.Linear(in_features, 32),
            nn.ReLU(),
            nn.Linear(32, 64),
            nn.ReLU()
        )
        self.Q = nn.Linear(64, num_options)             # Policy-Over-Options
        self.terminations = nn.Linear(64, num_options)  # Option-Termination
        self.options_W = nn.Parameter(torch.zeros(num_options, 64, num_actions))
        self.options_b = nn.Parameter(torch.zeros(num_options, num_actions))

    def get_state(self, obs):
        if obs.ndim < 2:
            obs = obs.unsqueeze(0)
        return self.features(obs)

    def get_Q(self, state):
        return self.Q(state)

    def predict_option_termination(self, state, current_option):
        termination = self.terminations(state)[:, current_option].sigmoid()
        option_termination = Bernoulli(termination).sample()
        next_option = self.get_Q(state).argmax(dim=-1)
        return bool(option_termination.item()), next_option.item()

    def get_terminations(self, state):
        return self.terminations(state).sigmoid()

    def get_action(self, state, option):
        logits = state @ self.options_W[option] + self.options_b[option]
        action_dist = Categorical((logits / self.temperature).softmax(dim=-1))
        action = action_dist.sample()
        return action.item(), action_dist.log_prob(action), action_dist.entropy()


def actor_loss(obs, option, logp, entropy, reward, done, next_obs, model, model_prime, args):
    state = model.get_state(to_tensor(obs))
    next_state = model.get_state(to_tensor(next_obs))
    next_state_prime = model_prime.get_state(to_tensor(next_obs))

    option_term_prob = model.get_terminations(state)[:, option]
    next_option_term_prob = model.get_terminations(next_state)[:, option].detach()

    Q = model.get_Q(state).detach().squeeze()
    next_Q_prime = model_prime.get_Q(next_state_prime).detach().squeeze()

    gt = reward + (1 - done) * args.gamma * \
        ((1 - next_option_term_prob) * next_Q_prime[option] + next_option_term_prob * next_Q_prime.max(dim=-1)[0])

    termination_loss = option_term_prob * (Q[option].detach() - Q.max(dim=-1)[0].detach() + args.termination_reg) * (1 - done)
    policy_loss = -logp * (gt.detach() - Q[option]) - args.entropy_reg * entropy
    return termination_loss + policy_loss


# %%
option_critic = OptionCriticFeatures(4, num_actions=2, num_options=args.num_options, temperature=args.temp)
option_critic_prime = deepcopy(option_critic)
optim = torch.optim.RMSprop(option_critic.parameters(), lr=args.learning_rate)

# %%
obs = np.random.randn(4)
state = option_critic.get_state(to_tensor(obs))
current_option, greedy_option, option_termination = 0, 0, True
for steps in range(40):
    if option_termination:
        current_option = np.random.choice(args.num_options) if np.random.rand() < 0.5 else greedy_option
    action, logp, entropy = option_critic.get_action(state, current_option)

    next_obs = obs + 0.1 * (2 * action - 1) * np.ones(4)
    reward, done = float(np.abs(next_obs).sum() < 3), False

    old_state = state
    state = option_critic.get_state(to_tensor(next_obs))
    option_termination, greedy_option = option_critic.predict_option_termination(state, current_option)

    loss = actor_loss(obs, current_option, logp, entropy, reward, done, next_obs, option_critic, option_critic_prime, args)
    optim.zero_grad()
    loss.backward()
    optim.step()

    if steps % args.freeze_interval == 0:
        option_critic_prime.load_state_dict(option_critic.state_dict())
    obs = next_obs
