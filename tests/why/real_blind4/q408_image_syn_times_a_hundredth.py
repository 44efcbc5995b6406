# https://github.com/pytorch/pytorch/issues/140469
from types import SimpleNamespace

import torch
import torch.nn as nn

torch.manual_seed(0)
args = SimpleNamespace(dlipc=2, dllr_img=0.1, dldevice='cpu', Iteration=2)
num_classes, channel, im_size = 3, 1, (8, 8)


class ConvNet(nn.Module):
    def __init__(self, channel, num_classes):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(channel, 6, 3, padding=1), nn.InstanceNorm2d(6, affine=True), nn.ReLU(),
                                      nn.AvgPool2d(2))
        self.classifier = nn.Linear(6 * 16, num_classes)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


def match_loss(gw_syn, gw_real):
    dis = torch.tensor(0.0)
    for a, b in zip(gw_syn, gw_real):
        dis = dis + ((a - b) ** 2).sum()
    return dis


images_all = torch.rand(30, channel, *im_size)
labels_all = torch.arange(30) % num_classes

# %%
image_syn = torch.randn(size=(num_classes*args.dlipc, channel, im_size[0], im_size[1]), dtype=torch.float, requires_grad=True, device=args.dldevice) * 0.01
label_syn = torch.arange(num_classes).repeat_interleave(args.dlipc)
optimizer_img = torch.optim.SGD([image_syn, ], lr=args.dllr_img, momentum=0.5)
optimizer_img.zero_grad()
criterion = nn.CrossEntropyLoss()

for it in range(args.Iteration + 1):
    net = ConvNet(channel, num_classes)
    net_parameters = list(net.parameters())
    loss = torch.tensor(0.0)
    for c in range(num_classes):
        real = labels_all == c
        gw_real = torch.autograd.grad(criterion(net(images_all[real]), labels_all[real]), net_parameters)
        syn = label_syn == c
        gw_syn = torch.autograd.grad(criterion(net(image_syn[syn]), label_syn[syn]), net_parameters, create_graph=True)
        loss = loss + match_loss(gw_syn, [g.detach() for g in gw_real])
    optimizer_img.zero_grad()
    loss.backward()
    optimizer_img.step()
    print(it, loss.item())
