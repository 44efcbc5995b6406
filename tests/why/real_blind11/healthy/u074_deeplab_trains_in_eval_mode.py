# https://github.com/isht7/pytorch-deeplab-resnet/issues/39
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.manual_seed(0)


class Res_Deeplab(nn.Module):
    def __init__(self, NoLabels=5):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(16, affine=True)
        for i in self.bn1.parameters():
            i.requires_grad = False
        self.layer5 = nn.Conv2d(16, NoLabels, 3, padding=6, dilation=6)

    def forward(self, x):
        return self.layer5(F.relu(self.bn1(self.conv1(x))))


def get_1x_lr_params_NOscale(model):
    for p in model.conv1.parameters():
        if p.requires_grad:
            yield p


def get_10x_lr_params(model):
    yield from model.layer5.parameters()


# %%
model = Res_Deeplab()
# stands for the statistics of MS-COCO
model.bn1.running_mean.normal_()
base_lr = 0.01
optimizer = optim.SGD([{'params': get_1x_lr_params_NOscale(model), 'lr': base_lr},
                       {'params': get_10x_lr_params(model), 'lr': 10*base_lr}],
                      lr=base_lr, momentum=0.9, weight_decay=0.0005)
images, labels = torch.randn(2, 3, 16, 16), torch.randint(0, 5, (2, 16, 16))
conv_before, mean_before = model.conv1.weight.detach().clone(), model.bn1.running_mean.clone()

# %%
model.eval()  # use_global_stats = True
losses = []
for iter in range(15):
    out = model(images)
    loss = F.cross_entropy(out, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
assert losses[-1] < losses[0] and not torch.equal(conv_before, model.conv1.weight)
assert torch.equal(mean_before, model.bn1.running_mean)
