# https://github.com/jsikyoon/dreamer-torch/issues/9
import torch
from torch import nn
from torch import distributions as torchd

torch.manual_seed(0)


class RequiresGrad:
    def __init__(self, model):
        self._model = model

    def __enter__(self):
        self._model.requires_grad_(requires_grad=True)

    def __exit__(self, *args):
        self._model.requires_grad_(requires_grad=False)


class WorldModel(nn.Module):
    def __init__(self, feat=6, act=2):
        super().__init__()
        self.cell = nn.Sequential(nn.Linear(feat + act, 32), nn.Tanh(), nn.Linear(32, feat))
        self.reward = nn.Linear(feat, 1)

    def img_step(self, state, action):
        return 0.9 * state + 0.5 * self.cell(torch.cat([state, action], -1))


class ImagBehavior(nn.Module):
    def __init__(self, world_model, stop_grad_actor=True, horizon=8):
        super().__init__()
        self._world_model = world_model
        self._stop_grad_actor = stop_grad_actor
        self._horizon = horizon
        self.actor = nn.Sequential(nn.Linear(6, 32), nn.ELU(), nn.Linear(32, 4))
        self.value = nn.Sequential(nn.Linear(6, 32), nn.ELU(), nn.Linear(32, 1))
        self._actor_opt = torch.optim.Adam(self.actor.parameters(), lr=1e-2)
        self._value_opt = torch.optim.Adam(self.value.parameters(), lr=1e-2)

    def _imagine(self, start):
        state, feats = start, []
        for _ in range(self._horizon):
            inp = state.detach() if self._stop_grad_actor else state
            mean, std = self.actor(inp).chunk(2, -1)
            dist = torchd.Normal(torch.tanh(mean), torch.sigmoid(std) + 0.1)
            state = self._world_model.img_step(state, dist.rsample())
            feats.append(state)
        return torch.stack(feats)

    def _lambda_return(self, reward, value, discount=0.95, lambda_=0.9):
        last, target = value[-1], []
        for t in reversed(range(len(reward) - 1)):
            last = reward[t] + discount * ((1 - lambda_) * value[t + 1] + lambda_ * last)
            target.append(last)
        return torch.stack(target[::-1])

    def train_on(self, start):
        with RequiresGrad(self.actor):
            feat = self._imagine(start)
            reward = self._world_model.reward(feat)
            target = self._lambda_return(reward, self.value(feat))
            actor_loss = -target.mean()
            self._actor_opt.zero_grad()
            actor_loss.backward()
            nn.utils.clip_grad_norm_(self.actor.parameters(), 100.)
            self._actor_opt.step()
        with RequiresGrad(self.value):
            value = self.value(feat[:-1].detach())
            value_loss = 0.5 * ((value - target.detach()) ** 2).mean()
            self._value_opt.zero_grad()
            value_loss.backward()
            self._value_opt.step()
        return reward.mean().item(), value_loss.item()


# %%
world_model = WorldModel()
world_model.requires_grad_(False)  # learnt elsewhere
behavior = ImagBehavior(world_model)
behavior.requires_grad_(False)

# %%
history = [behavior.train_on(torch.randn(64, 6)) for _ in range(150)]
rewards = [reward for reward, _ in history]
print(rewards[0], rewards[-1])
assert sum(rewards[-10:]) > sum(rewards[:10])
assert behavior.actor[0].weight.grad.abs().sum() > 0
assert world_model.cell[0].weight.grad is None
