# https://github.com/cfzd/Ultra-Fast-Lane-Detection/issues/282
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class resnet(nn.Module):
    def __init__(self):
        super(resnet, self).__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, 2, 1)
        self.bn1 = nn.BatchNorm2d(16)
        self.layer1 = nn.Conv2d(16, 32, 3, 2, 1)

    def forward(self, x):
        return F.relu(self.layer1(F.relu(self.bn1(self.conv1(x)))))


class parsingNet(nn.Module):
    def __init__(self, cls_dim=(11, 6, 4)):
        super(parsingNet, self).__init__()
        self.cls_dim = cls_dim
        self.total_dim = cls_dim[0] * cls_dim[1] * cls_dim[2]
        # input : nchw,
        self.model = resnet()
        self.pool = nn.Conv2d(32, 4, 1)
        self.cls = nn.Sequential(nn.Linear(4 * 8 * 8, 64), nn.ReLU(), nn.Linear(64, self.total_dim))

    def forward(self, x):
        fea = self.pool(self.model(x)).flatten(1)
        return self.cls(fea).view(-1, *self.cls_dim)


class SoftmaxFocalLoss(nn.Module):
    def __init__(self, gamma=2):
        super(SoftmaxFocalLoss, self).__init__()
        self.gamma = gamma
        self.nll = nn.NLLLoss()

    def forward(self, logits, labels):
        scores = F.softmax(logits, dim=1)
        factor = torch.pow(1. - scores, self.gamma)
        return self.nll(factor * F.log_softmax(logits, dim=1), labels)


# %%
net = parsingNet()
# stands for torch.load(cfg.finetune)['model']
state_all = parsingNet().state_dict()
state_clip = {}  # only use backbone parameters
for k, v in state_all.items():
    if 'model' in k:
        state_clip[k] = v
net.load_state_dict(state_clip, strict=False)
for param in net.parameters():
    param.requires_grad = False

optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
criterion = SoftmaxFocalLoss()
img, label = torch.randn(4, 3, 32, 32), torch.randint(0, 11, (4, 6, 4))

# %%
for epoch in range(2):
    net.train()
    loss = criterion(net(img), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
