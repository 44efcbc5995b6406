# https://github.com/p-christ/Deep-Reinforcement-Learning-Algorithms-with-PyTorch/issues/21
import copy
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim import Adam

torch.manual_seed(0)


class Corridors:
    def __init__(self, state_size=6, action_size=4):
        self.state_size, self.action_size = state_size, action_size
        self.preference = torch.randn(state_size, action_size)
        self.drift = 0.5 * torch.randn(action_size, state_size)

    def step(self, state, action):
        reward = torch.tanh(state @ self.preference).gather(1, action) * 0.2
        next_state = 0.6 * state + self.drift[action.squeeze(1)] + 0.3 * torch.randn_like(state)
        return reward, next_state


def create_NN(input_dim, output_dim, softmax=False):
    layers = [nn.Linear(input_dim, 32), nn.ReLU(), nn.Linear(32, output_dim)]
    return nn.Sequential(*layers, nn.Softmax(dim=-1)) if softmax else nn.Sequential(*layers)


class SAC_Discrete:
    def __init__(self, environment, lr=1e-2, gamma=0.8, tau=0.02):
        self.environment, self.gamma, self.tau = environment, gamma, tau
        n_s, n_a = environment.state_size, environment.action_size
        self.critic_local, self.critic_local_2 = create_NN(n_s, n_a), create_NN(n_s, n_a)
        self.critic_target = copy.deepcopy(self.critic_local)
        self.critic_target_2 = copy.deepcopy(self.critic_local_2)
        self.critic_optimizer = Adam(self.critic_local.parameters(), lr=lr)
        self.critic_optimizer_2 = Adam(self.critic_local_2.parameters(), lr=lr)
        self.actor_local = create_NN(n_s, n_a, softmax=True)
        self.actor_optimizer = Adam(self.actor_local.parameters(), lr=lr)
        self.target_entropy = 0.5 * math.log(n_a)
        self.log_alpha = torch.zeros(1, requires_grad=True)
        self.alpha = self.log_alpha.exp().detach()
        self.alpha_optim = Adam([self.log_alpha], lr=lr)

    def produce_action_and_action_info(self, state):
        action_probabilities = self.actor_local(state)
        action = torch.distributions.Categorical(action_probabilities).sample().unsqueeze(-1)
        z = (action_probabilities == 0.0).float() * 1e-8
        log_action_probabilities = torch.log(action_probabilities + z)
        return action, (action_probabilities, log_action_probabilities)

    def calculate_critic_losses(self, state, action, reward, next_state):
        with torch.no_grad():
            _, (next_probs, next_log_probs) = self.produce_action_and_action_info(next_state)
            next_q = torch.min(self.critic_target(next_state), self.critic_target_2(next_state))
            next_value = (next_probs * (next_q - self.alpha * next_log_probs)).sum(dim=1, keepdim=True)
            target = reward + self.gamma * next_value
        qf1 = self.critic_local(state).gather(1, action)
        qf2 = self.critic_local_2(state).gather(1, action)
        return F.mse_loss(qf1, target), F.mse_loss(qf2, target)

    def calculate_actor_loss(self, state):
        _, (action_probabilities, log_action_probabilities) = self.produce_action_and_action_info(state)
        with torch.no_grad():
            min_qf_pi = torch.min(self.critic_local(state), self.critic_local_2(state))
        inside_term = log_action_probabilities - min_qf_pi
        policy_loss = (action_probabilities * inside_term).sum(dim=1).mean()
        log_pi = (log_action_probabilities * action_probabilities).sum(dim=1)
        return policy_loss, log_pi

    def calculate_entropy_tuning_loss(self, log_pi):
        return -(self.log_alpha * (log_pi + self.target_entropy).detach()).mean()

    def take_optimisation_step(self, optimizer, loss):
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    def soft_update(self, local, target):
        with torch.no_grad():
            for t, p in zip(target.parameters(), local.parameters()):
                t.lerp_(p, self.tau)

    def learn(self, state):
        with torch.no_grad():
            action, _ = self.produce_action_and_action_info(state)
        reward, next_state = self.environment.step(state, action)
        qf1_loss, qf2_loss = self.calculate_critic_losses(state, action, reward, next_state)
        self.take_optimisation_step(self.critic_optimizer, qf1_loss)
        self.take_optimisation_step(self.critic_optimizer_2, qf2_loss)
        self.soft_update(self.critic_local, self.critic_target)
        self.soft_update(self.critic_local_2, self.critic_target_2)
        policy_loss, log_pi = self.calculate_actor_loss(state)
        self.take_optimisation_step(self.actor_optimizer, policy_loss)
        alpha_loss = self.calculate_entropy_tuning_loss(log_pi)
        self.take_optimisation_step(self.alpha_optim, alpha_loss)
        self.alpha = self.log_alpha.exp().detach()
        return next_state, policy_loss.item(), -log_pi.mean().item()


# %%
environment = Corridors()
agent = SAC_Discrete(environment)
state = torch.randn(64, environment.state_size)

# %%
for step in range(300):
    state, policy_loss, entropy = agent.learn(state)
    if step % 100 == 99:
        print(step + 1, "policy loss", policy_loss, "entropy", entropy, "alpha", agent.alpha.item())
print("target entropy", agent.target_entropy)
