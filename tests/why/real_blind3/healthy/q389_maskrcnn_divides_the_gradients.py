# https://github.com/NVIDIA/DeepLearningExamples/issues/625
from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
cfg = SimpleNamespace(SOLVER=SimpleNamespace(ACCUMULATE_GRAD=True, ACCUMULATE_STEPS=3, BASE_LR=0.02, MAX_ITER=6))


class GeneralizedRCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.cls_score, self.bbox_pred = nn.Linear(8, 4), nn.Linear(8, 4)

    def forward(self, images, targets):
        x = self.backbone(images).mean((2, 3))
        return {'loss_classifier': F.cross_entropy(self.cls_score(x), targets['labels']),
                'loss_box_reg': F.smooth_l1_loss(self.bbox_pred(x), targets['boxes'])}


# %%
model = GeneralizedRCNN()
optimizer = torch.optim.SGD(model.parameters(), lr=cfg.SOLVER.BASE_LR, momentum=0.9)
data_loader = [(torch.randn(4, 3, 8, 8), {'labels': torch.randint(4, (4,)), 'boxes': torch.rand(4, 4)})
               for _ in range(cfg.SOLVER.MAX_ITER)]

# the mean of the first three losses, at once
model.train()
mean_loss = sum(sum(model(*batch).values()) for batch in data_loader[:3]) / 3
of_the_mean = torch.autograd.grad(mean_loss, list(model.parameters()))

# %%
stepped_with = []
for iteration, (images, targets) in enumerate(data_loader, 1):
    loss_dict = model(images, targets)
    losses = sum(loss for loss in loss_dict.values())
    losses.backward()

    if iteration % cfg.SOLVER.ACCUMULATE_STEPS == 0:
        for param in model.parameters():
            if param.grad is not None:
                param.grad.data.div_(cfg.SOLVER.ACCUMULATE_STEPS)
        stepped_with.append([p.grad.clone() for p in model.parameters()])
        optimizer.step()
        optimizer.zero_grad()
    print(iteration, {k: round(v.item(), 3) for k, v in loss_dict.items()})
