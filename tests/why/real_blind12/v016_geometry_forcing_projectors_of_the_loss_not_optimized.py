# https://github.com/CIntellifusion/GeometryForcing/issues/13
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ConvProjector(nn.Module):
    def __init__(self, in_channels, mid_channels, out_channels):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(in_channels, mid_channels, 1), nn.ReLU(),
                                 nn.Conv2d(mid_channels, out_channels, 1))

    def forward(self, x):
        return self.net(x)


class VGGTAlignmentLoss(nn.Module):
    def __init__(self, latents_info=(16,), mid_channels=8, encoder_dim=12):
        super().__init__()
        # the frozen model whose features are the target
        self.vggt_model = nn.Conv2d(3, encoder_dim, 3, padding=1)
        self.vggt_model.eval()
        for p in self.vggt_model.parameters():
            p.requires_grad = False
        self.projectors = nn.ModuleList()
        for c in latents_info:
            self.projectors.append(ConvProjector(c, mid_channels, encoder_dim))

    def forward(self, latent, images, layer_index=-1):
        projected = self.projectors[layer_index](latent)
        return 1 - F.cosine_similarity(projected, self.vggt_model(images), dim=1).mean()


class DiffusionModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Conv2d(3, 16, 3, padding=1)
        self.dec = nn.Conv2d(16, 3, 3, padding=1)

    def forward(self, x):
        latent = torch.relu(self.enc(x))
        return self.dec(latent), latent


class DFoTGeometryForcing(nn.Module):
    def __init__(self):
        super().__init__()
        self.diffusion_model = DiffusionModel()
        self.alignment_loss = VGGTAlignmentLoss()

    def configure_optimizers(self):
        transition_params = list(self.diffusion_model.parameters())
        return torch.optim.AdamW(transition_params, lr=1e-3)

    def training_step(self, images):
        noise = torch.randn_like(images)
        pred, latent = self.diffusion_model(images + noise)
        return F.mse_loss(pred, noise) + 0.5 * self.alignment_loss(latent, images)


# %%
algo = DFoTGeometryForcing()
optimizer = algo.configure_optimizers()
before = algo.alignment_loss.projectors[0].net[0].weight.detach().clone()
images = torch.randn(4, 3, 8, 8)

# %%
for step in range(5):
    loss = algo.training_step(images)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
