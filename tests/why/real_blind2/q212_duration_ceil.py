# https://github.com/openvpi/DiffSinger/pull/303
import math

import torch
import torch.nn as nn


class ConvFlow(nn.Module):
    def __init__(self, filter_channels):
        super().__init__()
        self.pre = nn.Conv1d(1, filter_channels, 1)
        self.proj = nn.Conv1d(filter_channels, 2, 1)

    def forward(self, x, x_mask, g, reverse=False):
        x0, x1 = torch.split(x, [1, 1], 1)
        m, logs = torch.split(self.proj(torch.tanh(self.pre(x0) + g)) * x_mask, [1, 1], 1)
        if not reverse:
            x1 = (m + torch.exp(logs) * x1) * x_mask
            return torch.cat([x0, x1], 1), torch.sum(logs * x_mask, [1, 2])
        x1 = (x1 - m) * torch.exp(-logs) * x_mask
        return torch.cat([x0, x1], 1)


class StochasticDurationPredictor(nn.Module):
    def __init__(self, in_channels, filter_channels=16, n_flows=2):
        super().__init__()
        self.pre = nn.Conv1d(in_channels, filter_channels, 1)
        self.convs = nn.Conv1d(filter_channels, filter_channels, 3, padding=1)
        self.flows = nn.ModuleList([ConvFlow(filter_channels) for _ in range(n_flows)])

    def forward(self, x, x_mask, w=None, reverse=False, noise_scale=1.0):
        x = torch.detach(x)
        x = self.convs(torch.relu(self.pre(x))) * x_mask
        if not reverse:
            z0 = torch.log(w.float()[:, None, :] + 1.0) * x_mask
            z = torch.cat([z0, torch.randn_like(z0) * x_mask], 1)
            logdet_tot = 0
            for flow in self.flows:
                z, logdet = flow(torch.flip(z, [1]), x_mask, g=x)
                logdet_tot = logdet_tot + logdet
            nll = torch.sum(0.5 * (math.log(2 * math.pi) + z**2) * x_mask, [1, 2]) - logdet_tot
            return nll
        z = torch.randn(x.size(0), 2, x.size(2)) * noise_scale
        for flow in reversed(self.flows):
            z = torch.flip(flow(z, x_mask, g=x, reverse=True), [1])
        return z[:, :1]


# %%
class DurationPredictor(nn.Module):
    def __init__(self, in_dims, n_chans=16, kernel_size=3, offset=1.0, sdp_ratio=0.2):
        super().__init__()
        self.offset = offset
        self.sdp_ratio = sdp_ratio
        self.conv = nn.Sequential(nn.Conv1d(in_dims, n_chans, kernel_size, padding=1), nn.ReLU())
        self.linear = nn.Linear(n_chans, 1)
        self.sdp = StochasticDurationPredictor(in_dims)

    def out2dur(self, xs):
        return xs.squeeze(-1).exp() - self.offset

    def forward(self, xs, x_masks, infer=True, ph_dur=None):
        non_pad_mask = 1.0 - x_masks.float()
        non_pad_mask_1d, non_pad_mask_2d = non_pad_mask.unsqueeze(1), non_pad_mask.unsqueeze(2)
        xs = xs.transpose(1, -1)
        dp_xs = self.linear((self.conv(xs) * non_pad_mask_1d).transpose(1, -1)) * non_pad_mask_2d
        dur_pred = self.out2dur(dp_xs)
        if not infer:
            nll_loss = self.sdp(x=xs, x_mask=non_pad_mask_1d, w=ph_dur)
            loss_sdp = torch.sum(nll_loss / torch.sum(non_pad_mask_1d))
            logw_sdp = self.sdp(x=xs, x_mask=non_pad_mask_1d, reverse=True, noise_scale=1.0)
            sdp_pred = torch.ceil(self.out2dur(logw_sdp.transpose(1, -1) * non_pad_mask_2d))
            return dur_pred, loss_sdp, sdp_pred
        logw_sdp = self.sdp(x=xs, x_mask=non_pad_mask_1d, reverse=True, noise_scale=0.8)
        dur_sdp = self.out2dur(logw_sdp.transpose(1, -1) * non_pad_mask_2d).ceil()
        dur_pred = dur_sdp * self.sdp_ratio + dur_pred * (1.0 - self.sdp_ratio)
        return dur_pred.clamp(min=0.0), None, dur_sdp


class DurationLoss(nn.Module):
    def __init__(self, offset, lambda_pdur=0.6, lambda_sdur=0.1):
        super().__init__()
        self.loss = nn.MSELoss()
        self.offset = offset
        self.lambda_pdur = lambda_pdur
        self.lambda_sdur = lambda_sdur

    def linear2log(self, any_dur):
        return torch.log(any_dur + self.offset)

    def forward(self, dur_pred, dur_gt):
        dur_gt = dur_gt.to(dtype=dur_pred.dtype)
        dur_pred = dur_pred.clamp(min=0.0)  # clip to avoid NaN loss
        pdur_loss = self.lambda_pdur * self.loss(self.linear2log(dur_pred), self.linear2log(dur_gt))
        sdur_pred, sdur_gt = dur_pred.sum(dim=1), dur_gt.sum(dim=1)
        return pdur_loss + self.lambda_sdur * self.loss(self.linear2log(sdur_pred), self.linear2log(sdur_gt))


# %%
predictor = DurationPredictor(in_dims=8)
dur_loss, dur_sdp_loss = DurationLoss(offset=1.0), DurationLoss(offset=1.0)
optimizer = torch.optim.AdamW(predictor.parameters(), lr=1e-3)
xs, ph_dur = torch.randn(4, 10, 8), torch.randint(1, 30, (4, 10))
x_masks = torch.arange(10)[None, :] >= torch.tensor([10, 8, 9, 6])[:, None]


def compute_losses():
    dur_pred, sdp_loss, sdp_pred = predictor(xs, x_masks, infer=False, ph_dur=ph_dur)
    return {
        'dur_loss': dur_loss(dur_pred, ph_dur),
        'sdp_flow_loss': sdp_loss * 0.005,
        'dur_sdp_loss': 0.1 * dur_sdp_loss(sdp_pred, ph_dur),
    }


for step in range(3):
    losses = compute_losses()
    optimizer.zero_grad()
    sum(losses.values()).backward()
    optimizer.step()
    print({name: loss.item() for name, loss in losses.items()})

# %%
optimizer.zero_grad()
losses = compute_losses()
losses['dur_sdp_loss'].backward()
print([None if p.grad is None else p.grad.norm() for p in predictor.sdp.parameters()])
