# https://github.com/AnujMahajanOxf/MAVEN/issues/3
import copy
from types import SimpleNamespace as SN

import torch
import torch as th
import torch.nn as nn
import torch.nn.functional as F
from torch.optim import RMSprop

torch.manual_seed(0)


class NoiseRNNAgent(nn.Module):
    def __init__(self, input_shape, args):
        super(NoiseRNNAgent, self).__init__()
        self.args = args
        self.fc1 = nn.Linear(input_shape, args.rnn_hidden_dim)
        self.rnn = nn.GRUCell(args.rnn_hidden_dim, args.rnn_hidden_dim)
        self.noise_fc1 = nn.Linear(args.noise_dim + args.n_agents, args.rnn_hidden_dim * args.n_actions)

    def forward(self, inputs, hidden_state, noise):
        agent_ids = th.eye(self.args.n_agents).repeat(noise.shape[0], 1)
        noise = noise.repeat_interleave(self.args.n_agents, 0)
        x = F.relu(self.fc1(inputs))
        h = self.rnn(x, hidden_state)
        wz = self.noise_fc1(th.cat([noise, agent_ids], dim=-1))
        wq = th.bmm(h.unsqueeze(1), wz.view(-1, self.args.rnn_hidden_dim, self.args.n_actions))
        return wq.squeeze(1), h


class Discrim(nn.Module):
    def __init__(self, input_size, output_size, args):
        super().__init__()
        self.model = nn.Sequential(nn.Linear(input_size, 32), nn.ReLU(), nn.Linear(32, output_size))

    def forward(self, x):
        return self.model(x)


class NoiseQLearner:
    def __init__(self, agent, args):
        self.args, self.agent, self.target_agent = args, agent, copy.deepcopy(agent)
        self.discrim = Discrim(args.n_agents * args.n_actions, args.noise_dim, args)
        self.params = list(agent.parameters()) + list(self.discrim.parameters())
        self.optimiser = RMSprop(params=self.params, lr=args.lr, alpha=0.99, eps=1e-5)

    def unroll(self, agent, batch):
        bs, T = batch["obs"].shape[:2]
        h, out = th.zeros(bs * self.args.n_agents, self.args.rnn_hidden_dim), []
        for t in range(T):
            q, h = agent(batch["obs"][:, t].flatten(0, 1), h, batch["noise"])
            out.append(q.view(bs, self.args.n_agents, -1))
        return th.stack(out, dim=1)  # Concat over time

    def train(self, batch):
        # Get the relevant quantities
        rewards = batch["reward"][:, :-1]
        actions = batch["actions"][:, :-1]
        terminated = batch["terminated"][:, :-1].float()
        mask = batch["filled"][:, :-1].float()
        avail_actions = batch["avail_actions"]

        # Calculate estimated Q-Values
        mac_out = self.unroll(self.agent, batch)

        # Pick the Q-Values for the actions taken by each agent
        chosen_action_qvals = th.gather(mac_out[:, :-1], dim=3, index=actions).squeeze(3)  # Remove the last dim

        # Calculate the Q-Values necessary for the target
        target_mac_out = self.unroll(self.target_agent, batch)[:, 1:]

        # Mask out unavailable actions
        target_mac_out[avail_actions[:, 1:] == 0] = -9999999

        # Max over target Q-Values
        if self.args.double_q:
            # Get actions that maximise live Q (for double q-learning)
            mac_out[avail_actions == 0] = -9999999
            cur_max_actions = mac_out[:, 1:].max(dim=3, keepdim=True)[1]
            target_max_qvals = th.gather(target_mac_out, 3, cur_max_actions).squeeze(3)
        else:
            target_max_qvals = target_mac_out.max(dim=3)[0]

        # Mix
        chosen = chosen_action_qvals.sum(dim=2, keepdim=True)
        target_max = target_max_qvals.sum(dim=2, keepdim=True)

        # Discriminator
        q_softmax_actions = F.softmax(mac_out[:, :-1], dim=3)
        discrim_prediction = self.discrim(q_softmax_actions.flatten(2)).flatten(0, 1)
        noise_target = batch["noise"].argmax(1).repeat_interleave(q_softmax_actions.shape[1])
        discrim_loss = F.cross_entropy(discrim_prediction, noise_target)

        # Calculate 1-step Q-Learning targets
        targets = rewards + self.args.gamma * (1 - terminated) * target_max
        td_error = (chosen - targets.detach())
        loss = ((td_error * mask) ** 2).sum() / mask.sum() + self.args.discrim_loss * discrim_loss

        # Optimise
        self.optimiser.zero_grad()
        loss.backward()
        th.nn.utils.clip_grad_norm_(self.params, self.args.grad_norm_clip)
        self.optimiser.step()
        return loss.item()


# %%
args = SN(n_agents=3, n_actions=5, rnn_hidden_dim=16, noise_dim=2, lr=5e-4, gamma=0.99, double_q=True, discrim_loss=0.1,
          grad_norm_clip=10)
agent = NoiseRNNAgent(8, args)
learner = NoiseQLearner(agent, args)
avail = (th.rand(4, 7, 3, 5) > 0.3).long()
avail[..., 0] = 1
batch = {"obs": th.randn(4, 7, 3, 8), "noise": th.eye(2)[th.randint(0, 2, (4,))], "avail_actions": avail,
         "actions": th.zeros(4, 7, 3, 1).long(), "reward": th.randn(4, 7, 1), "filled": th.ones(4, 7, 1).long(),
         "terminated": th.zeros(4, 7, 1).long()}

# %%
for t_env in range(3):
    print(t_env, learner.train(batch))
