# https://discuss.pytorch.org/t/policy-gradient-using-loss-as-reward/13877
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.manual_seed(0)


class Policy(nn.Module):
    def __init__(self, hidden_size, num_inputs, action_space):
        super(Policy, self).__init__()
        self.linear1 = nn.Linear(num_inputs, hidden_size)
        self.linear2 = nn.Linear(hidden_size, action_space)

    def forward(self, inputs):
        x = F.relu(self.linear1(inputs))
        action_scores = self.linear2(x)
        return F.softmax(action_scores, dim=1)


class REINFORCE:
    def __init__(self, hidden_size, num_inputs, action_space, gamma=0.99):
        self.model = Policy(hidden_size, num_inputs, action_space)
        self.optimizer = optim.Adam(self.model.parameters(), lr=1e-2)
        self.gamma = gamma
        self.rewards, self.log_probs, self.entropies = [], [], []

    def select_action(self, state):
        probs = self.model(state)
        action = probs.multinomial(1).data
        log_prob = probs[:, action[0, 0]].view(1, -1).log()
        entropy = -(probs * probs.log()).sum()
        return action[0], log_prob, entropy

    def update_parameters(self):
        R = torch.zeros(1, 1)
        loss = 0
        for i in reversed(range(len(self.rewards))):
            R = self.gamma * R + self.rewards[i]
            loss = loss - (self.log_probs[i] * R.expand_as(self.log_probs[i])).sum() - 0.0001 * self.entropies[i].sum()
        loss = loss / len(self.rewards)

        loss.backward()
        self.optimizer.step()
        self.rewards, self.log_probs, self.entropies = [], [], []
        return loss


# %%
agent = REINFORCE(hidden_size=32, num_inputs=1, action_space=10)
for episode in range(30):
    number = torch.randint(0, 10, (1, 1))
    action, log_prob, entropy = agent.select_action(number.float() / 9)
    agent.rewards.append(-float((number - action).abs()))
    agent.log_probs.append(log_prob)
    agent.entropies.append(entropy)
    before = [p.grad.clone() if p.grad is not None else torch.zeros_like(p) for p in agent.model.parameters()]
    wanted = torch.autograd.grad(-(log_prob * agent.rewards[-1]).sum() - 0.0001 * entropy,
                                 list(agent.model.parameters()), retain_graph=True)
    loss = agent.update_parameters()
