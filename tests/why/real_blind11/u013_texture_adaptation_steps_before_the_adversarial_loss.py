# https://github.com/MyeongJin-Kim/Learning-Texture-Invariant-Representation/issues/11
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
num_classes, source_label, target_label = 5, 0., 1.
lambda_adv = 1.0


class DeeplabMulti(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(3, 16, 3, padding=1)
        self.classifier = nn.Conv2d(16, num_classes, 1)

    def forward(self, x):
        return self.classifier(F.relu(self.layer(x)))


class FCDiscriminator(nn.Module):
    def __init__(self, ndf=8):
        super().__init__()
        self.conv1 = nn.Conv2d(num_classes, ndf, 4, 2, 1)
        self.conv2 = nn.Conv2d(ndf, 1, 4, 2, 1)

    def forward(self, x):
        return self.conv2(F.leaky_relu(self.conv1(x), 0.2))


# %%
model, model_D = DeeplabMulti(), FCDiscriminator()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
optimizer_D = torch.optim.Adam(model_D.parameters(), lr=1e-4, betas=(0.9, 0.99))
bce_loss = nn.BCEWithLogitsLoss()
images, labels = torch.randn(2, 3, 16, 16), torch.randint(0, num_classes, (2, 16, 16))
images_t = torch.randn(2, 3, 16, 16)

# %%
for i_iter in range(4):
    before = model.classifier.weight.detach().clone()
    optimizer.zero_grad()
    optimizer_D.zero_grad()
    # train with source
    pred = model(images)
    loss_seg = F.cross_entropy(pred, labels)
    loss_seg.backward()
    # optimize
    optimizer.step()

    # train with target: fool the discriminator
    for param in model_D.parameters():
        param.requires_grad = False
    pred_target = model(images_t)
    D_out = model_D(F.softmax(pred_target, dim=1))
    loss_adv = bce_loss(D_out, torch.full_like(D_out, source_label))
    loss_adv = loss_adv * lambda_adv
    loss_adv.backward()

    # train D
    for param in model_D.parameters():
        param.requires_grad = True
    for p, label in ((pred, source_label), (pred_target, target_label)):
        D_out = model_D(F.softmax(p.detach(), dim=1))
        loss_D = bce_loss(D_out, torch.full_like(D_out, label)) / 2
        loss_D.backward()
    optimizer_D.step()
    print(i_iter, loss_seg.item(), loss_adv.item(), loss_D.item())
    print("moved", (model.classifier.weight - before).abs().max().item())
