# https://github.com/p-christ/Deep-Reinforcement-Learning-Algorithms-with-PyTorch/issues/82
import random
from collections import deque
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.manual_seed(0)
random.seed(0)


class Corridor:
    """Seven places; the right end pays one, the left end a tenth."""
    def reset(self):
        self.place = 2
        return self.state()

    def state(self):
        return F.one_hot(torch.tensor(self.place), 7).float()

    def step(self, action):
        self.place += 1 if action == 1 else -1
        done = self.place in (0, 6)
        reward = {0: 0.1, 6: 1.0}.get(self.place, 0.0)
        return self.state(), reward, done


class Base_Agent(object):
    def take_optimisation_step(self, optimizer, network, loss, clipping_norm=None, retain_graph=False):
        optimizer.zero_grad()
        loss.backward(retain_graph=retain_graph)
        if clipping_norm is not None:
            torch.nn.utils.clip_grad_norm_(network.parameters(), clipping_norm)
        optimizer.step()

    def soft_update_of_target_network(self, local_model, target_model, tau):
        for target_param, local_param in zip(target_model.parameters(), local_model.parameters()):
            target_param.data.copy_(tau * local_param.data + (1.0 - tau) * target_param.data)

    @staticmethod
    def copy_model_over(from_model, to_model):
        for to_model, from_model in zip(to_model.parameters(), from_model.parameters()):
            to_model.data.copy_(from_model.data.clone())


class DQN(Base_Agent):
    def __init__(self, hyperparameters):
        self.hyperparameters = hyperparameters
        self.memory = deque(maxlen=2000)
        self.q_network_local = self.create_NN(7, 2)
        self.q_network_optimizer = optim.Adam(self.q_network_local.parameters(), lr=hyperparameters["learning_rate"])

    def create_NN(self, input_dim, output_dim):
        return nn.Sequential(nn.Linear(input_dim, 24), nn.ReLU(), nn.Linear(24, output_dim))

    def pick_action(self, state):
        with torch.no_grad():
            action_values = self.q_network_local(state.unsqueeze(0))
        return random.randint(0, 1) if random.random() < 0.4 else action_values.argmax().item()

    def learn(self):
        states, actions, rewards, next_states, dones = (torch.stack(k) for k in zip(*random.sample(self.memory, 32)))
        loss = self.compute_loss(states, next_states, rewards, actions, dones)
        self.take_optimisation_step(self.q_network_optimizer, self.q_network_local, loss, self.hyperparameters["gradient_clipping_norm"])
        return loss.item()

    def compute_loss(self, states, next_states, rewards, actions, dones):
        with torch.no_grad():
            Q_targets_next = self.compute_q_values_for_next_states(next_states)
            Q_targets = rewards + (self.hyperparameters["discount_rate"] * Q_targets_next * (1 - dones))
        Q_expected = self.q_network_local(states).gather(1, actions.long())
        return F.mse_loss(Q_expected, Q_targets)


class DQN_With_Fixed_Q_Targets(DQN):
    def __init__(self, hyperparameters):
        DQN.__init__(self, hyperparameters)
        self.q_network_target = self.create_NN(7, 2)
        Base_Agent.copy_model_over(from_model=self.q_network_local, to_model=self.q_network_target)

    def learn(self):
        loss = super(DQN_With_Fixed_Q_Targets, self).learn()
        self.soft_update_of_target_network(self.q_network_local, self.q_network_target, self.hyperparameters["tau"])
        return loss

    def compute_q_values_for_next_states(self, next_states):
        return self.q_network_target(next_states).detach().max(1)[0].unsqueeze(1)


# %%
agent = DQN_With_Fixed_Q_Targets({"learning_rate": 5e-3, "discount_rate": 0.9, "tau": 0.05, "gradient_clipping_norm": 5})
env, losses = Corridor(), []
target_before = [p.detach().clone() for p in agent.q_network_target.parameters()]
for episode in range(80):
    state, done = env.reset(), False
    while not done:
        action = agent.pick_action(state)
        next_state, reward, done = env.step(action)
        agent.memory.append((state, torch.tensor([action]), torch.tensor([reward]), next_state, torch.tensor([float(done)])))
        if len(agent.memory) >= 64:
            losses.append(agent.learn())
        state = next_state

# %%
with torch.no_grad():
    greedy = agent.q_network_local(torch.eye(7)[1:6]).argmax(1)
    gap = (agent.q_network_local(torch.eye(7)[1:6]) - agent.q_network_target(torch.eye(7)[1:6])).abs().max().item()
target_moved = all(not torch.equal(a, b) for a, b in zip(target_before, agent.q_network_target.parameters()))
print(len(losses), losses[-1], greedy.tolist(), gap, target_moved)
assert greedy.tolist() == [1] * 5 and target_moved and gap < 0.2
assert all(p.grad is None for p in agent.q_network_target.parameters())
