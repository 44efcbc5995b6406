# https://discuss.pytorch.org/t/actor-critic-with-multivariate-normal-network-weights-fail-to-update/74548
import numpy as np
import torch as T
import torch.distributions.multivariate_normal as mn
import torch.nn as nn
import torch.optim as optim

T.manual_seed(0)
np.random.seed(0)


class GenericNetwork(nn.Module):
    def __init__(self, lr, input_dims, hidden, outputs):
        super(GenericNetwork, self).__init__()
        self.fc1 = nn.Linear(input_dims, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.fc3 = nn.Linear(hidden, outputs)
        self.optimizer = optim.Adam(self.parameters(), lr=lr)

    def forward(self, observation):
        x = T.as_tensor(observation, dtype=T.float)
        x = T.relu(self.fc1(x))
        x = T.relu(self.fc2(x))
        return self.fc3(x)


def get_params_from_policy_thetas(thetas):
    mu = thetas * np.array([2 * np.pi, np.pi / 2])
    S = 0.05 * np.eye(2)
    return mu, S


class Agent:
    def __init__(self, alpha, beta, input_dims, gamma=0.99):
        self.gamma = gamma
        self.log_probs = None
        self.actor = GenericNetwork(alpha, input_dims, 64, 2)
        self.critic = GenericNetwork(beta, input_dims, 64, 1)

    def choose_action(self, observation):
        # with the cart pole: a Categorical of the softmax
        policy_thetas = T.sigmoid(self.actor(observation))
        mu, S = get_params_from_policy_thetas(policy_thetas.detach().numpy())
        action_probs = mn.MultivariateNormal(T.FloatTensor(mu), T.FloatTensor(S))
        action = action_probs.sample()
        self.log_probs = action_probs.log_prob(action)
        return action.numpy()

    def learn(self, state, reward, new_state, done):
        self.actor.optimizer.zero_grad()
        self.critic.optimizer.zero_grad()

        critic_value = self.critic(state)
        critic_value_ = self.critic(new_state)
        delta = reward + self.gamma * critic_value_ * (1 - int(done)) - critic_value

        actor_loss = -self.log_probs * delta
        critic_loss = delta ** 2
        (actor_loss + critic_loss).backward()

        self.actor.optimizer.step()
        self.critic.optimizer.step()


class PointingEnv:
    """The agent has to point at a target in the sky."""

    def reset(self):
        self.steps = 0
        self.target = np.random.rand(2) * [2 * np.pi, np.pi / 2]
        return np.append(self.target, 0.0)

    def step(self, action):
        self.steps += 1
        reward = -float(np.abs(action - self.target).sum())
        return np.append(self.target, self.steps / 10), reward, self.steps == 10, {}


# %%
agent = Agent(alpha=1e-3, beta=5e-3, input_dims=3)
env = PointingEnv()
weights = [p.detach().clone() for p in agent.actor.parameters()]
score_history = []
for i in range(20):
    observation, done, score = env.reset(), False, 0
    while not done:
        action = agent.choose_action(observation)
        observation_, reward, done, info = env.step(action)
        agent.learn(observation, reward, observation_, done)
        observation = observation_
        score += reward
    score_history.append(score)
    if i % 5 == 4:
        print('episode', i, 'score %.2f' % score, 'average %.2f' % np.mean(score_history))
print('actor has moved:', any(not T.equal(p, w) for p, w in zip(agent.actor.parameters(), weights)))
