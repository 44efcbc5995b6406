# https://github.com/zbf1991/WeCLIP/issues/13
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
GRID, CLASSES = 6, 3


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.ln_1, self.attn = nn.LayerNorm(dim), nn.MultiheadAttention(dim, 2, batch_first=True)
        self.ln_2, self.mlp = nn.LayerNorm(dim), nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        n = self.ln_1(x)
        x = x + self.attn(n, n, n, need_weights=False)[0]
        return x + self.mlp(self.ln_2(x))


class Encoder(nn.Module):
    """Twelve small blocks would be slow: three, numbered as the last three are."""

    def __init__(self, dim=24):
        super().__init__()
        self.patch = nn.Linear(4, dim)
        self.pos = nn.Parameter(0.1 * torch.randn(GRID * GRID, dim))
        self.resblocks = nn.ModuleDict({str(i): Block(dim) for i in (9, 10, 11)})
        self.text = nn.Linear(dim, CLASSES)

    def forward(self, patches):
        x = self.patch(patches) + self.pos
        fts = []
        for block in self.resblocks.values():
            x = block(x)
            fts.append(x)
        return fts

    def classify(self, last):
        return self.text(last).amax(1)


class WeCLIP(nn.Module):
    def __init__(self, encoder, dim=24):
        super().__init__()
        self.encoder = encoder
        for name, param in self.encoder.named_parameters():
            if "11" not in name:
                param.requires_grad = False
        self.decoder = nn.Sequential(nn.Linear(3 * dim, 48), nn.ReLU(), nn.Linear(48, CLASSES + 1))

    def get_param_groups(self):
        return list(self.decoder.parameters())

    def cam(self, last, labels):
        logits = self.encoder.classify(last)
        target = logits.gather(1, labels.unsqueeze(1)).sum()
        grads = torch.autograd.grad(target, last, retain_graph=True)[0]
        weights = grads.mean(1, keepdim=True)
        cam = (weights * last).sum(-1).detach()
        cam = cam - cam.amin(1, keepdim=True)
        return cam / (cam.amax(1, keepdim=True) + 1e-6)

    def forward(self, patches, labels):
        fts = self.encoder(patches)
        seg = self.decoder(torch.cat([f.detach() for f in fts], -1))
        return seg, self.cam(fts[-1], labels)


def pictures(n):
    """A square of three by three patches of one kind."""
    labels = torch.randint(0, CLASSES, (n,))
    patches, masks = 0.2 * torch.randn(n, GRID, GRID, 4), torch.zeros(n, GRID, GRID, dtype=torch.long)
    for i, (y, x) in enumerate(torch.randint(0, GRID - 2, (n, 2)).tolist()):
        patches[i, y:y + 3, x:x + 3, labels[i]] += 1
        masks[i, y:y + 3, x:x + 3] = labels[i] + 1
    return patches.flatten(1, 2), labels, masks.flatten(1)


# %%
encoder = Encoder()
optimizer = torch.optim.Adam(encoder.parameters(), lr=3e-3)
for _ in range(80):
    patches, labels, _ = pictures(64)
    optimizer.zero_grad()
    patches[:32], wanted = 0.2 * torch.randn_like(patches[:32]), F.one_hot(labels, CLASSES).float()
    wanted[:32] = 0  # empty pictures
    F.binary_cross_entropy_with_logits(encoder.classify(encoder(patches)[-1]), wanted).backward()
    optimizer.step()
optimizer.zero_grad()

# %%
model = WeCLIP(encoder)
optimizer = torch.optim.AdamW(model.get_param_groups(), lr=3e-3)
encoder_before = {n: p.detach().clone() for n, p in encoder.named_parameters()}
losses = []
for it in range(120):
    patches, labels, _ = pictures(32)
    seg, cam = model(patches, labels)
    pseudo = torch.where(cam > 0.5, labels.unsqueeze(1) + 1, 0)
    loss = F.cross_entropy(seg.transpose(1, 2), pseudo)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

# %%
patches, labels, masks = pictures(128)
seg, cam = model(patches, labels)
pseudo = torch.where(cam > 0.5, labels.unsqueeze(1) + 1, 0)
agreement = (seg.argmax(-1) == pseudo).float().mean().item()
print(losses[0], losses[-1], agreement, (seg.argmax(-1) == masks).float().mean().item())
assert all(torch.equal(p, encoder_before[n]) for n, p in encoder.named_parameters())
assert [n for n, p in encoder.named_parameters() if p.requires_grad and "11" not in n] == []
assert losses[-1] < 0.6 * losses[0] and agreement > 0.85
