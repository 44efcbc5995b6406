# https://github.com/philtabor/Multi-Agent-Deep-Deterministic-Policy-Gradients/issues/2
import torch as T
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

T.manual_seed(0)


class CriticNetwork(nn.Module):
    def __init__(self, beta, input_dims, fc1_dims):
        super(CriticNetwork, self).__init__()
        self.fc1 = nn.Linear(input_dims, fc1_dims)
        self.q = nn.Linear(fc1_dims, 1)
        self.optimizer = optim.Adam(self.parameters(), lr=beta)

    def forward(self, state, action):
        x = F.relu(self.fc1(T.cat([state, action], dim=1)))
        return self.q(x)


class ActorNetwork(nn.Module):
    def __init__(self, alpha, input_dims, fc1_dims, n_actions):
        super(ActorNetwork, self).__init__()
        self.fc1 = nn.Linear(input_dims, fc1_dims)
        self.pi = nn.Linear(fc1_dims, n_actions)
        self.optimizer = optim.Adam(self.parameters(), lr=alpha)

    def forward(self, state):
        return T.softmax(self.pi(F.relu(self.fc1(state))), dim=1)


class Agent:
    def __init__(self, n_agents=3, obs=4, n_actions=2):
        self.gamma = 0.95
        self.actor = ActorNetwork(0.01, obs, 16, n_actions)
        self.critic = CriticNetwork(0.01, n_agents * (obs + n_actions), 16)
        self.target_actor = ActorNetwork(0.01, obs, 16, n_actions)
        self.target_critic = CriticNetwork(0.01, n_agents * (obs + n_actions), 16)


class MADDPG:
    def __init__(self, n_agents=3):
        self.agents = [Agent(n_agents) for _ in range(n_agents)]

    def learn(self, memory):
        actor_states, states, actions, rewards, actor_new_states, states_ = memory

        all_agents_new_actions = []
        all_agents_new_mu_actions = []
        old_agents_actions = []

        for agent_idx, agent in enumerate(self.agents):
            new_pi = agent.target_actor.forward(actor_new_states[agent_idx])
            all_agents_new_actions.append(new_pi)
            pi = agent.actor.forward(actor_states[agent_idx])
            all_agents_new_mu_actions.append(pi)
            old_agents_actions.append(actions[agent_idx])

        new_actions = T.cat([acts for acts in all_agents_new_actions], dim=1)
        mu = T.cat([acts for acts in all_agents_new_mu_actions], dim=1)
        old_actions = T.cat([acts for acts in old_agents_actions], dim=1)

        for agent_idx, agent in enumerate(self.agents):
            critic_value_ = agent.target_critic.forward(states_, new_actions).flatten()
            critic_value = agent.critic.forward(states, old_actions).flatten()

            target = rewards[:, agent_idx] + agent.gamma*critic_value_
            critic_loss = F.mse_loss(target, critic_value)
            agent.critic.optimizer.zero_grad()
            critic_loss.backward(retain_graph=True)
            agent.critic.optimizer.step()

            actor_loss = agent.critic.forward(states, mu).flatten()
            actor_loss = -T.mean(actor_loss)
            agent.actor.optimizer.zero_grad()
            actor_loss.backward(retain_graph=True)
            agent.actor.optimizer.step()


# %%
maddpg_agent = MADDPG()
actor_states, actor_new_states = T.randn(2, 3, 64, 4)
memory = (actor_states, T.cat(list(actor_states), 1), T.softmax(T.randn(3, 64, 2), 2), T.randn(64, 3),
          actor_new_states, T.cat(list(actor_new_states), 1))

# %%
maddpg_agent.learn(memory)
