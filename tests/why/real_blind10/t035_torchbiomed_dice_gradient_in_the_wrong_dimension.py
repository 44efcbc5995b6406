# https://github.com/mattmacy/torchbiomed/issues/2
import torch
import torch.nn as nn
from torch.autograd import Function

torch.manual_seed(0)


# Intersection = dot(A, B)
# Union = dot(A, A) + dot(B, B)
# The Dice loss function is defined as
# 1/2 * intersection / union
class DiceLoss(Function):
    @staticmethod
    def forward(ctx, input, target):
        eps = 0.000001
        _, result_ = input.max(1)
        result = result_.float()
        target = target.float()
        ctx.save_for_backward(result, target)
        intersect = torch.dot(result, target)
        # binary values so sum the same as sum of squares
        union = torch.sum(result) + torch.sum(target) + (2*eps)
        ctx.union, ctx.intersect = union, intersect
        # the target volume can be empty - so we still want to
        # end up with a score of 1 if the result is 0/0
        return 2*(intersect+eps) / union

    @staticmethod
    def backward(ctx, grad_output):
        input, target = ctx.saved_tensors
        intersect, union = ctx.intersect, ctx.union
        gt = torch.div(target, union)
        IoU2 = intersect/(union*union)
        pred = torch.mul(input, IoU2)
        dDice = torch.add(torch.mul(gt, 2), torch.mul(pred, -4))
        grad_input = torch.cat((torch.mul(dDice, -grad_output),
                                torch.mul(dDice, grad_output)), 0)
        return grad_input, None


def dice_loss(input, target):
    return DiceLoss.apply(input, target)


class VNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv3d(1, 4, kernel_size=3, padding=1)
        self.relu1 = nn.ELU()
        self.conv2 = nn.Conv3d(4, 2, kernel_size=1)

    def forward(self, x):
        out = self.conv2(self.relu1(self.conv1(x)))
        # make channels the last axis
        out = out.permute(0, 2, 3, 4, 1).contiguous()
        # flatten
        out = out.view(out.numel() // 2, 2)
        return torch.softmax(out, dim=1)


# %%
model = VNet()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-1, momentum=0.99, weight_decay=1e-8)
data = torch.randn(2, 1, 6, 6, 6)
target = (data > 0.5).long().view(-1)

# %%
model.train()
for _ in range(3):
    optimizer.zero_grad()
    output = model(data)
    loss = 1 - dice_loss(output, target)
    loss.backward()
    optimizer.step()
