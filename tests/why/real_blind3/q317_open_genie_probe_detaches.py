# https://github.com/myscience/open-genie/issues/6
from collections import defaultdict

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

torch.manual_seed(0)


class RecordingProbe:
    """A forward hook that keeps the activations of the layers that it is on."""

    def __init__(self) -> None:
        self._data = defaultdict(list)

    @property
    def features(self):
        return {k: torch.cat(v) for k, v in self._data.items()}

    def __call__(self, module: nn.Module, inp, out: Tensor) -> None:
        name = str(id(module))
        feat = out.clone().detach()
        feat = feat.flatten(1).contiguous()
        self._data[name].append(feat)

    def clean(self) -> None:
        self._data.clear()


class PerceptualLoss(nn.Module):
    def __init__(self, feat_layers=('1', '3'), num_frames=2) -> None:
        super().__init__()
        self.num_frames = num_frames
        self.percept_model = nn.Sequential(
            nn.Conv2d(3, 6, 3, padding=1), nn.ReLU(), nn.Conv2d(6, 6, 3, stride=2, padding=1), nn.ReLU())
        # Freeze the perceptual model
        self.percept_model.eval()
        for param in self.percept_model.parameters():
            param.requires_grad = False
        self.probe = RecordingProbe()
        self.hook_handles = [
            module.register_forward_hook(self.probe)
            for name, module in self.percept_model.named_modules() if name in feat_layers]

    def forward(self, rec_video: Tensor, inp_video: Tensor) -> Tensor:
        t = inp_video.shape[2]
        idxs = torch.randperm(t)[:self.num_frames]
        fake_frames = rec_video[:, :, idxs].transpose(1, 2).flatten(0, 1)
        real_frames = inp_video[:, :, idxs].transpose(1, 2).flatten(0, 1)

        _ = self.percept_model(fake_frames)
        fake_feat = self.probe.features
        self.probe.clean()

        _ = self.percept_model(real_frames)
        real_feat = self.probe.features
        self.probe.clean()

        return torch.stack([F.mse_loss(fake_feat[k], real_feat[k]) for k in fake_feat.keys()]).mean()


class VideoTokenizer(nn.Module):
    def __init__(self, perc_loss_weight=1.0):
        super().__init__()
        self.enc = nn.Conv3d(3, 4, (1, 3, 3), padding=(0, 1, 1))
        self.dec = nn.Conv3d(4, 3, (1, 3, 3), padding=(0, 1, 1))
        self.perc_crit = PerceptualLoss()
        self.perc_loss_weight = perc_loss_weight

    def forward(self, video):
        rec_video = self.dec(F.gelu(self.enc(video)))
        rec_loss = F.mse_loss(rec_video, video)
        perc_loss = self.perc_crit(rec_video, video)
        loss = rec_loss + perc_loss * self.perc_loss_weight
        return loss, (rec_loss, perc_loss)


# %%
tokenizer = VideoTokenizer()
optimizer = torch.optim.AdamW([p for p in tokenizer.parameters() if p.requires_grad], lr=1e-3)

# %%
for step in range(2):
    video = torch.randn(2, 3, 4, 8, 8)
    loss, (rec_loss, perc_loss) = tokenizer(video)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, 'rec_loss', rec_loss.item(), 'perc_loss', perc_loss.item())
