# https://github.com/bmsookim/fine-tuning.pytorch/issues/4
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)


class AlexNet(nn.Module):
    def __init__(self, num_classes=10):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(inplace=True), nn.MaxPool2d(2))
        self.classifier = nn.Sequential(nn.Dropout(), nn.Linear(8 * 16, 32), nn.ReLU(inplace=True),
                                        nn.Linear(32, num_classes))

    def forward(self, x):
        return self.classifier(torch.flatten(self.features(x), 1))


# stands for the weights of ImageNet
pretrained = AlexNet().state_dict()

# %%
model_ft = AlexNet()
model_ft.load_state_dict(pretrained)
num_ftrs = model_ft.classifier[3].in_features
feature_model = list(model_ft.classifier.children())
feature_model.pop()
feature_model.append(nn.Linear(num_ftrs, 3))
model_ft.classifier = nn.Sequential(*feature_model)
criterion = nn.CrossEntropyLoss()


def exp_lr_scheduler(optimizer, epoch, init_lr=0.05, lr_decay_epoch=2):
    lr = init_lr * (0.1 ** (epoch // lr_decay_epoch))
    for param_group in optimizer.param_groups:
        param_group['lr'] = lr
    return optimizer, lr


# %%
labels = torch.randint(0, 3, (30,))
inputs = torch.randn(30, 3, 16, 16) + labels[:, None, None, None]
for epoch in range(4):
    optimizer = optim.SGD(model_ft.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    optimizer, lr = exp_lr_scheduler(optimizer, epoch)
    model_ft.train(True)
    optimizer.zero_grad()
    outputs = model_ft(inputs)
    loss = criterion(outputs, labels)
    loss.backward()
    optimizer.step()
    print(epoch, lr, loss.item())
moved = (model_ft.features[0].weight - pretrained['features.0.weight']).abs().max().item()
