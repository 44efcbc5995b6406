# https://github.com/mlfoundations/open_clip/blob/main/src/open_clip_train/legacy_train.py
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class CLIP(nn.Module):
    def __init__(self):
        super().__init__()
        self.visual, self.transformer = nn.Linear(20, 8), nn.Sequential(nn.Embedding(30, 16), nn.Flatten(), nn.Linear(16 * 4, 8))
        self.logit_scale = nn.Parameter(torch.ones([]) * math.log(100))

    def forward(self, image, text):
        return F.normalize(self.visual(image), dim=-1), F.normalize(self.transformer(text), dim=-1), self.logit_scale.exp()


# %%
model = CLIP()
exclude = lambda n, p: p.ndim < 2 or "bn" in n or "bias" in n or 'logit_scale' in n
named_parameters = list(model.named_parameters())
optimizer = torch.optim.AdamW([
    {"params": [p for n, p in named_parameters if exclude(n, p)], "weight_decay": 0.},
    {"params": [p for n, p in named_parameters if not exclude(n, p)], "weight_decay": 0.2},
], lr=1e-3)

# %%
for i in range(4):
    images, texts = torch.randn(8, 20), torch.randint(0, 30, (8, 4))
    optimizer.zero_grad()
    image_features, text_features, logit_scale = model(images, texts)
    logits_per_image = logit_scale * image_features @ text_features.T
    labels = torch.arange(8)
    total_loss = (F.cross_entropy(logits_per_image, labels) + F.cross_entropy(logits_per_image.T, labels)) / 2
    total_loss.backward()
    optimizer.step()

    # Note: we clamp to 4.6052 = ln(100), as in the original paper.
    with torch.no_grad():
        model.logit_scale.clamp_(0, math.log(100))
    print(total_loss.item(), logit_scale.item())
