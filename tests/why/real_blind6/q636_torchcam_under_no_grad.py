# https://github.com/frgfm/torch-cam/issues/217
from functools import partial

import torch
import torch.nn as nn

torch.manual_seed(0)


class Uniformer(nn.Module):
    def __init__(self, num_classes=7):
        super().__init__()
        self.patch_embed = nn.Conv3d(1, 8, 3, 2, 1)
        self.blocks3 = nn.ModuleList([nn.Conv3d(8, 8, 3, 1, 1), nn.Conv3d(8, 8, 3, 1, 1)])
        self.head = nn.Linear(8, num_classes)

    def forward(self, x):
        x = self.patch_embed(x)
        for blk in self.blocks3:
            x = x + torch.relu(blk(x))
        return self.head(x.mean((2, 3, 4)))


class SmoothGradCAM:
    def __init__(self, model, target_layer):
        self.model, self.hook_a, self.hook_g = model, None, None
        target_layer.register_forward_hook(self._hook_a)
        target_layer.register_forward_hook(self._hook_g)

    def _hook_a(self, module, input, output):
        self.hook_a = output.data

    def _store_grad(self, grad, idx=0):
        self.hook_g = grad.data

    def _hook_g(self, module, input, output):
        output.register_hook(partial(self._store_grad, idx=0))

    def __call__(self, class_idx, scores):
        self.model.zero_grad()
        scores[:, class_idx].sum().backward()
        weights = self.hook_g.mean((2, 3, 4), keepdim=True)
        return torch.relu((weights * self.hook_a).sum(1))


# %%
model = Uniformer()
model.eval()
cam_extractor = SmoothGradCAM(model, target_layer=model.blocks3[-1])
input, target = torch.rand(1, 1, 6, 12, 12), 2

# %%
with torch.no_grad():
    output = model(input)
    activate_map = cam_extractor(target, output)
print(activate_map.shape)
