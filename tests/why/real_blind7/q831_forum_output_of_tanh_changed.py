# https://discuss.pytorch.org/t/runtimeerror-one-of-the-variables-needed-for-gradient-computation-has-been-modified-by-an-inplace-operation-torch-floattensor-3-1-which-is-output-0-of-tanhbackward-is-at-version-1-expected-version-0-instead/87630
import torch
import torch.nn as nn

torch.manual_seed(0)


class Actor(nn.Module):
    def __init__(self, state_dim, action_dim, max_action):
        super(Actor, self).__init__()
        self.layer1 = nn.Linear(state_dim, 64)
        self.layer2 = nn.Linear(64, action_dim)
        self.max_action = max_action

    def forward(self, obs):
        x = torch.relu(self.layer1(obs))
        action = torch.tanh(self.layer2(x))
        action *= self.max_action
        return action


actor = Actor(3, 1, 2.0)
critic = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 1))
actor_optimizer = torch.optim.Adam(actor.parameters(), lr=1e-3)

# %%
state = torch.randn(3, 3)
actor_loss = -critic(torch.cat([state, actor(state)], 1)).mean()
actor_optimizer.zero_grad()
actor_loss.backward()
actor_optimizer.step()
