# https://github.com/bytetriper/RAE/issues/67
from copy import deepcopy

import torch
import torch.nn as nn

torch.manual_seed(0)
grad_accum_steps, clip_grad, epochs = 4, 1e3, 1


@torch.no_grad()
def update_ema(ema_model, model, decay=0.9995):
    for ema_param, param in zip(ema_model.parameters(), model.parameters()):
        ema_param.mul_(decay).add_(param.data, alpha=1 - decay)


class DiT(nn.Module):
    def __init__(self, in_dim=12, hidden=16, classes=5):
        super().__init__()
        self.x_embedder = nn.Linear(in_dim, hidden)
        self.t_embedder = nn.Sequential(nn.Linear(1, hidden), nn.SiLU(), nn.Linear(hidden, hidden))
        self.y_embedder = nn.Embedding(classes, hidden)
        self.block = nn.TransformerEncoderLayer(hidden, 2, 32, dropout=0.0, batch_first=True)
        self.final_layer = nn.Linear(hidden, in_dim)

    def forward(self, x, t, y):
        c = self.t_embedder(t.view(-1, 1)) + self.y_embedder(y)
        return self.final_layer(self.block(self.x_embedder(x) + c.unsqueeze(1)))


class Transport:
    def training_losses(self, model, x1, y):
        t, x0 = torch.rand(len(x1)), torch.randn_like(x1)
        xt = t.view(-1, 1, 1) * x1 + (1 - t.view(-1, 1, 1)) * x0
        out = model(xt, t, y)
        return ((out - (x1 - x0)) ** 2).mean((1, 2))


# %%
model = DiT()
ema_model = deepcopy(model)
for p in ema_model.parameters():
    p.requires_grad = False
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4, betas=(0.9, 0.95))
transport = Transport()
loader = [(torch.randn(16, 4, 12), torch.randint(5, (16,))) for _ in range(2)]

for step, (latent, label) in enumerate(loader):
    model.train()
    step_loss = 0.0
    of_all_microbatches = torch.zeros_like(model.x_embedder.weight)
    for x, y in zip(latent.chunk(grad_accum_steps), label.chunk(grad_accum_steps)):
        optimizer.zero_grad(set_to_none=True)
        loss = transport.training_losses(model, x, y).mean() / grad_accum_steps
        of_all_microbatches += torch.autograd.grad(loss, model.x_embedder.weight, retain_graph=True)[0]  # to compare
        loss.backward()
        step_loss += loss.item()
    in_grad = model.x_embedder.weight.grad.clone()
    torch.nn.utils.clip_grad_norm_(model.parameters(), clip_grad)
    optimizer.step()
    update_ema(ema_model, model)
    print(step, step_loss)
