# https://github.com/easton-cau/SOTR/issues/19
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class MaskHead(nn.Module):
    """SOTR Mask Head."""

    def __init__(self, mask_in_channels=8, mask_channels=8, num_masks=4, num_levels=3):
        super().__init__()
        self.num_levels = num_levels
        self.convs_all_levels = nn.ModuleList()
        for i in range(self.num_levels):
            convs_per_level = nn.Sequential()
            for j in range(max(i, 1)):
                conv_tower = [
                    nn.Conv2d(mask_in_channels if j == 0 else mask_channels, mask_channels, 3, padding=1, bias=False),
                    nn.GroupNorm(4, mask_channels),
                    nn.ReLU(inplace=False),
                ]
                convs_per_level.add_module("conv" + str(j), nn.Sequential(*conv_tower))
                if i > 0:
                    upsample_tower = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False)
                    convs_per_level.add_module("upsample" + str(j), upsample_tower)
            self.convs_all_levels.append(convs_per_level)
        self.conv_pred = nn.Sequential(nn.Conv2d(mask_channels, num_masks, 1), nn.ReLU(inplace=True))

    def forward(self, features):
        feature_add_all_level = self.convs_all_levels[0](features[0])
        for i in range(1, self.num_levels):
            mask_feat = features[i]
            feature_add_all_level += self.convs_all_levels[i](mask_feat)

        mask_pred = self.conv_pred(feature_add_all_level)
        return mask_pred


# %%
head = MaskHead()
optimizer = torch.optim.SGD(head.parameters(), lr=0.01)
for step in range(3):
    features = [torch.randn(2, 8, 16 // 2**i, 16 // 2**i) for i in range(3)]
    masks = torch.rand(2, 4, 16, 16).round()
    loss = F.binary_cross_entropy_with_logits(head(features), masks)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
