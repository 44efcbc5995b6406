# https://github.com/arxyzan/data2vec-pytorch/issues/8
from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.nn.functional as F


class EMA:
    """Modified version of class fairseq.models.ema.EMA."""

    def __init__(self, model: nn.Module, cfg, skip_keys=None):
        self.model = model
        self.model.requires_grad_(False)
        self.cfg = cfg
        self.skip_keys = skip_keys or set()
        self.decay = self.cfg.ema_decay
        self.num_updates = 0

    def step(self, new_model: nn.Module):
        ema_state_dict = {}
        ema_params = self.model.state_dict()
        for key, param in new_model.state_dict().items():
            ema_param = ema_params[key].float()
            if key in self.skip_keys:
                ema_param = param.to(dtype=ema_param.dtype).clone()
            else:
                ema_param.mul_(self.decay)
                ema_param.add_(param.to(dtype=ema_param.dtype), alpha=1 - self.decay)
            ema_state_dict[key] = ema_param
        self.model.load_state_dict(ema_state_dict, strict=False)
        self.num_updates += 1


class TextEncoder(nn.Module):
    def __init__(self, vocab=20, d=8, n_layers=3):
        super().__init__()
        self.embed = nn.Embedding(vocab, d)
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(d, 2, 16, dropout=0., batch_first=True)
                                    for _ in range(n_layers))

    def forward(self, src):
        x, states = self.embed(src), []
        for layer in self.layers:
            x = layer(x)
            states.append(x)
        return {'encoder_states': states, 'encoder_out': x}


class Data2Vec(nn.Module):
    MASK_IDX = 1

    def __init__(self, encoder, cfg):
        super().__init__()
        self.encoder, self.cfg = encoder, cfg
        self.ema = EMA(self.encoder, cfg)
        self.regression_head = nn.Sequential(nn.Linear(cfg.embed_dim, 2 * cfg.embed_dim), nn.GELU(),
                                             nn.Linear(2 * cfg.embed_dim, cfg.embed_dim))

    def ema_step(self):
        if self.ema.decay < 1:
            self.ema.step(self.encoder)

    def forward(self, src, trg=None):
        x = self.encoder(src)['encoder_out']
        if trg is None:
            return x
        with torch.no_grad():
            self.ema.model.eval()
            y = self.ema.model(trg)['encoder_states'][-self.cfg.average_top_k_layers:]
            y = sum(F.layer_norm(tl.float(), tl.shape[-1:]) for tl in y) / len(y)
        masked_indices = src.eq(self.MASK_IDX)
        return self.regression_head(x[masked_indices]), y[masked_indices]


# %%
cfg = SimpleNamespace(embed_dim=8, ema_decay=0.999, average_top_k_layers=2)
model = Data2Vec(TextEncoder(), cfg)
optimizer = torch.optim.Adam(model.parameters(), 5e-4)
criterion = nn.SmoothL1Loss(reduction='none', beta=4)

# %%
for step in range(4):
    trg = torch.randint(2, 20, (4, 6))
    src = trg.clone()
    src[:, ::3] = Data2Vec.MASK_IDX
    x, y = model(src, trg)
    loss = criterion(x.float(), y.float()).sum(dim=-1).sum().div(x.size(0))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.ema_step()
    print(step, loss.item())
print(model.encoder.layers[0].linear1.weight.grad)
