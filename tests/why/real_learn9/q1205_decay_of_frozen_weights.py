# https://github.com/open-mmlab/OpenPCDet/issues/845
import torch
import torch.nn as nn

torch.manual_seed(0)


class OptimWrapper:
    """Decouples the weight decay from the optimizer, as fastai does."""

    def __init__(self, opt, wd, true_wd=True):
        self.opt, self.wd, self.true_wd = opt, wd, true_wd
        for group in self.opt.param_groups:
            group["weight_decay"] = 0

    def step(self):
        if self.true_wd:
            for group in self.opt.param_groups:
                for p in group["params"]:
                    p.data.mul_(1 - self.wd * group["lr"])
        self.opt.step()

    def zero_grad(self):
        self.opt.zero_grad()


class PointPillar(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone_3d = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 16))
        self.dense_head = nn.Linear(16, 3)

    def forward(self, x):
        with torch.no_grad():
            features = self.backbone_3d(x)
        return self.dense_head(features)


# %%
model = PointPillar()
for p in model.backbone_3d.parameters():
    p.requires_grad = False
optimizer = OptimWrapper(torch.optim.Adam(model.parameters(), lr=0.003, betas=(0.9, 0.99)), wd=0.01)
before = model.backbone_3d[0].weight.detach().clone()

# %%
for it in range(5):
    points, labels = torch.randn(8, 6), torch.randint(0, 3, (8,))
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(points), labels)
    loss.backward()
    optimizer.step()
print((model.backbone_3d[0].weight - before).abs().max())
