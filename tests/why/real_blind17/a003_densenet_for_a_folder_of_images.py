# https://github.com/lxztju/pytorch_classification/issues/13
from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)


class DenseLayer(nn.Module):
    def __init__(self, channels, growth):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)
        self.conv = nn.Conv2d(channels, growth, 3, padding=1, bias=False)

    def forward(self, x):
        return torch.cat([x, self.conv(torch.relu(self.norm(x)))], dim=1)


class DenseNet(nn.Module):
    def __init__(self, growth=8, num_layers=4, num_classes=1000):
        super().__init__()
        channels = 16
        self.features = nn.Sequential()
        self.features.add_module('conv0', nn.Conv2d(3, channels, 3, padding=1, bias=False))
        for i in range(num_layers):
            self.features.add_module('denselayer%d' % (i + 1), DenseLayer(channels, growth))
            channels += growth
        self.features.add_module('norm5', nn.BatchNorm2d(channels))
        self.classifier = nn.Linear(channels, num_classes)

    def forward(self, x):
        out = torch.relu(self.features(x))
        out = nn.functional.adaptive_avg_pool2d(out, (1, 1)).flatten(1)
        return self.classifier(out)


def Densenet121(num_classes, test=False):
    model = DenseNet()
    fc_features = model.classifier.in_features
    model.classifier = nn.Linear(fc_features, num_classes)
    return model


cfg = SimpleNamespace(model_name='densenet121', NUM_CLASSES=5, LR=1e-3, BATCH_SIZE=8, MAX_EPOCH=1,
                      MODEL_NAMES={'densenet121': Densenet121})
images, labels = torch.rand(32, 3, 16, 16), torch.randint(0, cfg.NUM_CLASSES, (32,))
train_datasets = torch.utils.data.TensorDataset(images, labels)
train_dataloader = torch.utils.data.DataLoader(train_datasets, batch_size=cfg.BATCH_SIZE, shuffle=True)

# %%
print('****** Training {} ****** '.format(cfg.model_name))
model = cfg.MODEL_NAMES[cfg.model_name](num_classes=cfg.NUM_CLASSES)
ct = 0
for child in model.children():
    ct += 1
    if ct < 8:
        for param in child.parameters():
            param.requires_grad = False
print("...... Initialize the network done!!! .......")

# %%
optimizer = optim.Adam(filter(lambda p: p.requires_grad, model.parameters()), lr=cfg.LR)
criterion = nn.CrossEntropyLoss()

model.train()
for epoch in range(cfg.MAX_EPOCH):
    for iteration, (images, labels) in enumerate(train_dataloader):
        out = model(images)
        loss = criterion(out, labels)

        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

        prediction = torch.max(out, 1)[1]
        train_acc = (prediction == labels).sum().float() / cfg.BATCH_SIZE
        print('Epoch:' + repr(epoch) + ' || Loss: %.6f||' % (loss.item()) + 'ACC: %.3f ||' % (train_acc * 100))
