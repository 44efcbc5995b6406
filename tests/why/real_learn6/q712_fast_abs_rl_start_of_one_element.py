# https://github.com/ChenRocks/fast_abs_rl/issues/73
import torch
from torch import autograd, nn
from torch.nn import functional as F

torch.manual_seed(0)


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self._ext = nn.Linear(6, 4)
        self._critic = nn.Linear(6, 1)

    def forward(self, article):
        return torch.distributions.Categorical(logits=self._ext(article)), self._critic(article).squeeze()


def a2c_train_step(agent, opt, articles):
    opt.zero_grad()
    losses, baselines, rewards = [], [], torch.rand(len(articles))
    for article, reward in zip(articles, rewards):
        dist, baseline = agent(article)
        action = dist.sample()
        baselines.append(baseline)
        losses.append(-dist.log_prob(action) * (reward - baseline.item()) / len(articles))
    critic_loss = F.mse_loss(torch.stack(baselines), rewards)
    # backprop and update
    autograd.backward(
        [critic_loss] + losses,
        [torch.ones(1).to(critic_loss.device)] * (1 + len(losses)),
    )
    opt.step()


# %%
agent = ActorCritic()
opt = torch.optim.Adam(agent.parameters(), lr=1e-3)

# %%
a2c_train_step(agent, opt, [torch.randn(6) for _ in range(3)])
print(agent._critic.weight.grad.norm())
