# https://github.com/muzairkhattak/PromptSRC/issues/6
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class DataParallel(nn.Module):
    """Gives each device its part of the batch, and gathers what the replicas return."""

    def __init__(self, module, n_devices=2):
        super().__init__()
        self.module, self.n_devices = module, n_devices

    def forward(self, *inputs):
        parts = zip(*(x.chunk(self.n_devices) for x in inputs))
        outputs = [self.module(*part) for part in parts]
        return torch.cat([out.unsqueeze(0) if out.dim() == 0 else out for out in outputs])


class CustomCLIP(nn.Module):
    def __init__(self, classes=5, n_ctx=4, dim=16):
        super().__init__()
        self.image_encoder = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, dim))
        self.text_encoder = nn.Linear(dim, dim)
        for encoder in (self.image_encoder, self.text_encoder):
            encoder.requires_grad_(False)
        self.ctx = nn.Parameter(torch.randn(n_ctx, dim) * 0.02)
        self.register_buffer("name_embedding", torch.randn(classes, dim))

    def forward(self, image, label):
        prompts = self.name_embedding + self.ctx.mean(0)
        text_features = F.normalize(self.text_encoder(prompts), dim=-1)
        image_features = F.normalize(self.image_encoder(image), dim=-1)
        zero_shot = F.normalize(self.text_encoder(self.name_embedding), dim=-1)
        logits = 10 * image_features @ text_features.t()
        loss_ce = F.cross_entropy(logits, label)
        loss_scl_text = F.l1_loss(text_features, zero_shot)
        return loss_ce + 25 * loss_scl_text


# %%
model = CustomCLIP()
optim = torch.optim.SGD([model.ctx], lr=0.0025)
device_count = 2
if device_count > 1:
    model = DataParallel(model, device_count)
train_loader = [(torch.randn(8, 12), torch.randint(0, 5, (8,))) for _ in range(3)]

# %%
for image, label in train_loader:
    loss = model(image, label)
    optim.zero_grad()
    loss.backward()
    optim.step()
    print(loss.item())
