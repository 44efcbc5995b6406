# https://github.com/kevinzakka/recurrent-visual-attention/issues/20
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal

torch.manual_seed(0)


class Retina:
    def __init__(self, g):
        self.g = g

    def foveate(self, x, l):
        theta = torch.zeros(x.size(0), 2, 3)
        theta[:, 0, 0] = theta[:, 1, 1] = self.g / x.size(-1)
        theta[:, :, 2] = l
        grid = F.affine_grid(theta, (x.size(0), 1, self.g, self.g), align_corners=False)
        return F.grid_sample(x, grid, align_corners=False).flatten(1)


class GlimpseNetwork(nn.Module):
    def __init__(self, h_g, h_l, g):
        super().__init__()
        self.retina = Retina(g)
        self.fc1, self.fc2 = nn.Linear(g * g, h_g), nn.Linear(2, h_l)
        self.fc3, self.fc4 = nn.Linear(h_g, h_g + h_l), nn.Linear(h_l, h_g + h_l)

    def forward(self, x, l_t_prev):
        phi_out = F.relu(self.fc1(self.retina.foveate(x, l_t_prev)))
        l_out = F.relu(self.fc2(l_t_prev))
        return F.relu(self.fc3(phi_out) + self.fc4(l_out))


class CoreNetwork(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.i2h, self.h2h = nn.Linear(input_size, hidden_size), nn.Linear(hidden_size, hidden_size)

    def forward(self, g_t, h_t_prev):
        return F.relu(self.i2h(g_t) + self.h2h(h_t_prev))


class LocationNetwork(nn.Module):
    def __init__(self, input_size, std):
        super().__init__()
        self.std = std
        self.fc, self.fc_lt = nn.Linear(input_size, input_size // 2), nn.Linear(input_size // 2, 2)

    def forward(self, h_t):
        # compute mean
        feat = F.relu(self.fc(h_t.detach()))
        mu = torch.tanh(self.fc_lt(feat))
        # reparametrization trick
        l_t = torch.distributions.Normal(mu, self.std).rsample().detach()
        log_pi = Normal(mu, self.std).log_prob(l_t).sum(dim=1)
        return log_pi, torch.clamp(l_t, -1, 1)


class RecurrentAttention(nn.Module):
    def __init__(self, g=6, hidden=64, num_classes=4, std=0.2):
        super().__init__()
        self.sensor = GlimpseNetwork(24, 8, g)
        self.rnn = CoreNetwork(32, hidden)
        self.locator = LocationNetwork(hidden, std)
        self.classifier = nn.Linear(hidden, num_classes)
        self.baseliner = nn.Linear(hidden, 1)

    def forward(self, x, l_t_prev, h_t_prev):
        h_t = self.rnn(self.sensor(x, l_t_prev), h_t_prev)
        log_pi, l_t = self.locator(h_t)
        b_t = self.baseliner(h_t.detach()).squeeze(1)
        return h_t, l_t, b_t, log_pi


def batch(n):
    y = torch.randint(0, 4, (n,))
    x = 0.1 * torch.rand(n, 1, 12, 12)
    stripes = torch.stack([torch.eye(6), torch.eye(6).flip(1), torch.ones(6, 6), torch.zeros(6, 6)])
    x[:, 0, 3:9, 3:9] += stripes[y]
    return x, y


# %%
model = RecurrentAttention()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
hits = []

# %%
for step in range(150):
    x, y = batch(32)
    optimizer.zero_grad()
    h_t, l_t = torch.zeros(32, 64), torch.empty(32, 2).uniform_(-0.5, 0.5)
    log_pi, baselines = [], []
    for t in range(4):
        h_t, l_t, b_t, p = model(x, l_t, h_t)
        baselines.append(b_t)
        log_pi.append(p)
    log_probas = F.log_softmax(model.classifier(h_t), dim=1)
    baselines, log_pi = torch.stack(baselines).transpose(1, 0), torch.stack(log_pi).transpose(1, 0)
    R = (log_probas.detach().argmax(1) == y).float().unsqueeze(1).repeat(1, 4)
    loss_action = F.nll_loss(log_probas, y)
    loss_baseline = F.mse_loss(baselines, R)
    loss_reinforce = torch.mean(torch.sum(-log_pi * (R - baselines.detach()), dim=1), dim=0)
    loss = loss_action + loss_baseline + loss_reinforce * 0.01
    loss.backward()
    optimizer.step()
    hits.append(R[:, 0].mean().item())

# %%
accuracy = sum(hits[-20:]) / 20
print(accuracy)
assert accuracy > 0.7 and all(p.grad is not None for p in model.parameters())
