# https://github.com/lweitkamp/option-critic-pytorch/issues/5
from types import SimpleNamespace

import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Bernoulli, Categorical

torch.manual_seed(0)
np.random.seed(0)
args = SimpleNamespace(num_options=2, batch_size=8, gamma=0.99, termination_reg=0.01, entropy_reg=0.01,
                       update_frequency=4, freeze_interval=20, max_steps_total=40, learning_rate=5e-4)


class OptionCriticFeatures(nn.Module):
    def __init__(self, in_features, num_actions, num_options, epsilon=0.1):
        super(OptionCriticFeatures, self).__init__()
        self.epsilon = epsilon
        self.features = nn.Sequential(nn.Linear(in_features, 32), nn.ReLU(), nn.Linear(32, 64), nn.ReLU())
        self.Q = nn.Linear(64, num_options)                 # Policy-Over-Options
        self.terminations = nn.Linear(64, num_options)      # Option-Termination
        self.options_W = nn.Parameter(torch.zeros(num_options, 64, num_actions))
        self.options_b = nn.Parameter(torch.zeros(num_options, num_actions))

    def get_state(self, obs):
        return self.features(obs if obs.ndim > 1 else obs.unsqueeze(0))

    def predict_option_termination(self, state, current_option):
        termination = self.terminations(state)[:, current_option].sigmoid()
        option_termination = Bernoulli(termination).sample()
        return bool(option_termination.item()), self.greedy_option(state)

    def get_terminations(self, state):
        return self.terminations(state).sigmoid()

    def get_action(self, state, option):
        logits = state @ self.options_W[option] + self.options_b[option]
        action_dist = Categorical(logits.softmax(dim=-1))
        action = action_dist.sample()
        return action.item(), action_dist.log_prob(action), action_dist.entropy()

    def greedy_option(self, state):
        return self.Q(state).argmax(dim=-1).item()


def target(reward, done, term_prob, next_Q_prime, option_Q):
    return reward + (1 - done) * args.gamma * ((1 - term_prob) * option_Q + term_prob * next_Q_prime.max(dim=-1)[0])


def critic_loss_fn(model, model_prime, data_batch):
    obs, options, rewards, next_obs, dones = data_batch
    batch_idx = torch.arange(len(options))
    Q = model.Q(model.get_state(obs))
    next_Q_prime = model_prime.Q(model_prime.get_state(next_obs))
    next_options_term_prob = model.get_terminations(model.get_state(next_obs)).detach()[batch_idx, options]
    gt = target(rewards, dones, next_options_term_prob, next_Q_prime, next_Q_prime[batch_idx, options])
    return (Q[batch_idx, options] - gt.detach()).pow(2).mul(0.5).mean()


def actor_loss_fn(obs, option, logp, entropy, reward, done, next_obs, model, model_prime):
    state, next_state = model.get_state(obs), model.get_state(next_obs)
    option_term_prob = model.get_terminations(state)[:, option]
    next_option_term_prob = model.get_terminations(next_state)[:, option].detach()
    Q = model.Q(state).detach().squeeze()
    next_Q_prime = model_prime.Q(model_prime.get_state(next_obs)).detach().squeeze()
    gt = target(reward, done, next_option_term_prob, next_Q_prime, next_Q_prime[option])
    termination_loss = option_term_prob * (Q[option] - Q.max(dim=-1)[0] + args.termination_reg) * (1 - done)
    policy_loss = -logp * (gt.detach() - Q[option]) - args.entropy_reg * entropy
    return termination_loss + policy_loss


# %%
option_critic = OptionCriticFeatures(6, 4, args.num_options)
option_critic_prime = OptionCriticFeatures(6, 4, args.num_options)
option_critic_prime.load_state_dict(option_critic.state_dict())
optim = torch.optim.RMSprop(option_critic.parameters(), lr=args.learning_rate)
buffer, steps = [], 0

# %%
obs = torch.rand(6)
state = option_critic.get_state(obs)
greedy_option, option_termination = option_critic.greedy_option(state), True
while steps < args.max_steps_total:
    if option_termination:
        explore = np.random.rand() < option_critic.epsilon
        current_option = np.random.choice(args.num_options) if explore else greedy_option

    action, logp, entropy = option_critic.get_action(state, current_option)

    next_obs, reward, done = torch.rand(6), float(action == 0), float(steps % 10 == 9)
    buffer.append((obs, torch.tensor(current_option), torch.tensor(reward), next_obs, torch.tensor(done)))

    state = option_critic.get_state(next_obs)
    option_termination, greedy_option = option_critic.predict_option_termination(state, current_option)

    if len(buffer) > args.batch_size:
        loss = actor_loss_fn(obs, current_option, logp, entropy, reward, done, next_obs, option_critic,
                             option_critic_prime)
        if steps % args.update_frequency == 0:
            picks = np.random.choice(len(buffer), args.batch_size)
            data_batch = [torch.stack(column) for column in zip(*[buffer[i] for i in picks])]
            loss = loss + critic_loss_fn(option_critic, option_critic_prime, data_batch)
        optim.zero_grad()
        loss.backward()
        optim.step()
        if steps % args.freeze_interval == 0:
            option_critic_prime.load_state_dict(option_critic.state_dict())

    steps += 1
    obs = next_obs
