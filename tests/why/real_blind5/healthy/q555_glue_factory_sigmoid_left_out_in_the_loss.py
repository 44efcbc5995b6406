# https://github.com/cvg/glue-factory/issues/89
import torch
from torch import nn

torch.manual_seed(0)


class TokenConfidence(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.token = nn.Sequential(nn.Linear(dim, 1), nn.Sigmoid())
        self.loss_fn = nn.BCEWithLogitsLoss(reduction="none")

    def forward(self, desc0, desc1):
        return self.token(desc0.detach()).squeeze(-1), self.token(desc1.detach()).squeeze(-1)

    def loss(self, desc0, desc1, la_now, la_final):
        logit0 = self.token[0](desc0.detach()).squeeze(-1)
        logit1 = self.token[0](desc1.detach()).squeeze(-1)
        la_now, la_final = la_now.detach(), la_final.detach()
        correct0 = la_final[:, :-1, :].max(-1).indices == la_now[:, :-1, :].max(-1).indices
        correct1 = la_final[:, :, :-1].max(-2).indices == la_now[:, :, :-1].max(-2).indices
        return (self.loss_fn(logit0, correct0.float()).mean(-1) + self.loss_fn(logit1, correct1.float()).mean(-1)) / 2.0


class Matcher(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.proj = nn.ModuleList([nn.Linear(dim, dim), nn.Linear(dim, dim)])
        self.bin = nn.Parameter(torch.tensor(1.0))

    def assign(self, d0, d1):
        scores = d0 @ d1.transpose(1, 2) / 4
        scores = torch.cat([scores, self.bin.expand(scores.size(0), scores.size(1), 1)], 2)
        scores = torch.cat([scores, self.bin.expand(scores.size(0), 1, scores.size(2))], 1)
        return scores.log_softmax(-1)

    def forward(self, d0, d1):
        outs = []
        for layer in self.proj:
            d0, d1 = d0 + torch.tanh(layer(d0)), d1 + torch.tanh(layer(d1))
            outs.append((d0, d1, self.assign(d0, d1)))
        return outs


# %%
matcher, conf = Matcher(), TokenConfidence(16)
optimizer = torch.optim.Adam([*matcher.parameters(), *conf.parameters()], lr=1e-3)
token_before = conf.token[0].weight.detach().clone()

# %%
for it in range(3):
    d0, d1, gt = torch.randn(2, 6, 16), torch.randn(2, 7, 16), torch.randint(0, 7, (2, 6))
    outs = matcher(d0, d1)
    la_final = outs[-1][2]
    nll = -la_final[:, :-1].gather(2, gt[..., None]).mean()
    loss = nll + conf.loss(outs[0][0], outs[0][1], outs[0][2], la_final).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(it, loss.item())
