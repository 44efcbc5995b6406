# https://github.com/facebookresearch/nwm/issues/16
from collections import OrderedDict
from copy import deepcopy

import torch
import torch.nn as nn

torch.manual_seed(0)
config = {"bfloat16": 1, "lr": 1e-3, "batch_size": 4, "epochs": 1}


@torch.no_grad()
def update_ema(ema_model, model, decay=0.9999):
    ema_params = OrderedDict(ema_model.named_parameters())
    for name, param in model.named_parameters():
        ema_params[name].mul_(decay).add_(param.data, alpha=1 - decay)


def requires_grad(model, flag=True):
    for p in model.parameters():
        p.requires_grad = flag


class CDiT(nn.Module):
    def __init__(self, in_channels=12, hidden=16):
        super().__init__()
        self.x_embedder = nn.Linear(in_channels, hidden)
        self.t_embedder = nn.Embedding(100, hidden)
        self.y_embedder = nn.Linear(3, hidden)
        self.block = nn.TransformerEncoderLayer(hidden, 2, 2 * hidden, dropout=0.0, batch_first=True)
        self.final_layer = nn.Linear(hidden, in_channels)

    def forward(self, x, t, y):
        c = self.t_embedder(t) + self.y_embedder(y)
        return self.final_layer(self.block(self.x_embedder(x) + c.unsqueeze(1)))


def training_losses(model, x, t, y):
    noise = torch.randn_like(x)
    a = (1 - t.float() / 100).view(-1, 1, 1)
    out = model(a.sqrt() * x + (1 - a).sqrt() * noise, t, y)
    return ((out.float() - noise) ** 2).mean((1, 2))


# %%
model = CDiT()
ema = deepcopy(model)
requires_grad(ema, False)
opt = torch.optim.AdamW(model.parameters(), lr=config["lr"], weight_decay=0)
bfloat_enable = bool(config["bfloat16"])
loader = [(torch.randn(config["batch_size"], 5, 12), torch.randn(config["batch_size"], 3)) for _ in range(4)]


def train_step(x, y):
    global only_this_batch
    t = torch.randint(0, 100, (x.shape[0],))
    with torch.autocast("cpu", enabled=bfloat_enable, dtype=torch.bfloat16):
        loss = training_losses(model, x, t, y).mean()

    only_this_batch, = torch.autograd.grad(loss, model.x_embedder.weight, retain_graph=True)  # to compare
    if bfloat_enable:
        loss.backward()
        opt.step()
    else:
        opt.zero_grad()
        loss.backward()
        opt.step()
    update_ema(ema, model)
    return loss.detach()


# %%
model.train()
train_steps = 0
for epoch in range(config["epochs"]):
    for x, y in loader:
        running_loss = train_step(x, y).item()
        train_steps += 1
        print(f"(step={train_steps:07d}) Train Loss: {running_loss:.4f} grad norm {model.x_embedder.weight.grad.norm():.3f}")
