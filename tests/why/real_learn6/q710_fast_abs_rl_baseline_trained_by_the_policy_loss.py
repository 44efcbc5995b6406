# https://github.com/ChenRocks/fast_abs_rl/issues/49
import torch
from torch import autograd, nn
from torch.nn import functional as F

torch.manual_seed(0)


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self._ext = nn.Linear(6, 4)
        self._critic = nn.Linear(6, 1)

    def forward(self, articles):
        dists = [torch.distributions.Categorical(logits=self._ext(a)) for a in articles]
        return dists, [self._critic(a).squeeze() for a in articles]


def a2c_train_step(agent, opt, articles):
    opt.zero_grad()
    probs, baseline = agent(articles)
    indices = [p.sample() for p in probs]
    reward = torch.rand(len(indices))
    reward = (reward - reward.mean()) / (reward.std() + 1e-6)
    baseline = torch.stack(baseline)
    avg_advantage = 0
    losses = []
    for action, p, r, b in zip(indices, probs, reward, baseline):
        advantage = r - b
        avg_advantage += advantage
        losses.append(-p.log_prob(action) * (advantage / len(indices)))
    critic_loss = F.mse_loss(baseline, reward)
    autograd.backward([critic_loss] + losses, [torch.tensor(1.0)] * (1 + len(losses)), retain_graph=True)
    grad_norm = nn.utils.clip_grad_norm_(agent.parameters(), 2.0)
    opt.step()
    return losses, critic_loss, grad_norm


# %%
agent = ActorCritic()
opt = torch.optim.Adam(agent.parameters(), lr=1e-3)

# %%
articles = [torch.randn(6) for _ in range(5)]
losses, critic_loss, grad_norm = a2c_train_step(agent, opt, articles)
print(critic_loss.item(), grad_norm.item())
