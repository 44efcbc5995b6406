# https://github.com/starry-sky6688/MADDPG/issues/25
import copy
from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Actor(nn.Module):
    def __init__(self, args, agent_id):
        super(Actor, self).__init__()
        self.max_action = args.high_action
        self.fc1 = nn.Linear(args.obs_shape[agent_id], 32)
        self.fc2 = nn.Linear(32, 32)
        self.action_out = nn.Linear(32, args.action_shape[agent_id])

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.max_action * torch.tanh(self.action_out(x))


class Critic(nn.Module):
    def __init__(self, args):
        super(Critic, self).__init__()
        self.max_action = args.high_action
        self.fc1 = nn.Linear(sum(args.obs_shape) + sum(args.action_shape), 32)
        self.fc2 = nn.Linear(32, 32)
        self.q_out = nn.Linear(32, 1)

    def forward(self, state, action):
        state = torch.cat(state, dim=1)
        for i in range(len(action)):
            action[i] /= self.max_action
        action = torch.cat(action, dim=1)
        x = torch.cat([state, action], dim=1)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.q_out(x)


class MADDPG:
    def __init__(self, args, agent_id):
        self.args = args
        self.agent_id = agent_id
        self.actor_network = Actor(args, agent_id)
        self.critic_network = Critic(args)
        self.actor_target_network = copy.deepcopy(self.actor_network)
        self.critic_target_network = copy.deepcopy(self.critic_network)
        self.actor_optim = torch.optim.Adam(self.actor_network.parameters(), lr=args.lr_actor)
        self.critic_optim = torch.optim.Adam(self.critic_network.parameters(), lr=args.lr_critic)

    def _soft_update_target_network(self):
        for target_param, param in zip(self.actor_target_network.parameters(), self.actor_network.parameters()):
            target_param.data.copy_((1 - self.args.tau) * target_param.data + self.args.tau * param.data)
        for target_param, param in zip(self.critic_target_network.parameters(), self.critic_network.parameters()):
            target_param.data.copy_((1 - self.args.tau) * target_param.data + self.args.tau * param.data)

    def train(self, transitions, other_agents):
        r = transitions['r_%d' % self.agent_id]  # 训练时只需要自己的reward
        o, u, o_next = [], [], []
        for agent_id in range(self.args.n_agents):
            o.append(transitions['o_%d' % agent_id])
            u.append(transitions['u_%d' % agent_id].clone())
            o_next.append(transitions['o_next_%d' % agent_id])

        u_next = []
        with torch.no_grad():
            index = 0
            for agent_id in range(self.args.n_agents):
                if agent_id == self.agent_id:
                    u_next.append(self.actor_target_network(o_next[agent_id]))
                else:
                    u_next.append(other_agents[index].actor_target_network(o_next[agent_id]))
                    index += 1
            q_next = self.critic_target_network(o_next, u_next).detach()
            target_q = (r.unsqueeze(1) + self.args.gamma * q_next).detach()

        q_value = self.critic_network(o, u)
        critic_loss = (target_q - q_value).pow(2).mean()

        u[self.agent_id] = self.actor_network(o[self.agent_id])
        actor_loss = - self.critic_network(o, u).mean()
        self.actor_optim.zero_grad()
        actor_loss.backward()
        self.actor_optim.step()
        self.critic_optim.zero_grad()
        critic_loss.backward()
        self.critic_optim.step()
        self._soft_update_target_network()
        return critic_loss.item()


# %%
args = SimpleNamespace(n_agents=2, obs_shape=[2, 2], action_shape=[1, 1], high_action=1, lr_actor=2e-3, lr_critic=5e-3, tau=0.01, gamma=0.5)
agents = [MADDPG(args, i) for i in range(2)]
memory = {'o_%d' % i: torch.rand(500, 2) * 2 - 1 for i in range(2)}
memory |= {'u_%d' % i: torch.rand(500, 1) * 2 - 1 for i in range(2)}
memory |= {'o_next_%d' % i: torch.rand(500, 2) * 2 - 1 for i in range(2)}
for i in range(2):
    memory['r_%d' % i] = -sum((memory['u_%d' % j] - memory['o_%d' % j][:, :1]).pow(2).squeeze(1) for j in range(2))


def miss():
    with torch.no_grad():
        return sum((a.actor_network(memory['o_%d' % i]) - memory['o_%d' % i][:, :1]).pow(2).mean().item() for i, a in enumerate(agents))


# %%
start = miss()
for step in range(200):
    index = torch.randint(0, 500, (64,))
    transitions = {key: value[index] for key, value in memory.items()}
    losses = [agent.train(transitions, [other for other in agents if other is not agent]) for agent in agents]
end = miss()
print(start, end, losses)
