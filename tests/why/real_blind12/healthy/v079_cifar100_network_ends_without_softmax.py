# https://github.com/weiaicunzai/pytorch-cifar100/issues/26
import torch
import torch.nn as nn
import torch.optim as optim
from torch.optim.lr_scheduler import LRScheduler
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class WarmUpLR(LRScheduler):
    def __init__(self, optimizer, total_iters, last_epoch=-1):
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        # for the first batches, the rate is base_lr * m / total_iters
        return [base_lr * self.last_epoch / (self.total_iters + 1e-8) for base_lr in self.base_lrs]


class VGG(nn.Module):
    def __init__(self, num_class=10):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, kernel_size=3, padding=1), nn.BatchNorm2d(16), nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=2, stride=2),
            nn.Conv2d(16, 32, kernel_size=3, padding=1), nn.BatchNorm2d(32), nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=2, stride=2))
        self.classifier = nn.Sequential(
            nn.Linear(32 * 2 * 2, 64), nn.ReLU(inplace=True), nn.Dropout(),
            nn.Linear(64, num_class))

    def forward(self, x):
        output = self.features(x)
        output = output.view(output.size()[0], -1)
        return self.classifier(output)


# %%
prototypes = torch.randn(10, 3, 8, 8)
labels_all = torch.arange(10).repeat(24)
images_all = prototypes[labels_all] + 0.8 * torch.randn(240, 3, 8, 8)
training_loader = DataLoader(TensorDataset(images_all, labels_all), batch_size=32, shuffle=True)
test_images = prototypes[labels_all[:60]] + 0.8 * torch.randn(60, 3, 8, 8)

net = VGG()
loss_function = nn.CrossEntropyLoss()
optimizer = optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
train_scheduler = optim.lr_scheduler.MultiStepLR(optimizer, milestones=[5, 7], gamma=0.2)
iter_per_epoch = len(training_loader)
warmup_scheduler = WarmUpLR(optimizer, iter_per_epoch * 1)


def train(epoch):
    net.train()
    for batch_index, (images, labels) in enumerate(training_loader):
        optimizer.zero_grad()
        outputs = net(images)
        loss = loss_function(outputs, labels)
        loss.backward()
        optimizer.step()
        last_layer = list(net.children())[-1][-1]
        grad_norms.append((last_layer.weight.grad.norm().item(), last_layer.bias.grad.norm().item()))
        if epoch <= 1:
            warmup_scheduler.step()
    return loss.item()


@torch.no_grad()
def eval_training():
    net.eval()
    outputs = net(test_images)
    _, preds = outputs.max(1)
    return preds.eq(labels_all[:60]).float().mean().item()


# %%
accuracies, grad_norms = [eval_training()], []
for epoch in range(1, 9):
    if epoch > 1:
        train_scheduler.step()
    train(epoch)
    accuracies.append(eval_training())
print(accuracies, grad_norms[0], grad_norms[-1])
assert accuracies[-1] > 0.8
assert net.features[0].weight.grad.abs().sum() > 0
