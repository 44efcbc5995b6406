# https://github.com/yhenon/pytorch-retinanet/issues/3
import torch
import torch.nn as nn

torch.manual_seed(0)


class ClassificationModel(nn.Module):
    def __init__(self, num_features_in=4, num_anchors=3, num_classes=2, prior=0.01):
        super().__init__()
        self.num_classes = num_classes
        self.conv1 = nn.Conv2d(num_features_in, 16, kernel_size=3, padding=1)
        self.act1 = nn.ReLU()
        self.output = nn.Conv2d(16, num_anchors * num_classes, kernel_size=3, padding=1)
        self.output_act = nn.Sigmoid()
        self.output.weight.data.fill_(0)
        self.output.bias.data.fill_(-torch.log(torch.tensor((1.0 - prior) / prior)).item())

    def forward(self, x):
        out = self.output_act(self.output(self.act1(self.conv1(x))))
        return out.permute(0, 2, 3, 1).reshape(x.shape[0], -1, self.num_classes)


def focal_loss(classifications, targets, alpha=0.25, gamma=2.0):
    classification_losses = []
    for j in range(classifications.shape[0]):
        classification = torch.clamp(classifications[j], 1e-4, 1.0 - 1e-4)
        alpha_factor = torch.where(torch.eq(targets[j], 1.), alpha, 1. - alpha)
        focal_weight = torch.where(torch.eq(targets[j], 1.), 1. - classification, classification)
        focal_weight = alpha_factor * torch.pow(focal_weight, gamma)
        bce = -(targets[j] * torch.log(classification) + (1.0 - targets[j]) * torch.log(1.0 - classification))
        cls_loss = focal_weight * bce
        cls_loss = torch.where(torch.ne(targets[j], -1.0), cls_loss, torch.zeros(cls_loss.shape))
        classification_losses.append(cls_loss.sum() / torch.clamp((targets[j] == 1).sum().float(), min=1.0))
    return torch.stack(classification_losses).mean(dim=0, keepdim=True)


# %%
model = ClassificationModel()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
features = torch.randn(2, 4, 6, 6)
targets = (torch.rand(2, 108, 2) < 0.05).float()
targets[:, ::7] = -1

for i in range(15):
    optimizer.zero_grad()
    loss = focal_loss(model(features), targets).mean()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
    optimizer.step()
    print(i, loss.item())
