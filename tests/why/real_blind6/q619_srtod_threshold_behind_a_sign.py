# https://github.com/Hiyuur/SR-TOD/issues/5
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class DGFE(nn.Module):
    """Difference map guided feature enhancement"""

    def __init__(self, gate_channels=8, reduction_ratio=4):
        super(DGFE, self).__init__()
        self.mlp = nn.Sequential(nn.Linear(gate_channels, gate_channels // reduction_ratio), nn.ReLU(), nn.Linear(gate_channels // reduction_ratio, gate_channels))
        self.learnable_thresh = nn.Parameter(torch.tensor(0.0156862))

    def forward(self, x, difference_map):
        learnable_thresh = self.learnable_thresh
        avg_pool = F.adaptive_avg_pool2d(x, 1).flatten(1)
        max_pool = F.adaptive_max_pool2d(x, 1).flatten(1)
        scale = torch.sigmoid(self.mlp(avg_pool) + self.mlp(max_pool))[:, :, None, None]
        difference_map_mask = (torch.sign(difference_map - learnable_thresh) + 1) * 0.5
        feat_diff_mat = difference_map_mask * scale
        return x * feat_diff_mat + x


# %%
backbone, dgfe, head = nn.Conv2d(3, 8, 3, 2, 1), DGFE(), nn.Conv2d(8, 2, 1)
params = [*backbone.parameters(), *dgfe.parameters(), *head.parameters()]
optimizer = torch.optim.SGD(params, lr=0.02, momentum=0.9, weight_decay=0.0)

# %%
for i in range(3):
    img, gt = torch.rand(2, 3, 12, 12), torch.randint(0, 2, (2, 6, 6))
    difference_map = 0.05 * torch.rand(2, 1, 6, 6)
    loss = F.cross_entropy(head(dgfe(backbone(img), difference_map)), gt)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(i, loss.item(), dgfe.learnable_thresh.item())
