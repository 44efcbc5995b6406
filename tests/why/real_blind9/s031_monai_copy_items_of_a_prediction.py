# https://github.com/Project-MONAI/MONAI/issues/1178
import copy

import torch
from torch import nn

torch.manual_seed(0)


class CopyItemsd:
    def __init__(self, keys, times, names):
        self.keys, self.times, self.names = keys, times, names

    def __call__(self, data):
        d = dict(data)
        for new_keys in [self.names]:
            for key, new_key in zip(self.keys, new_keys):
                d[new_key] = copy.deepcopy(d[key])
        return d


class Activationsd:
    def __init__(self, keys):
        self.keys = keys

    def __call__(self, data):
        d = dict(data)
        for key in self.keys:
            d[key] = torch.sigmoid(d[key])
        return d


# %%
model = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 1, 1))
post_transforms = [Activationsd(["pred"]), CopyItemsd(["pred"], 1, ["pred_act"])]
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
batch = {"image": torch.rand(2, 1, 8, 8), "label": torch.randint(0, 2, (2, 1, 8, 8)).float()}

# %%
for iteration in range(2):
    optimizer.zero_grad()
    d = dict(batch, pred=model(batch["image"]))
    loss = nn.functional.binary_cross_entropy_with_logits(d["pred"], d["label"])
    loss.backward()
    optimizer.step()
    for t in post_transforms:
        d = t(d)
