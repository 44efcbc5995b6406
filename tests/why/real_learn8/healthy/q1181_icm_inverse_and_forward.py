# https://github.com/pathak22/noreward-rl/blob/master/src/model.py
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class StateActionPredictor(nn.Module):
    def __init__(self, ob=6, ac=3, feat=8):
        super().__init__()
        self.universe_head = nn.Sequential(nn.Linear(ob, feat), nn.ELU())
        self.inverse = nn.Sequential(nn.Linear(2 * feat, 16), nn.ReLU(), nn.Linear(16, ac))
        self.forward_model = nn.Sequential(nn.Linear(feat + ac, 16), nn.ReLU(), nn.Linear(16, feat))

    def forward(self, s1, s2, asample):
        phi1, phi2 = self.universe_head(s1), self.universe_head(s2)
        logits = self.inverse(torch.cat([phi1, phi2], 1))
        invloss = F.cross_entropy(logits, asample.argmax(1))
        f = self.forward_model(torch.cat([phi1.detach(), asample], 1))
        forwardloss = 0.5 * (f - phi2.detach()).pow(2).mean() * 8
        return invloss, forwardloss

    @torch.no_grad()
    def pred_bonus(self, s1, s2, asample):
        phi1, phi2 = self.universe_head(s1), self.universe_head(s2)
        return 0.5 * (self.forward_model(torch.cat([phi1, asample], 1)) - phi2).pow(2).sum(1)


predictor, policy = StateActionPredictor(), nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))
opt = torch.optim.Adam([*predictor.parameters(), *policy.parameters()], lr=1e-3)
before = predictor.forward_model[0].weight.detach().clone()

# %%
for _ in range(3):
    s1, s2 = torch.randn(8, 6), torch.randn(8, 6)
    out = policy(s1)
    dist, vf = torch.distributions.Categorical(logits=out[:, :3]), out[:, 3]
    a = dist.sample()
    asample = F.one_hot(a, 3).float()
    bonus = predictor.pred_bonus(s1, s2, asample)
    adv = (bonus + torch.randn(8)) - vf.detach()
    pi_loss = -(dist.log_prob(a) * adv).mean()
    vf_loss = 0.5 * (vf - bonus).pow(2).mean()
    invloss, forwardloss = predictor(s1, s2, asample)
    loss = pi_loss + 0.5 * vf_loss - 0.01 * dist.entropy().mean() + 10 * (0.8 * invloss + 0.2 * forwardloss)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(predictor.parameters(), 40.0)
    opt.step()
    print(pi_loss.item(), invloss.item(), forwardloss.item())
