# https://github.com/anubhavashok/N2N/issues/12
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim

torch.manual_seed(0)


class Layer(nn.Module):
    """Which layers of the teacher are kept: one action for each."""
    def __init__(self, numLayers, hiddenSize=16):
        super().__init__()
        self.lstm = nn.LSTMCell(4, hiddenSize)
        self.hiddenToLogits = nn.Linear(hiddenSize, 2)
        self.numLayers, self.hiddenSize = numLayers, hiddenSize

    def forward(self, states):
        hx, cx = torch.zeros(2, 1, self.hiddenSize)
        actions, log_probs = [], []
        for i in range(self.numLayers):
            hx, cx = self.lstm(states[i:i + 1], (hx, cx))
            probs = F.softmax(self.hiddenToLogits(hx), dim=1)
            m = torch.distributions.Categorical(probs)
            action = m.sample()
            actions.append(action)
            log_probs.append(m.log_prob(action))
        return actions, log_probs, probs


# %%
states = torch.randn(6, 4)
controller = Layer(6)
opt = optim.Adam(controller.parameters(), lr=0.003)
b = 0.0
for epoch in range(4):
    actions, log_probs, probs = controller(states)
    # reward: few layers kept
    avgR = 1.0 - sum(a.item() for a in actions) / len(actions)

    advantage = avgR - b
    if isinstance(actions, list):
        for action in actions:
            m=torch.distributions.Categorical(probs)
            actionloss=-m.log_prob(action)*(avgR-b)
    else:
        m = torch.distributions.Categorical(probs)
        actionloss = -m.log_prob(actions) * (avgR - b)
    actionloss = actionloss.mean()

    opt.zero_grad()
    actionloss.backward()
    opt.step()
    b = 0.9 * b + 0.1 * avgR
    print(epoch, avgR, actionloss.item())
