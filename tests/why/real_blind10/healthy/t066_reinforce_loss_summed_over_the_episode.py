# https://github.com/chingyaoc/pytorch-REINFORCE/issues/2
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
import torch.nn.utils as utils

torch.manual_seed(0)


class Policy(nn.Module):
    def __init__(self, hidden_size, num_inputs, num_outputs):
        super(Policy, self).__init__()
        self.linear1 = nn.Linear(num_inputs, hidden_size)
        self.linear2 = nn.Linear(hidden_size, num_outputs)

    def forward(self, inputs):
        x = F.relu(self.linear1(inputs))
        action_scores = self.linear2(x)
        return F.softmax(action_scores, dim=1)


class REINFORCE:
    def __init__(self, hidden_size, num_inputs, num_outputs):
        self.model = Policy(hidden_size, num_inputs, num_outputs)
        self.optimizer = optim.Adam(self.model.parameters(), lr=1e-2)
        self.model.train()

    def select_action(self, state):
        probs = self.model(state)
        action = probs.multinomial(num_samples=1).data
        prob = probs[:, action[0,0]].view(1, -1)
        log_prob = prob.log()
        entropy = - (probs*probs.log()).sum()
        return action[0], log_prob, entropy

    def update_parameters(self, rewards, log_probs, entropies, gamma):
        R = torch.zeros(1, 1)
        loss = 0
        for i in reversed(range(len(rewards))):
            R = gamma * R + rewards[i]
            loss = loss - (log_probs[i]*(R.expand_as(log_probs[i]))).sum() - (0.0001*entropies[i]).sum()
        loss = loss / len(rewards)

        self.optimizer.zero_grad()
        loss.backward()
        utils.clip_grad_norm_(self.model.parameters(), 40)
        self.optimizer.step()
        return loss


# %%
agent = REINFORCE(16, 4, 2)
for i_episode in range(5):
    state = torch.randn(1, 4)
    entropies, log_probs, rewards = [], [], []
    for t in range(12):
        action, log_prob, entropy = agent.select_action(state)
        reward = 1.0 if (state[0, 0] > 0) == bool(action.item()) else -1.0
        state = torch.randn(1, 4)
        entropies.append(entropy)
        log_probs.append(log_prob)
        rewards.append(reward)
    loss = agent.update_parameters(rewards, log_probs, entropies, 0.9)
    print("Episode: {}, reward: {}".format(i_episode, sum(rewards)))
