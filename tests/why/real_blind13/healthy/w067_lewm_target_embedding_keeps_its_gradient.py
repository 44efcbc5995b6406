# https://github.com/lucas-maes/le-wm/issues/44
import torch
from torch import nn

torch.manual_seed(0)


class SIGReg(nn.Module):
    """pulls the embeddings towards a standard normal distribution, along random directions"""
    def __init__(self, knots=9, num_proj=64):
        super().__init__()
        self.num_proj = num_proj
        t = torch.linspace(0, 3, knots)
        self.register_buffer("t", t)
        self.register_buffer("phi", torch.exp(-t ** 2 / 2))
        self.register_buffer("window", torch.exp(-t ** 2 / 2))

    def forward(self, emb):
        emb = emb.flatten(0, 1)
        A = torch.randn(emb.shape[-1], self.num_proj)
        A = A / A.norm(dim=0, keepdim=True)
        x_t = (emb @ A).unsqueeze(-1) * self.t
        err = (x_t.cos().mean(0) - self.phi) ** 2 + x_t.sin().mean(0) ** 2
        return (err * self.window).sum(-1).mean() * len(emb) / 100


class WorldModel(nn.Module):
    def __init__(self, n_obs=12, n_act=2, dim=6):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(n_obs, 64), nn.GELU(), nn.Linear(64, dim))
        self.action_encoder = nn.Linear(n_act, dim)
        self.predictor = nn.Sequential(nn.Linear(2 * dim, 64), nn.GELU(), nn.Linear(64, dim))

    def encode(self, batch):
        return {"emb": self.encoder(batch["obs"]), "act_emb": self.action_encoder(batch["action"])}

    def predict(self, emb, act_emb):
        return self.predictor(torch.cat([emb, act_emb], dim=-1))


def lejepa_forward(model, sigreg, batch, lambd, stage="train"):
    output = model.encode(batch)
    emb, act_emb = output["emb"], output["act_emb"]
    ctx_emb, ctx_act = emb[:, :-1], act_emb[:, :-1]
    tgt_emb = emb[:, 1:]
    pred_emb = model.predict(ctx_emb, ctx_act)
    output["pred_loss"] = (pred_emb - tgt_emb).pow(2).mean()
    output["sigreg_loss"] = sigreg(emb.transpose(0, 1))
    output["loss"] = output["pred_loss"] + lambd * output["sigreg_loss"]
    log = {f"{stage}/{k}": v.detach().item() for k, v in output.items() if "loss" in k}
    return output, log


# %%
lift = torch.randn(4, 12) / 2
dynamics = torch.linalg.qr(torch.randn(4, 4))[0]
push = torch.randn(2, 4)


def rollout(n=64, T=4):
    states, actions = [torch.randn(n, 4)], torch.randn(n, T, 2)
    for t in range(T - 1):
        states.append((states[-1] @ dynamics + 0.3 * actions[:, t] @ push).clamp(-3, 3))
    return {"obs": torch.tanh(torch.stack(states, 1) @ lift), "action": actions}


model, sigreg = WorldModel(), SIGReg()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-3)
logs = []

# %%
for step in range(200):
    output, log = lejepa_forward(model, sigreg, rollout(), lambd=0.5)
    optimizer.zero_grad()
    output["loss"].backward()
    optimizer.step()
    logs.append(log)
spread = model.encoder(rollout(256)["obs"]).detach().flatten(0, 1).std(0)
print(logs[0], logs[-1], spread)
assert logs[-1]["train/loss"] < logs[0]["train/loss"]
assert spread.min() > 0.3 and output["emb"].requires_grad
