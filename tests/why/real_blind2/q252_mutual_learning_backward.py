# https://github.com/chxy95/Deep-Mutual-Learning/issues/5
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.autograd import Variable


def small_resnet(num_classes=4):
    return nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU(),
                         nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(24, num_classes))


class Trainer(object):
    def __init__(self, train_loader, model_num=2, lr=0.1):
        self.train_loader = train_loader
        self.model_num = model_num
        self.models, self.optimizers, self.schedulers = [], [], []
        self.loss_kl = nn.KLDivLoss(reduction='batchmean')
        self.loss_ce = nn.CrossEntropyLoss()

        for i in range(self.model_num):
            # build models
            model = small_resnet()
            self.models.append(model)
            optimizer = optim.SGD(model.parameters(), lr=lr, momentum=0.9, weight_decay=5e-4, nesterov=True)
            self.optimizers.append(optimizer)
            self.schedulers.append(optim.lr_scheduler.StepLR(self.optimizers[i], step_size=60, gamma=0.1))

    def train_one_epoch(self, epoch):
        losses = [0.] * self.model_num
        for model in self.models:
            model.train()
        for images, labels in self.train_loader:
            images, labels = Variable(images), Variable(labels)

            # forward pass
            outputs = []
            for model in self.models:
                outputs.append(model(images))
            for i in range(self.model_num):
                ce_loss = self.loss_ce(outputs[i], labels)
                kl_loss = 0
                for j in range(self.model_num):
                    if i != j:
                        kl_loss += self.loss_kl(F.log_softmax(outputs[i], dim=1),
                                                F.softmax(outputs[j], dim=1))
                loss = ce_loss + kl_loss / (self.model_num - 1)
                losses[i] += loss.item()

                # compute gradients and update SGD
                self.optimizers[i].zero_grad()
                loss.backward()
                self.optimizers[i].step()
        return losses


# %%
train_loader = [(torch.randn(8, 3, 6, 6), torch.randint(4, (8,))) for _ in range(3)]
trainer = Trainer(train_loader)

# %%
for epoch in range(2):
    print(trainer.train_one_epoch(epoch))
