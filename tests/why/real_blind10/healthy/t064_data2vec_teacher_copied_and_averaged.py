# https://github.com/arxyzan/data2vec-pytorch/issues/12
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class EMA:
    def __init__(self, model, decay=0.99):
        self.model = self.deepcopy_model(model)
        self.decay = decay
        self.num_updates = 0

    @staticmethod
    def deepcopy_model(model):
        model = copy.deepcopy(model)
        model.requires_grad_(False)
        return model

    def step(self, new_model):
        ema_state_dict = {}
        ema_params = self.model.state_dict()
        for key, param in new_model.state_dict().items():
            ema_param = ema_params[key].float()
            ema_param.mul_(self.decay)
            ema_param.add_(param.to(dtype=ema_param.dtype), alpha=1 - self.decay)
            ema_state_dict[key] = ema_param
        self.model.load_state_dict(ema_state_dict, strict=False)
        self.num_updates += 1


class Encoder(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.embed = nn.Embedding(31, dim)
        self.layers = nn.ModuleList([nn.TransformerEncoderLayer(dim, 2, 32, 0.0, batch_first=True) for _ in range(2)])

    def forward(self, x):
        x, states = self.embed(x), []
        for layer in self.layers:
            x = layer(x)
            states.append(x)
        return x, states


class Data2Vec(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.regression_head = nn.Linear(16, 16)
        self.ema = EMA(self.encoder)

    def forward(self, src, trg, mask):
        x = self.regression_head(self.encoder(src)[0])
        with torch.no_grad():
            self.ema.model.eval()
            y = sum(F.layer_norm(s, s.shape[-1:]) for s in self.ema.model(trg)[1]) / 2
        return x[mask], y[mask]


# %%
model = Data2Vec()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
tokens = torch.randint(0, 30, (8, 10))
teacher_before = model.ema.model.embed.weight.clone()
for step in range(4):
    mask = torch.rand(8, 10) < 0.3
    x, y = model(tokens.masked_fill(mask, 30), tokens, mask)
    loss = F.smooth_l1_loss(x, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.ema.step(model.encoder)
    print(step, loss.item())
