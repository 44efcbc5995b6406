# https://github.com/saprmarks/dictionary_learning/issues/54
import torch as t
import torch.nn as nn

t.manual_seed(0)


class GatedAutoEncoder(nn.Module):
    def __init__(self, activation_dim, dict_size):
        super().__init__()
        self.decoder_bias = nn.Parameter(t.zeros(activation_dim))
        self.encoder = nn.Linear(activation_dim, dict_size, bias=False)
        self.r_mag = nn.Parameter(t.zeros(dict_size))
        self.gate_bias = nn.Parameter(t.zeros(dict_size))
        self.mag_bias = nn.Parameter(t.zeros(dict_size))
        self.decoder = nn.Linear(dict_size, activation_dim, bias=False)
        directions = t.randn(activation_dim, dict_size)
        self.decoder.weight = nn.Parameter(directions / directions.norm(dim=0, keepdim=True))
        self.encoder.weight = nn.Parameter(self.decoder.weight.detach().T.clone())

    def encode(self, x, return_gate=False):
        x_enc = self.encoder(x - self.decoder_bias)
        pi_gate = x_enc + self.gate_bias
        f_gate = (pi_gate > 0).float()
        f_mag = t.relu(self.r_mag.exp() * x_enc + self.mag_bias)
        f = f_gate * f_mag
        return (f, t.relu(pi_gate)) if return_gate else f

    def decode(self, f):
        return self.decoder(f) + self.decoder_bias


class ConstrainedAdam(t.optim.Adam):
    """Adam that keeps the columns of some parameters at norm one"""
    def __init__(self, params, constrained_params, lr):
        super().__init__(params, lr=lr, betas=(0.0, 0.999))
        self.constrained_params = list(constrained_params)

    def step(self, closure=None):
        with t.no_grad():
            for p in self.constrained_params:
                unit = p / p.norm(dim=0, keepdim=True)
                p.grad -= (p.grad * unit).sum(dim=0, keepdim=True) * unit
        super().step(closure=closure)
        with t.no_grad():
            for p in self.constrained_params:
                p /= p.norm(dim=0, keepdim=True)


class GatedSAETrainer:
    def __init__(self, activation_dim=16, dict_size=32, lr=3e-3, l1_penalty=0.05, warmup_steps=20):
        self.ae = GatedAutoEncoder(activation_dim, dict_size)
        self.l1_penalty = l1_penalty
        self.optimizer = ConstrainedAdam(self.ae.parameters(), self.ae.decoder.parameters(), lr=lr)
        self.scheduler = t.optim.lr_scheduler.LambdaLR(self.optimizer, lambda step: min(1, step / warmup_steps))

    def loss(self, x):
        f, f_gate = self.ae.encode(x, return_gate=True)
        x_hat = self.ae.decode(f)
        x_hat_gate = f_gate @ self.ae.decoder.weight.detach().T + self.ae.decoder_bias.detach()
        L_recon = (x - x_hat).pow(2).sum(dim=-1).mean()
        L_sparse = t.linalg.norm(f_gate, ord=1, dim=-1).mean()
        L_aux = (x - x_hat_gate).pow(2).sum(dim=-1).mean()
        return L_recon + self.l1_penalty * L_sparse + L_aux, L_recon.item()

    def update(self, step, x):
        self.optimizer.zero_grad()
        loss, recon = self.loss(x)
        loss.backward()
        self.optimizer.step()
        self.scheduler.step()
        return recon


# %%
true_features = nn.functional.normalize(t.randn(24, 16), dim=1)
trainer = GatedSAETrainer()
history = []

# %%
for step in range(300):
    active = (t.rand(128, 24) < 0.1).float() * t.rand(128, 24)
    history.append(trainer.update(step, active @ true_features))
ae = trainer.ae
norms = ae.decoder.weight.detach().norm(dim=0)
print(history[0], history[-1], norms.min().item(), norms.max().item())
assert history[-1] < 0.3 * history[0]
assert t.allclose(norms, t.ones_like(norms), atol=1e-5)
assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in ae.parameters())
