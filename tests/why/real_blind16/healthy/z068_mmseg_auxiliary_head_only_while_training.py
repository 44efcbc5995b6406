# https://github.com/open-mmlab/mmsegmentation/issues/365
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def block(c_in, c_out):
    return nn.Sequential(nn.Conv2d(c_in, c_out, 3, padding=1, bias=False), nn.BatchNorm2d(c_out), nn.ReLU(inplace=True))


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.layer3, self.layer4 = block(1, 16), block(16, 24), block(24, 32)

    def forward(self, x):
        c2 = self.stem(x)
        c3 = self.layer3(F.max_pool2d(c2, 2))
        return c3, self.layer4(c3)


class FCNHead(nn.Module):
    def __init__(self, in_channels, in_index, loss_weight, num_classes=3):
        super().__init__()
        self.in_index, self.loss_weight = in_index, loss_weight
        self.convs = block(in_channels, 16)
        self.conv_seg = nn.Conv2d(16, num_classes, 1)

    def forward(self, inputs):
        return self.conv_seg(self.convs(inputs[self.in_index]))

    def forward_train(self, inputs, gt):
        logits = F.interpolate(self(inputs), size=gt.shape[1:], mode='bilinear', align_corners=False)
        return self.loss_weight * F.cross_entropy(logits, gt, ignore_index=255)


class EncoderDecoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = Backbone()
        self.decode_head = FCNHead(32, in_index=1, loss_weight=1.0)
        self.auxiliary_head = FCNHead(24, in_index=0, loss_weight=0.4)

    def forward_train(self, img, gt):
        x = self.backbone(img)
        return {
            'decode.loss_seg': self.decode_head.forward_train(x, gt),
            'aux.loss_seg': self.auxiliary_head.forward_train(x, gt),
        }

    def simple_test(self, img):
        x = self.backbone(img)
        logits = F.interpolate(self.decode_head(x), size=img.shape[2:], mode='bilinear', align_corners=False)
        return logits.argmax(1)


def scenes(n, size=16):
    """A bright square and a dim one; a few pixels at the rim are not labelled."""
    img, gt = 0.15 * torch.randn(n, 1, size, size), torch.zeros(n, size, size, dtype=torch.long)
    for i in range(n):
        for label, brightness in ((1, 0.8), (2, 1.6)):
            y, x = torch.randint(0, size - 6, (2,)).tolist()
            img[i, 0, y : y + 6, x : x + 6] = brightness + 0.15 * torch.randn(6, 6)
            gt[i, y : y + 6, x : x + 6] = label
    gt[:, 0], gt[:, -1] = 255, 255
    return img, gt


# %%
model = EncoderDecoder()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
log = []
model.train()
for it in range(120):
    for group in optimizer.param_groups:
        group['lr'] = 0.05 * (1 - it / 120) ** 0.9
    losses = model.forward_train(*scenes(16))
    loss = sum(losses.values())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    log.append({name: value.item() for name, value in losses.items()})

# %%
model.eval()
img, gt = scenes(64)
with torch.no_grad():
    pred = model.simple_test(img)
    without = model.decode_head(model.backbone(img)).argmax(1)
valid = gt != 255
iou = [((pred == k) & (gt == k) & valid).sum().item() / (((pred == k) | (gt == k)) & valid).sum().item() for k in range(3)]
print(log[0], log[-1], iou)
assert all(p.grad is not None and p.grad.abs().max() > 0 for p in model.auxiliary_head.parameters())
assert all(log[-1][name] < 0.5 * log[0][name] for name in log[0])
assert min(iou) > 0.6
