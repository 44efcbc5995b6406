# https://github.com/google-deepmind/open_spiel/issues/827
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(7)


class MLPTorso(nn.Module):
    def __init__(self, input_size, hidden_sizes):
        super(MLPTorso, self).__init__()
        self.layers = nn.ModuleList()
        for size in hidden_sizes:
            self.layers.append(nn.Linear(input_size, size))
            input_size = size

    def forward(self, x):
        for layer in self.layers:
            x = F.relu(layer(x))
        return x


class PolicyGradient:
    def __init__(self, info_state_size=8, num_actions=3, hidden_layers_sizes=(16,), pi_learning_rate=0.01,
                 critic_learning_rate=0.01, entropy_cost=0.01, max_global_gradient_norm=0.1):
        self._max_global_gradient_norm = max_global_gradient_norm
        self._entropy_cost = entropy_cost
        self._net_torso = MLPTorso(info_state_size, hidden_layers_sizes)
        self._policy_logits_layer = nn.Linear(hidden_layers_sizes[-1], num_actions)
        self._pi_network = nn.Sequential(self._net_torso, self._policy_logits_layer)
        self._baseline_layer = nn.Linear(hidden_layers_sizes[-1], 1)
        self._baseline_optimizer = torch.optim.SGD(self._baseline_layer.parameters(), lr=critic_learning_rate)
        self._pi_optimizer = torch.optim.SGD(self._pi_network.parameters(), lr=pi_learning_rate)
        self.last_norm = None

    def minimize_with_clipping(self, model, optimizer, loss):
        optimizer.zero_grad()
        loss.backward()
        if self._max_global_gradient_norm is not None:
            nn.utils.clip_grad_norm_(model.parameters(), self._max_global_gradient_norm)
        optimizer.step()

    def _critic_update(self, info_state, returns):
        baseline = self._baseline_layer(self._net_torso(info_state).detach()).squeeze(1)
        critic_loss = torch.mean(F.mse_loss(baseline, returns))
        self.minimize_with_clipping(self._baseline_layer, self._baseline_optimizer, critic_loss)
        return critic_loss.item()

    def _pi_update(self, info_state, action, returns):
        torso_out = self._net_torso(info_state)
        logits = self._policy_logits_layer(torso_out)
        baseline = self._baseline_layer(torso_out).detach().squeeze(1)
        advantages = returns - baseline
        log_pi = F.log_softmax(logits, 1)
        pi_loss = (-log_pi.gather(1, action[:, None]).squeeze(1) * advantages).mean()
        pi_loss = pi_loss + self._entropy_cost * (log_pi.exp() * log_pi).sum(1).mean()
        self.minimize_with_clipping(self._baseline_layer, self._pi_optimizer, pi_loss)
        self.last_norm = torch.stack([p.grad.norm() for p in self._pi_network.parameters()]).norm()
        return pi_loss.item()


# %%
agent = PolicyGradient()
info_state, action = torch.randn(32, 8), torch.randint(3, (32,))
returns = 20 * torch.randn(32)

for update in range(3):
    critic_loss = agent._critic_update(info_state, returns)
    pi_loss = agent._pi_update(info_state, action, returns)
    print(update, critic_loss, pi_loss, agent.last_norm.item())
