# https://github.com/speedinghzl/Pytorch-Deeplab/issues/30
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)


class Classifier_Module(nn.Module):
    def __init__(self, dilation_series, padding_series, num_classes):
        super(Classifier_Module, self).__init__()
        self.conv2d_list = nn.ModuleList()
        for dilation, padding in zip(dilation_series, padding_series):
            self.conv2d_list.append(nn.Conv2d(16, num_classes, 3, padding=padding, dilation=dilation))
        for m in self.conv2d_list:
            m.weight.data.normal_(0, 0.01)

    def forward(self, x):
        out = self.conv2d_list[0](x)
        for i in range(len(self.conv2d_list) - 1):
            out += self.conv2d_list[i + 1](x)
        return out


class ResNet(nn.Module):
    def __init__(self, num_classes):
        super(ResNet, self).__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16, affine=True)
        self.layer1 = nn.Sequential(nn.Conv2d(16, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU())
        for bn in (self.bn1, self.layer1[1]):
            for i in bn.parameters():
                i.requires_grad = False
        self.layer5 = Classifier_Module([1, 2], [1, 2], num_classes)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        return self.layer5(self.layer1(x))

    def get_1x_lr_params_NOscale(self):
        for module in (self.conv1, self.bn1, self.layer1):
            for k in module.parameters():
                if k.requires_grad:
                    yield k

    def get_10x_lr_params(self):
        for i in self.layer5.parameters():
            yield i

    def optim_parameters(self, learning_rate):
        return [{'params': self.get_1x_lr_params_NOscale(), 'lr': learning_rate},
                {'params': self.get_10x_lr_params(), 'lr': 10 * learning_rate}]


def adjust_learning_rate(optimizer, i_iter, base=0.01, num_steps=60, power=0.9):
    lr = base * ((1 - float(i_iter) / num_steps) ** power)
    optimizer.param_groups[0]['lr'] = lr
    optimizer.param_groups[1]['lr'] = lr * 10


def loss_calc(pred, label):
    return nn.CrossEntropyLoss(ignore_index=255)(pred, label.long())


# %%
labels = torch.zeros(24, 12, 12)
images = torch.rand(24, 3, 12, 12)
for k in range(24):
    top, left, kind = *torch.randint(0, 7, (2,)).tolist(), 1 + k % 2
    labels[k, top:top + 5, left:left + 5] = kind
    images[k, kind, top:top + 5, left:left + 5] += 0.8
    labels[k, top:top + 5, left] = 255
trainloader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(images, labels), batch_size=4, shuffle=True)

# %%
model = ResNet(num_classes=3)
model.train()
optimizer = optim.SGD(model.optim_parameters(0.01), lr=0.01, momentum=0.9, weight_decay=0.0005)
optimizer.zero_grad()
losses, i_iter = [], 0
for epoch in range(10):
    for batch in trainloader:
        image, label = batch
        optimizer.zero_grad()
        adjust_learning_rate(optimizer, i_iter)
        pred = model(image)
        loss = loss_calc(pred, label)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        i_iter += 1
print('iter = ', i_iter, 'completed, loss =', losses[0], losses[-1])
