# https://github.com/philtabor/Youtube-Code-Repository/issues/23
import numpy as np
import torch as T
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

T.manual_seed(0)
np.random.seed(0)


class Network(nn.Module):
    def __init__(self, in_dims, out_dims, lr):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(in_dims, 16), nn.Linear(16, out_dims)
        self.optimizer = optim.Adam(self.parameters(), lr=lr)

    def forward(self, *x):
        return self.fc2(F.relu(self.fc1(T.cat(x, dim=1))))


class ActorNetwork(Network):
    def sample_normal(self, state, reparameterize=True):
        mu, sigma = self.forward(state).chunk(2, dim=1)
        probabilities = T.distributions.Normal(mu, T.clamp(sigma, min=1e-6, max=1))
        actions = probabilities.rsample() if reparameterize else probabilities.sample()
        action = T.tanh(actions)
        log_probs = probabilities.log_prob(actions) - T.log(1 - action.pow(2) + 1e-6)
        return action, log_probs.sum(1, keepdim=True)


# %%
class Agent:
    def __init__(self, n_obs=4, n_actions=2, lr=3e-4, gamma=0.99, scale=2, tau=0.005):
        self.actor = ActorNetwork(n_obs, 2 * n_actions, lr)
        self.critic_1, self.critic_2 = Network(n_obs + n_actions, 1, lr), Network(n_obs + n_actions, 1, lr)
        self.value, self.target_value = Network(n_obs, 1, lr), Network(n_obs, 1, lr)
        self.gamma, self.scale, self.tau = gamma, scale, tau

    def update_network_parameters(self):
        new = {name: self.tau * p.clone() + (1 - self.tau) * dict(self.target_value.named_parameters())[name].clone()
               for name, p in self.value.named_parameters()}
        self.target_value.load_state_dict(new)

    def min_q(self, state, actions):
        return T.min(self.critic_1(state, actions), self.critic_2(state, actions)).view(-1)

    def learn(self, state, action, reward, state_, done):
        value = self.value(state).view(-1)
        value_ = self.target_value(state_).view(-1)
        value_[done] = 0.0

        actions, log_probs = self.actor.sample_normal(state, reparameterize=False)
        self.value.optimizer.zero_grad()
        value_target = self.min_q(state, actions) - log_probs.view(-1)
        value_loss = 0.5 * F.mse_loss(value, value_target)
        value_loss.backward(retain_graph=True)
        self.value.optimizer.step()

        actions, log_probs = self.actor.sample_normal(state, reparameterize=True)
        actor_loss = T.mean(log_probs.view(-1) - self.min_q(state, actions))
        self.actor_own = T.autograd.grad(actor_loss, list(self.actor.parameters()), retain_graph=True)  # to compare
        self.actor.optimizer.zero_grad()
        actor_loss.backward(retain_graph=True)
        self.actor.optimizer.step()

        self.critic_1.optimizer.zero_grad()
        self.critic_2.optimizer.zero_grad()
        q_hat = self.scale * reward + self.gamma * value_
        critic_1_loss = 0.5 * F.mse_loss(self.critic_1(state, action).view(-1), q_hat)
        critic_2_loss = 0.5 * F.mse_loss(self.critic_2(state, action).view(-1), q_hat)
        critic_loss = critic_1_loss + critic_2_loss
        self.critic_own = T.autograd.grad(critic_loss, list(self.critic_1.parameters()), retain_graph=True)  # to compare
        critic_loss.backward()
        self.critic_1.optimizer.step()
        self.critic_2.optimizer.step()
        self.update_network_parameters()
        return value_loss.item(), actor_loss.item(), critic_loss.item()


# %%
agent = Agent()
for i in range(2):
    batch = T.randn(16, 4), T.rand(16, 2) * 2 - 1, T.randn(16), T.randn(16, 4), T.rand(16) > 0.9
    print(i, agent.learn(*batch))
