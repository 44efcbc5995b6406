# https://github.com/bartbussmann/BatchTopK/issues/4
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

cfg = {"act_size": 16, "dict_size": 64, "top_k": 4, "top_k_aux": 8, "aux_penalty": 1 / 32,
       "l1_coeff": 0.0, "n_batches_to_dead": 3, "lr": 3e-3}


class TopKSAE(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.W_enc = nn.Parameter(nn.init.kaiming_uniform_(torch.empty(cfg["act_size"], cfg["dict_size"])))
        self.W_dec = nn.Parameter(self.W_enc.t().data / self.W_enc.t().data.norm(dim=-1, keepdim=True))
        self.b_dec = nn.Parameter(torch.zeros(cfg["act_size"]))
        self.num_batches_not_active = torch.zeros(cfg["dict_size"])

    def forward(self, x):
        acts = F.relu((x - self.b_dec) @ self.W_enc)
        topk = torch.topk(acts, self.cfg["top_k"], dim=-1)
        acts_topk = torch.zeros_like(acts).scatter(-1, topk.indices, topk.values)
        x_reconstruct = acts_topk @ self.W_dec + self.b_dec

        self.num_batches_not_active += (acts_topk.sum(0) == 0).float()
        self.num_batches_not_active[acts_topk.sum(0) > 0] = 0
        return self.get_loss_dict(x, x_reconstruct, acts, acts_topk)

    def get_loss_dict(self, x, x_reconstruct, acts, acts_topk):
        l2_loss = (x_reconstruct.float() - x.float()).pow(2).mean()
        l1_loss = self.cfg["l1_coeff"] * acts_topk.abs().sum(-1).mean()
        aux_loss = self.get_auxiliary_loss(x, x_reconstruct, acts)
        return {"loss": l2_loss + l1_loss + aux_loss, "l2_loss": l2_loss, "aux_loss": aux_loss}

    def dead_features(self):
        return self.num_batches_not_active >= self.cfg["n_batches_to_dead"]

    def get_auxiliary_loss(self, x, x_reconstruct, acts):
        dead_features = self.dead_features()
        if dead_features.sum() > 0:
            residual = x.float() - x_reconstruct.float()
            acts_dead = acts[:, dead_features]
            topk_aux = torch.topk(acts_dead, min(self.cfg["top_k_aux"], acts_dead.shape[1]), dim=-1)
            acts_aux = torch.zeros_like(acts_dead).scatter(-1, topk_aux.indices, topk_aux.values)
            x_reconstruct_aux = acts_aux @ self.W_dec[dead_features]
            return self.cfg["aux_penalty"] * (x_reconstruct_aux.float() - residual.float()).pow(2).mean()
        return torch.tensor(0, dtype=x.dtype)


def activations(batch=32):
    """Each is a sum of a few of twelve directions."""
    chosen = (torch.rand(batch, 12) < 0.25).float() * torch.rand(batch, 12)
    return chosen @ DIRECTIONS


DIRECTIONS = torch.randn(12, cfg["act_size"])

# %%
sae = TopKSAE(cfg)
optimizer = torch.optim.Adam(sae.parameters(), lr=cfg["lr"])
for i in range(80):
    output = sae(activations())
    dead = sae.dead_features()
    if dead.any():
        of_aux_loss, = torch.autograd.grad(output["aux_loss"], sae.W_dec, retain_graph=True)
    optimizer.zero_grad()
    output["loss"].backward()
    torch.nn.utils.clip_grad_norm_(sae.parameters(), 1.0)
    optimizer.step()
    if i % 20 == 0:
        print(i, output["l2_loss"].item(), output["aux_loss"].item(), "dead", dead.sum().item())
