# https://github.com/clvrai/spirl/pull/3
import torch
import torch.nn as nn

torch.manual_seed(0)


class RecurrentPredictor(nn.Module):
    def __init__(self, z_dim, hidden, action_dim):
        super().__init__()
        self.cell = nn.LSTMCell(z_dim, hidden)
        self.out = nn.Linear(hidden, action_dim)

    def forward(self, z, init_state, steps):
        h, c = init_state.chunk(2, dim=1)
        actions = []
        for _ in range(steps):
            h, c = self.cell(z, (h, c))
            actions.append(self.out(h))
        return torch.stack(actions, dim=1)


class SkillPriorMdl(nn.Module):
    def __init__(self, action_dim=3, nz_vae=4, nz_mid=16, n_rollout_steps=6):
        super().__init__()
        self.n_rollout_steps = n_rollout_steps
        self.q = nn.Sequential(nn.Linear(action_dim * n_rollout_steps, 32), nn.ReLU(), nn.Linear(32, nz_vae * 2))
        self.decoder = RecurrentPredictor(nz_vae, nz_mid, action_dim)
        self.decoder_hidden_initalizer = self._build_decoder_initializer(size=nz_mid * 2)

    def _build_decoder_initializer(self, size):
        class FixedTrainableInitializer(nn.Module):
            def __init__(self):
                super().__init__()
                self.val = torch.zeros((1, size), requires_grad=True, device='cpu')

            def forward(self, state):
                return self.val.repeat(state.shape[0], 1)
        return FixedTrainableInitializer()

    def forward(self, actions):
        mu, log_sigma = self.q(actions.flatten(1)).chunk(2, dim=1)
        z = mu + log_sigma.exp() * torch.randn_like(mu)
        init = self.decoder_hidden_initalizer(actions)
        return self.decoder(z, init, self.n_rollout_steps), mu, log_sigma


# %%
model = SkillPriorMdl()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
actions = torch.cumsum(torch.randn(32, 6, 3), dim=1)

# %%
for step in range(10):
    recon, mu, log_sigma = model(actions)
    kl = 0.5 * (mu ** 2 + (2 * log_sigma).exp() - 2 * log_sigma - 1).sum(1).mean()
    loss = ((recon - actions) ** 2).mean() + 1e-2 * kl
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
print(model.decoder_hidden_initalizer.val)
