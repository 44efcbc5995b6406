# https://github.com/vturrisi/solo-learn/issues/135
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def simclr_loss_func(z1, z2, temperature=0.1):
    z = F.normalize(torch.cat((z1, z2)), dim=-1)
    logits = torch.einsum("if, jf -> ij", z, z) / temperature
    logits = logits - 1e9 * torch.eye(len(z))
    n = len(z1)
    targets = torch.cat((torch.arange(n, 2 * n), torch.arange(n)))
    return F.cross_entropy(logits, targets)


class BaseMethod(nn.Module):
    def __init__(self, num_classes=5, features_dim=16):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, features_dim, 3, 2, 1), nn.AdaptiveAvgPool2d(1),
                                     nn.Flatten())
        self.classifier = nn.Linear(features_dim, num_classes)

    def base_forward(self, X):
        feats = self.encoder(X)
        logits = self.classifier(feats.detach())
        return {"logits": logits, "feats": feats}

    def _shared_step(self, X, targets):
        out = self.base_forward(X)
        logits, feats = out["logits"], out["feats"]
        loss = F.cross_entropy(logits, targets)
        acc1 = (logits.argmax(1) == targets).float().mean()
        return {"loss": loss, "logits": logits, "feats": feats, "acc1": acc1}

    def training_step(self, batch, batch_idx):
        _, X, targets = batch
        outs = [self._shared_step(x, targets) for x in X]
        outs = {k: [out[k] for out in outs] for k in outs[0].keys()}
        outs["loss"] = sum(outs["loss"]) / len(X)
        return outs


class SimCLR(BaseMethod):
    def __init__(self, proj_hidden_dim=16, proj_output_dim=8, features_dim=16, **kwargs):
        super().__init__(features_dim=features_dim, **kwargs)
        self.projector = nn.Sequential(nn.Linear(features_dim, proj_hidden_dim), nn.ReLU(), nn.Linear(proj_hidden_dim, proj_output_dim))

    def training_step(self, batch, batch_idx):
        out = super().training_step(batch, batch_idx)
        class_loss = out["loss"]
        z1, z2 = [self.projector(feats) for feats in out["feats"]]
        nce_loss = simclr_loss_func(z1, z2)
        return nce_loss + class_loss


# %%
model = SimCLR()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for batch_idx in range(3):
    images = torch.rand(8, 3, 16, 16)
    views = [images + 0.1 * torch.randn_like(images) for _ in range(2)]
    loss = model.training_step((torch.arange(8), views, torch.randint(5, (8,))), batch_idx)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(batch_idx, loss.item())
