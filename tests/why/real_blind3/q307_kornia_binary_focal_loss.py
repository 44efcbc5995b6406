# https://github.com/kornia/kornia/issues/918
import torch
import torch.nn as nn


def binary_focal_loss_with_logits(input, target, alpha=0.25, gamma=2.0, reduction='none', eps=1e-8):
    """The binary focal loss after RetinaNet, in which easy examples weigh less."""
    if not len(input.shape) >= 2:
        raise ValueError("Invalid input shape, we expect BxCx*. Got: {}".format(input.shape))
    probs = torch.sigmoid(input)
    loss_tmp = -alpha * torch.pow((1. - probs), gamma) * target * torch.log(probs + eps) \
        - (1 - alpha) * torch.pow(probs, gamma) * (1. - target) * torch.log(1. - probs + eps)
    loss_tmp = loss_tmp.squeeze(dim=1)
    if reduction == 'none':
        return loss_tmp
    if reduction == 'mean':
        return torch.mean(loss_tmp)
    return torch.sum(loss_tmp)


class BinaryFocalLossWithLogits(nn.Module):
    def __init__(self, alpha, gamma=2.0, reduction='none'):
        super().__init__()
        self.alpha, self.gamma, self.reduction, self.eps = alpha, gamma, reduction, 1e-8

    def forward(self, input, target):
        return binary_focal_loss_with_logits(input, target, self.alpha, self.gamma, self.reduction, self.eps)


# %%
torch.manual_seed(0)
segmenter = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 1, 1))
with torch.no_grad():
    segmenter[2].weight.mul_(400.)  # an over-confident checkpoint
criterion = BinaryFocalLossWithLogits(alpha=0.25, gamma=0.5, reduction='mean')
optimizer = torch.optim.Adam(segmenter.parameters(), lr=1e-3)
images = torch.randn(4, 1, 8, 8)
masks = (torch.rand(4, 1, 8, 8) > 0.5).float()

# %%
for step in range(2):
    prediction = segmenter(images)
    loss = criterion(prediction, masks)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item(), segmenter[0].weight.grad.norm())
