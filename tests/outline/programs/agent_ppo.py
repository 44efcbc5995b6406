import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(0)


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.actor, self.critic = nn.Linear(64, 2), nn.Linear(64, 1)

    def get(self, o, a=None):
        h = self.body(o)
        d = Categorical(logits=self.actor(h))
        a = d.sample() if a is None else a
        return a, d.log_prob(a), d.entropy(), self.critic(h).squeeze(-1)


agent = Agent()
opt = torch.optim.Adam(agent.parameters(), 2.5e-4)
# %% the recorded cell
obs, acts, logps, vals, rews = [], [], [], [], []
o = torch.randn(4)
for _ in range(20):
    with torch.no_grad():
        a, lp, _, v = agent.get(o)
    obs.append(o)
    acts.append(a)
    logps.append(lp)
    vals.append(v)
    rews.append(torch.rand(()))
    o = torch.randn(4) + 0.1 * a
obs, acts, logps, vals, rews = map(torch.stack, (obs, acts, logps, vals, rews))
adv, last = torch.zeros_like(rews), 0
for t in reversed(range(20)):
    nv = vals[t + 1] if t < 19 else 0.0
    delta = rews[t] + 0.99 * nv - vals[t]
    adv[t] = last = delta + 0.99 * 0.95 * last
ret = adv + vals
for _epoch in range(4):
    for mb in torch.randperm(20).split(5):
        _, nlp, ent, nv = agent.get(obs[mb], acts[mb])
        ratio = (nlp - logps[mb]).exp()
        A = (adv[mb] - adv[mb].mean()) / (adv[mb].std() + 1e-8)
        pg = torch.max(-A * ratio, -A * ratio.clamp(0.8, 1.2)).mean()
        vl = ((nv - ret[mb]) ** 2).mean()
        loss = pg + 0.5 * vl - 0.01 * ent.mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
        opt.step()
