# https://github.com/qubvel-org/segmentation_models.pytorch/pull/611
import torch
from torch import nn

model = nn.Conv2d(3, 1, 3, padding=1)
images, masks = torch.randn(2, 3, 8, 8), torch.rand(2, 1, 8, 8).round()


# %%
def _threshold(x, threshold=None):
    if threshold is not None:
        return torch.tensor((x > threshold).type(x.dtype), requires_grad=True)
    else:
        return x


def dice_loss(pr, gt, eps=1.0, threshold=None):
    pr = _threshold(pr, threshold=threshold)
    tp = torch.sum(gt * pr)
    fp = torch.sum(pr) - tp
    fn = torch.sum(gt) - tp
    return 1 - (2 * tp + eps) / (2 * tp + fn + fp + eps)


# %%
loss = dice_loss(torch.sigmoid(model(images)), masks, threshold=0.5)
loss.backward()
print(model.weight.grad)
