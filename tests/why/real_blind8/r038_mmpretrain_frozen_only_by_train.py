# https://github.com/open-mmlab/mmpretrain/issues/702
import torch
import torch.nn as nn

torch.manual_seed(0)


class VGG(nn.Module):
    def __init__(self, frozen_stages=-1, num_classes=10):
        super().__init__()
        self.frozen_stages = frozen_stages
        vgg_layers = []
        for i, (inp, out) in enumerate([(3, 8), (8, 8), (8, 16)]):
            vgg_layers += [nn.Conv2d(inp, out, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
        self.add_module('features', nn.Sequential(*vgg_layers))
        self.classifier = nn.Linear(16, num_classes)
        self.range_sub_modules = [(0, 3), (3, 6), (6, 9)]

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))

    def _freeze_stages(self):
        for i in range(self.frozen_stages):
            for j in range(*self.range_sub_modules[i]):
                m = self.features[j]
                m.eval()
                for param in m.parameters():
                    param.requires_grad = False

    def train(self, mode=True):
        super().train(mode)
        self._freeze_stages()


# %%
model = VGG(frozen_stages=2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
pretrained = model.features[0].weight.detach().clone()

# %%
for i in range(4):
    img, gt_label = torch.randn(8, 3, 8, 8), torch.randint(0, 10, (8,))
    loss = nn.functional.cross_entropy(model(img), gt_label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print((model.features[0].weight - pretrained).abs().max())
