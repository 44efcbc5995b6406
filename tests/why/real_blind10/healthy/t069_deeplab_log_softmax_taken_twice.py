# https://github.com/speedinghzl/Pytorch-Deeplab/issues/2
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class CrossEntropy2d(nn.Module):
    def __init__(self, size_average=True, ignore_label=255):
        super(CrossEntropy2d, self).__init__()
        self.size_average = size_average
        self.ignore_label = ignore_label

    def forward(self, predict, target, weight=None):
        assert not target.requires_grad
        n, c, h, w = predict.size()
        target_mask = (target >= 0) * (target != self.ignore_label)
        target = target[target_mask]
        predict = predict.transpose(1, 2).transpose(2, 3).contiguous()
        predict = predict[target_mask.view(n, h, w, 1).repeat(1, 1, 1, c)].view(-1, c)
        return F.cross_entropy(predict, target, weight=weight)


def loss_calc(pred, label):
    """
    This function returns cross entropy loss for semantic segmentation
    """
    label = label.long()
    m = nn.LogSoftmax(dim=1)
    criterion = CrossEntropy2d()
    pred = m(pred)
    return criterion(pred, label)


def lr_poly(base_lr, iter, max_iter, power):
    return base_lr*((1-float(iter)/max_iter)**(power))


# %%
model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 5, 1))
for i in model[1].parameters():
    i.requires_grad = False
optimizer = torch.optim.SGD(filter(lambda p: p.requires_grad, model.parameters()), lr=0.1, momentum=0.9)
images, labels = torch.randn(2, 3, 12, 12), torch.randint(0, 5, (2, 12, 12))
labels[:, :2] = 255

losses = []
for i_iter in range(15):
    optimizer.param_groups[0]['lr'] = lr_poly(0.1, i_iter, 15, 0.9)
    optimizer.zero_grad()
    loss = loss_calc(model(images), labels)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
