# https://github.com/fundamentalvision/Uni-Perceiver/issues/2
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class CrossEntropy(nn.Module):
    def forward(self, outputs_dict):
        return {"CrossEntropy": F.cross_entropy(outputs_dict["output"], outputs_dict["target"])}


class Accuracy(nn.Module):
    def forward(self, outputs_dict):
        ret = {}
        pred = torch.argmax(outputs_dict["output"], dim=-1)
        ret["@1"] = (pred == outputs_dict["target"]).float().mean()
        return ret


def build_losses(names):
    return nn.ModuleList({"CrossEntropy": CrossEntropy, "Accuracy": Accuracy}[name]() for name in names)


# %%
model = nn.Sequential(nn.Linear(12, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 6))
losses = build_losses(["CrossEntropy", "Accuracy"])
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

# %%
for iteration in range(4):
    output, target = model(torch.randn(16, 12)), torch.randint(0, 6, (16,))
    losses_dict = {}
    for loss in losses:
        losses_dict.update(loss({"output": output, "target": target}))
    total = sum(losses_dict.values())
    optimizer.zero_grad()
    total.backward()
    optimizer.step()
    print(iteration, {k: round(v.item(), 3) for k, v in losses_dict.items()})
