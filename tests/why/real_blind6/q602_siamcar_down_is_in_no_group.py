# https://github.com/ohhhyeahhh/SiamCAR/issues/18
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ModelBuilder(nn.Module):
    def __init__(self):
        super(ModelBuilder, self).__init__()
        self.backbone = nn.ModuleList([nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)])
        self.neck = nn.Conv2d(4, 4, 1)
        self.down = nn.ConvTranspose2d(4 * 3, 4, 1, 1)
        self.car_head = nn.Conv2d(4, 6, 3, padding=1)

    def features(self, x):
        out = []
        for layer in self.backbone:
            x = F.relu(layer(x))
            out.append(self.neck(x))
        return out

    def xcorr_depthwise(self, x, kernel):
        batch, channel = kernel.size(0), kernel.size(1)
        x = x.reshape(1, batch * channel, x.size(2), x.size(3))
        kernel = kernel.reshape(batch * channel, 1, kernel.size(2), kernel.size(3))
        out = F.conv2d(x, kernel, groups=batch * channel)
        return out.view(batch, channel, out.size(2), out.size(3))

    def forward(self, template, search):
        zf, xf = self.features(template), self.features(search)
        features = self.xcorr_depthwise(xf[0], zf[0])
        for i in range(len(xf) - 1):
            features = torch.cat([features, self.xcorr_depthwise(xf[i + 1], zf[i + 1])], 1)
        features = self.down(features)
        return self.car_head(features)


def build_opt_lr(model, base_lr=0.005, layers_lr=0.1):
    trainable_params = []
    trainable_params += [{'params': filter(lambda x: x.requires_grad, model.backbone.parameters()),
                          'lr': layers_lr * base_lr}]

    trainable_params += [{'params': model.neck.parameters(),
                          'lr': base_lr}]

    trainable_params += [{'params': model.car_head.parameters(),
                          'lr': base_lr}]

    optimizer = torch.optim.SGD(trainable_params,
                                momentum=0.9,
                                weight_decay=0.0001)
    return optimizer


# %%
model = ModelBuilder().train()
optimizer = build_opt_lr(model)
down_before = model.down.weight.detach().clone()

# %%
for idx in range(5):
    template, search = torch.randn(2, 3, 6, 6), torch.randn(2, 3, 12, 12)
    out = model(template, search)
    cls, loc = out[:, :2], out[:, 2:]
    label = torch.randint(0, 2, (2, 7, 7))
    loss = F.cross_entropy(cls, label) + F.smooth_l1_loss(loc, torch.rand_like(loc))
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 10.0)
    optimizer.step()
    print(idx, loss.item())
