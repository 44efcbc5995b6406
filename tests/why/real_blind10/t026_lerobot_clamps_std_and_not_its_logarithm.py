# https://github.com/huggingface/lerobot/issues/2108
import torch
import torch.nn as nn

torch.manual_seed(0)


class MLP(nn.Module):
    def __init__(self, input_dim, hidden_dims=(32, 32)):
        super().__init__()
        layers = []
        for h in hidden_dims:
            layers += [nn.Linear(input_dim, h), nn.LayerNorm(h), nn.SiLU()]
            input_dim = h
        self.net = nn.Sequential(*layers)

    def forward(self, x):
        return self.net(x)


class Policy(nn.Module):
    def __init__(self, obs_dim=6, action_dim=3, std_min=-5, std_max=2):
        super().__init__()
        self.network = MLP(obs_dim)
        self.mean_layer = nn.Linear(32, action_dim)
        self.std_layer = nn.Linear(32, action_dim)
        nn.init.uniform_(self.std_layer.weight, -0.05, 0.05)
        nn.init.constant_(self.std_layer.bias, 1.5)
        self.std_min, self.std_max = std_min, std_max

    def forward(self, observations):
        # Get network outputs
        outputs = self.network(observations)
        means = self.mean_layer(outputs)

        # Compute standard deviations
        log_std = self.std_layer(outputs)
        std = torch.exp(log_std)
        std = torch.clamp(std, self.std_min, self.std_max)  # Clamp for stability

        # Build transformed distribution
        dist = torch.distributions.Normal(means, std)
        x = dist.rsample()
        actions = torch.tanh(x)
        log_probs = (dist.log_prob(x) - torch.log(1 - actions.pow(2) + 1e-6)).sum(-1)
        return actions, log_probs, std


class CriticEnsemble(nn.Module):
    def __init__(self, obs_dim=6, action_dim=3, num_critics=2):
        super().__init__()
        self.critics = nn.ModuleList([nn.Sequential(MLP(obs_dim + action_dim), nn.Linear(32, 1))
                                      for _ in range(num_critics)])

    def forward(self, observations, actions):
        return torch.stack([c(torch.cat([observations, actions], -1)).squeeze(-1) for c in self.critics])


# %%
actor, critic_ensemble = Policy(), CriticEnsemble()
actor_optimizer = torch.optim.Adam(actor.parameters(), lr=3e-4)
temperature = 0.1

for step in range(5):
    observations = torch.randn(64, 6)
    actions_pi, log_probs, std = actor(observations)
    q_preds = critic_ensemble(observations, actions_pi)
    min_q_preds = q_preds.min(dim=0)[0]
    actor_loss = ((temperature * log_probs) - min_q_preds).mean()
    actor_optimizer.zero_grad()
    actor_loss.backward()
    actor_optimizer.step()
    print(step, actor_loss.item(), std.min().item(), std.max().item())
