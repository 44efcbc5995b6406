# https://discuss.pytorch.org/t/custom-loss-autograd-module-what-is-the-difference/69251
import torch
import torch.nn as nn

torch.manual_seed(0)


class Diceloss(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, target):
        ctx.save_for_backward(input, target)
        num = input.size()[0]
        eps = 0.0001
        ctx.inter = torch.dot(input.view(-1), target.view(-1))
        ctx.union = torch.sum(input) + torch.sum(target) + eps
        t = (2 * ctx.inter.float() + eps) / ctx.union.float()
        return (1 - t) / num

    @staticmethod
    def backward(ctx, grad_output):
        input, target = ctx.saved_tensors
        grad_input = grad_target = None

        if ctx.needs_input_grad[0]:
            grad_input = grad_output * 2 * (target * ctx.union - ctx.inter) \
                         / (ctx.union * ctx.union)
        if ctx.needs_input_grad[1]:
            grad_target = None

        return grad_input, grad_target


class BinaryDiceLoss(nn.Module):
    """Dice loss of binary class"""

    def __init__(self, smooth=1, p=2, reduction='mean'):
        super(BinaryDiceLoss, self).__init__()
        self.smooth = smooth
        self.p = p
        self.reduction = reduction

    def forward(self, predict, target):
        assert predict.shape[0] == target.shape[0], "predict & target batch size don't match"
        predict = predict.contiguous().view(predict.shape[0], -1)
        target = target.contiguous().view(target.shape[0], -1)

        num = 2 * torch.sum(torch.mul(predict, target), dim=1) + self.smooth
        den = torch.sum(predict.pow(self.p) + target.pow(self.p), dim=1) + self.smooth
        loss = 1 - num / den

        if self.reduction == 'mean':
            return loss.mean()
        elif self.reduction == 'sum':
            return loss.sum()
        return loss


def segmentation_net():
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(),
        nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(),
        nn.Conv2d(8, 1, 1), nn.Sigmoid(),
    )


# %%
true_mask = torch.zeros(8, 1, 16, 16)
for i in range(8):
    true_mask[i, :, i:i + 7, 3:3 + 7] = 1.0
images = true_mask + 0.3 * torch.randn(8, 1, 16, 16)

# %%
# 2. Using nn.Module
criterion = BinaryDiceLoss()
model_2 = segmentation_net()
optimizer = torch.optim.SGD(model_2.parameters(), lr=2.0)
losses_2 = []
for epoch in range(40):
    predicted_mask = model_2(images)
    loss = criterion(predicted_mask, true_mask)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses_2.append(loss.item())
print('nn.Module', losses_2[0], losses_2[-1])

# %%
# 1. Using autograd
criterion = Diceloss.apply
model = segmentation_net()
optimizer = torch.optim.SGD(model.parameters(), lr=2.0)
losses = []
for epoch in range(40):
    predicted_mask = model(images)
    loss = criterion(predicted_mask, true_mask)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print('autograd', losses[0], losses[-1])
