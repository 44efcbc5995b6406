# https://github.com/lucidrains/byol-pytorch/issues/35
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def loss_fn(x, y):
    x = F.normalize(x, dim=-1, p=2)
    y = F.normalize(y, dim=-1, p=2)
    return 2 - 2 * (x * y).sum(dim=-1)


class BYOL(nn.Module):
    def __init__(self, net, dim=16, moving_average_decay=0.99):
        super().__init__()
        self.online_encoder = net
        self.target_encoder = copy.deepcopy(net)
        self.online_predictor = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, dim))
        self.beta = moving_average_decay

    def update_moving_average(self):
        for current, ma in zip(self.online_encoder.parameters(), self.target_encoder.parameters()):
            ma.data = self.beta * ma.data + (1 - self.beta) * current.data

    def forward(self, x):
        one, two = x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x)
        online_pred_one = self.online_predictor(self.online_encoder(one))
        online_pred_two = self.online_predictor(self.online_encoder(two))
        with torch.no_grad():
            target_proj_one = self.target_encoder(one)
            target_proj_two = self.target_encoder(two)
        loss_one = loss_fn(online_pred_one, target_proj_two.detach())
        loss_two = loss_fn(online_pred_two, target_proj_one.detach())
        return (loss_one + loss_two).mean()


# %%
learner = BYOL(nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 16)))
opt = torch.optim.Adam(learner.parameters(), lr=3e-3)
images = torch.randn(64, 20)

# %%
losses = []
for _ in range(30):
    loss = learner(images)
    opt.zero_grad()
    loss.backward()
    target_before_ema = learner.target_encoder[0].weight.detach().clone()
    opt.step()
    target_after_step = learner.target_encoder[0].weight.detach().clone()
    learner.update_moving_average()  # update moving average of target encoder
    losses.append(loss.item())
print(losses[0], losses[-1])
assert losses[-1] < losses[0]
assert torch.equal(target_before_ema, target_after_step)
assert not torch.equal(target_after_step, learner.target_encoder[0].weight)
