# https://github.com/cloneofsimo/minDiffusion/blob/master/mindiffusion/ddpm.py
from typing import Dict, Tuple

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def ddpm_schedules(beta1: float, beta2: float, T: int) -> Dict[str, torch.Tensor]:
    """
    Returns pre-computed schedules for DDPM sampling, training process.
    """
    assert beta1 < beta2 < 1.0, "beta1 and beta2 must be in (0, 1)"

    beta_t = (beta2 - beta1) * torch.arange(0, T + 1, dtype=torch.float32) / T + beta1
    alpha_t = 1 - beta_t
    alphabar_t = torch.cumsum(torch.log(alpha_t), dim=0).exp()
    sqrtmab = torch.sqrt(1 - alphabar_t)

    return {
        "oneover_sqrta": 1 / torch.sqrt(alpha_t),
        "sqrt_beta_t": torch.sqrt(beta_t),
        "sqrtab": torch.sqrt(alphabar_t),
        "sqrtmab": sqrtmab,
        "mab_over_sqrtmab": (1 - alpha_t) / sqrtmab,
    }


blk = lambda ic, oc: nn.Sequential(
    nn.Conv2d(ic, oc, 5, padding=2),
    nn.BatchNorm2d(oc),
    nn.LeakyReLU(),
)


class DummyEpsModel(nn.Module):
    def __init__(self, n_channel: int) -> None:
        super(DummyEpsModel, self).__init__()
        self.conv = nn.Sequential(
            blk(n_channel, 16),
            blk(16, 32),
            blk(32, 16),
            nn.Conv2d(16, n_channel, 3, padding=1),
        )

    def forward(self, x, t) -> torch.Tensor:
        # Lets think about using t later.
        return self.conv(x)


class DDPM(nn.Module):
    def __init__(self, eps_model: nn.Module, betas: Tuple[float, float], n_T: int, criterion: nn.Module = nn.MSELoss()) -> None:
        super(DDPM, self).__init__()
        self.eps_model = eps_model

        # register
        for k, v in ddpm_schedules(betas[0], betas[1], n_T).items():
            self.register_buffer(k, v)

        self.n_T = n_T
        self.criterion = criterion

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        _ts = torch.randint(1, self.n_T + 1, (x.shape[0],)).to(x.device)  # t ~ Uniform(0, n_T)
        eps = torch.randn_like(x)  # eps ~ N(0, 1)

        x_t = (
            self.sqrtab[_ts, None, None, None] * x
            + self.sqrtmab[_ts, None, None, None] * eps
        )
        return self.criterion(eps, self.eps_model(x_t, _ts / self.n_T))

    def sample(self, n_sample: int, size, device) -> torch.Tensor:
        x_t = torch.randn(n_sample, *size).to(device)  # x_T ~ N(0, 1)
        for i in range(self.n_T, 0, -1):
            z = torch.randn(n_sample, *size).to(device) if i > 1 else 0
            eps = self.eps_model(x_t, i / self.n_T)
            x_t = (
                self.oneover_sqrta[i] * (x_t - eps * self.mab_over_sqrtmab[i])
                + self.sqrt_beta_t[i] * z
            )
        return x_t


# %%
def bars(n):
    x = -torch.ones(n, 1, 8, 8)
    x[torch.arange(n), :, :, torch.randint(0, 8, (n,))] = 1
    return x


device = "cpu"
ddpm = DDPM(eps_model=DummyEpsModel(1), betas=(1e-3, 0.15), n_T=60)
ddpm.to(device)
dataloader = DataLoader(TensorDataset(bars(1536), torch.zeros(1536)), batch_size=48, shuffle=True)
optim = torch.optim.Adam(ddpm.parameters(), lr=2e-3)

# %%
history = []
for i in range(4):
    ddpm.train()
    loss_ema = None
    for x, _ in dataloader:
        optim.zero_grad()
        x = x.to(device)
        loss = ddpm(x)
        loss.backward()
        if loss_ema is None:
            loss_ema = loss.item()
        else:
            loss_ema = 0.9 * loss_ema + 0.1 * loss.item()
        optim.step()
        history.append(loss.item())
    print(f"epoch {i} loss: {loss_ema:.4f}")

# %%
ddpm.eval()
with torch.no_grad():
    xh = ddpm.sample(64, (1, 8, 8), device)
    spread_down = xh.std(2).mean().item()
    spread_across = xh.mean(2).std(2).mean().item()
print(history[0], loss_ema, spread_down, spread_across)
assert loss_ema < 0.4 * history[0] and spread_down < 0.5 and spread_across > spread_down
