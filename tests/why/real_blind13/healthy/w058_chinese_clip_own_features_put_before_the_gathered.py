# https://github.com/OFA-Sys/Chinese-CLIP/issues/54
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.distributed as dist

torch.manual_seed(0)

if not dist.is_initialized():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)


class CLIP(nn.Module):
    def __init__(self, vocab=30, dim=16):
        super().__init__()
        self.visual = nn.Sequential(nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 16, dim))
        self.token_embedding = nn.Embedding(vocab, 24)
        self.text_projection = nn.Linear(24, dim)
        self.logit_scale = nn.Parameter(torch.ones([]) * math.log(1 / 0.07))

    def forward(self, image, text):
        image_features = F.normalize(self.visual(image), dim=-1)
        text_features = F.normalize(self.text_projection(self.token_embedding(text).mean(1)), dim=-1)
        return image_features, text_features, self.logit_scale.exp()


def gather(features):
    world_size, rank = dist.get_world_size(), dist.get_rank()
    gathered = [torch.zeros_like(features) for _ in range(world_size)]
    dist.all_gather(gathered, features.detach())
    # what comes from elsewhere has no graph, one's own features have
    return torch.cat([features] + gathered[:rank] + gathered[rank + 1:])


def get_loss(model, images, texts, loss_img, loss_txt):
    image_features, text_features, logit_scale = model(images, texts)
    all_image_features = gather(image_features)
    all_text_features = gather(text_features)
    logits_per_image = logit_scale * all_image_features @ all_text_features.t()
    logits_per_text = logits_per_image.t()
    ground_truth = torch.arange(len(logits_per_image))
    total_loss = (loss_img(logits_per_image, ground_truth) + loss_txt(logits_per_text, ground_truth)) / 2
    i2t_acc = (logits_per_image.argmax(-1) == ground_truth).float().mean()
    return total_loss, i2t_acc


# %%
model = CLIP()
decayed = [p for p in model.parameters() if p.ndim >= 2]
others = [p for p in model.parameters() if p.ndim < 2]
optimizer = torch.optim.AdamW([{"params": others, "weight_decay": 0.}, {"params": decayed, "weight_decay": 0.001}],
                              lr=3e-3, betas=(0.9, 0.98), eps=1e-6)
loss_img, loss_txt = nn.CrossEntropyLoss(), nn.CrossEntropyLoss()
pictures = torch.randn(30, 3, 8, 8)
steps, warmup = 80, 10

# %%
model.train()
history, accuracies = [], []
for step in range(steps):
    lr = 3e-3 * (step + 1) / warmup if step < warmup else 1.5e-3 * (1 + math.cos(math.pi * (step - warmup) / (steps - warmup)))
    for group in optimizer.param_groups:
        group["lr"] = lr
    optimizer.zero_grad()
    words = torch.randperm(30)[:16]
    texts = words[:, None].repeat(1, 4)
    images = pictures[words] + 0.3 * torch.randn(16, 3, 8, 8)
    total_loss, acc = get_loss(model, images, texts, loss_img, loss_txt)
    total_loss.backward()
    optimizer.step()
    model.logit_scale.data = torch.clamp(model.logit_scale.data, 0, 4.6052)
    history.append(total_loss.item())
    accuracies.append(acc.item())
dist.destroy_process_group()
print(history[0], history[-1], accuracies[-1], model.logit_scale.item())
assert history[-1] < 0.5 * history[0] and accuracies[-1] > 0.8
assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())
