# https://github.com/KaiyangZhou/pytorch-center-loss/issues/23
import torch
import torch.nn as nn


class CenterLoss(nn.Module):
    def __init__(self, classes, feature_dims, use_gpu=True):
        super(CenterLoss, self).__init__()
        self.classes = classes
        self.feature_dims = feature_dims
        self.use_gpu = use_gpu
        if use_gpu:
            centers = nn.Parameter(torch.randn(self.classes, self.feature_dims)).to("cpu", copy=True)
        else:
            centers = nn.Parameter(torch.randn(self.classes, self.feature_dims))
        self.centers = centers

    def forward(self, x, labels):
        # labels: [N_way, K_shot]
        return (x - self.centers[labels]).pow(2).sum(1).mean()


# %%
criterion_cent = CenterLoss(classes=5, feature_dims=16)

# %%
optimizer_centloss = torch.optim.SGD(criterion_cent.parameters(), lr=0.5)
