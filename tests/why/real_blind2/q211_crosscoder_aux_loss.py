# https://github.com/oclivegriffin/crosscode/pull/3
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import nn


@dataclass
class TopKTrainConfig:
    k: int = 2
    k_aux: int = 4
    lambda_aux: float = 1 / 32
    dead_latents_threshold_n_examples: int = 100
    learning_rate: float = 1e-2
    gradient_accumulation_microbatches: int = 1


class ForwardResult(NamedTuple):
    pre_activations_BL: torch.Tensor
    latents_BL: torch.Tensor
    recon_acts_BMPD: torch.Tensor


def topk_activation(activations_BL, k):
    values, indices = activations_BL.topk(k, dim=-1)
    return torch.zeros_like(activations_BL).scatter(-1, indices, values)


def calculate_reconstruction_loss_summed_norm_MSEs(activation_BMPD, target_BMPD):
    error_BMP = (activation_BMPD - target_BMPD).pow(2).sum(dim=-1)
    return error_BMP.sum(dim=(1, 2)).mean()


class AcausalCrosscoder(nn.Module):
    def __init__(self, n_models, n_hookpoints, d_model, n_latents, k):
        super().__init__()
        self.k = k
        self.W_enc_MPDL = nn.Parameter(torch.randn(n_models, n_hookpoints, d_model, n_latents) * 0.3)
        self.W_dec_LMPD = nn.Parameter(torch.randn(n_latents, n_models, n_hookpoints, d_model) * 0.1)
        self.b_enc_L = nn.Parameter(torch.zeros(n_latents))
        self.b_dec_MPD = nn.Parameter(torch.zeros(n_models, n_hookpoints, d_model))

    def decode_BMPD(self, latents_BL):
        return torch.einsum("bl,lmpd->bmpd", latents_BL, self.W_dec_LMPD) + self.b_dec_MPD

    def forward_train(self, batch_BMPD):
        pre_activations_BL = torch.einsum("bmpd,mpdl->bl", batch_BMPD, self.W_enc_MPDL) + self.b_enc_L
        latents_BL = topk_activation(pre_activations_BL.relu(), self.k)
        return ForwardResult(pre_activations_BL, latents_BL, self.decode_BMPD(latents_BL))


# %%
class FiringTracker:
    def __init__(self, n_latents):
        self.tokens_since_fired_L = torch.zeros(n_latents, dtype=torch.long)

    def add_batch(self, latents_BL):
        fired_L = (latents_BL > 0).any(dim=0)
        self.tokens_since_fired_L += latents_BL.shape[0]
        self.tokens_since_fired_L[fired_L] = 0


class TopKStyleAcausalCrosscoderTrainer:
    def __init__(self, cfg, model):
        self.cfg, self.model = cfg, model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=cfg.learning_rate)
        self.firing_tracker = FiringTracker(model.W_enc_MPDL.shape[-1])
        self.step = 0

    def run_batch(self, batch_BMPD, log):
        self.optimizer.zero_grad()
        train_res = self.model.forward_train(batch_BMPD)
        self.firing_tracker.add_batch(train_res.latents_BL.detach())
        loss, log_dict = self._calculate_loss_and_log(batch_BMPD, train_res, log)
        loss.div(self.cfg.gradient_accumulation_microbatches).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.step += 1
        return log_dict

    def _calculate_loss_and_log(self, batch_BMPD, train_res, log):
        reconstruction_loss = calculate_reconstruction_loss_summed_norm_MSEs(batch_BMPD, train_res.recon_acts_BMPD)
        aux_loss = self.aux_loss(batch_BMPD, train_res)
        loss = reconstruction_loss + self.cfg.lambda_aux * aux_loss

        if log:
            dead_L = self.firing_tracker.tokens_since_fired_L > self.cfg.dead_latents_threshold_n_examples
            log_dict = {
                "train/loss": loss.item(),
                "train/reconstruction_loss": reconstruction_loss.item(),
                "train/aux_loss": aux_loss.item(),
                "train/n_dead_latents": dead_L.sum().item(),
            }
            return reconstruction_loss, log_dict

        return reconstruction_loss, None

    def aux_loss(self, batch_BMPD, train_res):
        """train to reconstruct the error with the topk dead latents"""
        dead_L = self.firing_tracker.tokens_since_fired_L > self.cfg.dead_latents_threshold_n_examples
        n_dead = int(dead_L.sum())
        if n_dead == 0:
            return torch.tensor(0.0)
        dead_latents_BL = train_res.pre_activations_BL * dead_L
        k_aux = min(n_dead, self.cfg.k_aux)
        aux_latents_BL = topk_activation(dead_latents_BL, k_aux)
        error_BMPD = batch_BMPD - train_res.recon_acts_BMPD
        error_recon = calculate_reconstruction_loss_summed_norm_MSEs(self.model.decode_BMPD(aux_latents_BL), error_BMPD)
        return error_recon * (k_aux / self.cfg.k_aux)


# %%
cfg = TopKTrainConfig()
crosscoder = AcausalCrosscoder(n_models=2, n_hookpoints=1, d_model=6, n_latents=24, k=cfg.k)
with torch.no_grad():
    crosscoder.W_enc_MPDL[..., 12:] *= 0.01
trainer = TopKStyleAcausalCrosscoderTrainer(cfg, crosscoder)
activations = torch.randn(12, 32, 2, 1, 6)

# %%
for batch_BMPD in activations:
    log_dict = trainer.run_batch(batch_BMPD, log=trainer.step % 2 == 0)
    if log_dict is not None:
        print(log_dict)

# %%
dead_L = trainer.firing_tracker.tokens_since_fired_L > cfg.dead_latents_threshold_n_examples
print(dead_L.sum(), crosscoder.W_enc_MPDL.grad[..., dead_L].abs().sum())
