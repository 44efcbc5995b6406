# https://github.com/kevinzakka/recurrent-visual-attention/issues/37
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal

torch.manual_seed(0)


class LocationNetwork(nn.Module):
    def __init__(self, input_size, output_size, std):
        super().__init__()
        self.std = std
        hid_size = input_size // 2
        self.fc = nn.Linear(input_size, hid_size)
        self.fc_lt = nn.Linear(hid_size, output_size)

    def forward(self, h_t):
        # compute mean
        feat = F.relu(self.fc(h_t.detach()))
        mu = torch.tanh(self.fc_lt(feat))

        # reparametrization trick
        l_t = Normal(mu, self.std).rsample()
        l_t = l_t.detach()
        log_pi = Normal(mu, self.std).log_prob(l_t)

        # we assume both dimensions are independent
        log_pi = torch.sum(log_pi, dim=1)

        # bound between [-1, 1]
        l_t = torch.clamp(l_t, -1, 1)
        return log_pi, l_t


# %%
core = nn.Linear(64, 32)
locator = LocationNetwork(32, 2, 0.17)
classifier = nn.Linear(9, 3)
baseliner = nn.Linear(32, 1)
modules = nn.ModuleList([core, locator, classifier, baseliner])
optimizer = torch.optim.Adam(modules.parameters(), lr=3e-4)
x, y = torch.rand(16, 1, 8, 8), torch.randint(0, 3, (16,))

# %%
for _ in range(3):
    h_t = F.relu(core(x.flatten(1)))
    log_pi, l_t = locator(h_t)
    baselines = baseliner(h_t).squeeze(1)
    grid = l_t.view(-1, 1, 1, 2) + 0.3 * torch.stack(torch.meshgrid(*[torch.linspace(-1, 1, 3)] * 2, indexing="ij"), -1)
    log_probas = F.log_softmax(classifier(F.grid_sample(x, grid, align_corners=False).flatten(1)), dim=1)

    predicted = torch.max(log_probas, 1)[1]
    R = (predicted.detach() == y).float()

    loss_action = F.nll_loss(log_probas, y)
    loss_baseline = F.mse_loss(baselines, R)
    adjusted_reward = R - baselines.detach()
    loss_reinforce = torch.mean(-log_pi * adjusted_reward)

    loss = loss_action + loss_baseline + loss_reinforce * 0.01
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
