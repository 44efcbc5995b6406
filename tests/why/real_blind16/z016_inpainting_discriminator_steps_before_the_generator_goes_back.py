# https://github.com/geekyutao/RN/pull/19
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)


class G_Net(nn.Module):
    def __init__(self, input_channels=3):
        super(G_Net, self).__init__()
        self.encoder = nn.Conv2d(input_channels + 1, 16, kernel_size=3, padding=1)
        self.decoder = nn.Conv2d(16, 3, kernel_size=3, padding=1)

    def forward(self, x, mask):
        x = torch.cat((x * (1 - mask), mask), dim=1)
        x = torch.relu(self.encoder(x))
        return (torch.tanh(self.decoder(x)) + 1) / 2


class D_Net(nn.Module):
    def __init__(self, in_channels):
        super(D_Net, self).__init__()
        self.conv1 = nn.Conv2d(in_channels, 16, kernel_size=4, stride=2, padding=1)
        self.conv2 = nn.Conv2d(16, 1, kernel_size=4, stride=1, padding=1)

    def forward(self, x):
        features = nn.functional.leaky_relu(self.conv1(x), 0.2)
        return torch.sigmoid(self.conv2(features)), features


class AdversarialLoss(nn.Module):
    def __init__(self, target_real_label=1.0, target_fake_label=0.0):
        super(AdversarialLoss, self).__init__()
        self.register_buffer('real_label', torch.tensor(target_real_label))
        self.register_buffer('fake_label', torch.tensor(target_fake_label))
        self.criterion = nn.BCELoss()

    def __call__(self, outputs, is_real, is_disc=None):
        labels = (self.real_label if is_real else self.fake_label).expand_as(outputs)
        return self.criterion(outputs, labels)


class InpaintingModel(nn.Module):
    def __init__(self, g_lr, d_lr, l1_weight, gan_weight):
        super(InpaintingModel, self).__init__()
        self.generator = G_Net(input_channels=3)
        self.discriminator = D_Net(in_channels=3)
        self.l1_loss = nn.L1Loss()
        self.adversarial_loss = AdversarialLoss()
        self.l1_weight, self.gan_weight = l1_weight, gan_weight
        self.gen_optimizer = optim.Adam(params=self.generator.parameters(), lr=g_lr, betas=(0., 0.9))
        self.dis_optimizer = optim.Adam(params=self.discriminator.parameters(), lr=d_lr, betas=(0., 0.9))


model = InpaintingModel(g_lr=1e-4, d_lr=1e-5, l1_weight=1.0, gan_weight=0.1)

# %%
model.train()
for iteration in range(3):
    gt = torch.rand(2, 3, 16, 16)
    mask = torch.zeros(2, 1, 16, 16)
    mask[:, :, 4:12, 4:12] = 1

    prediction = model.generator(gt, mask)
    merged_result = prediction * mask + gt * (1 - mask)

    # Compute Loss
    g_loss, d_loss = 0, 0

    d_real, _ = model.discriminator(gt)
    d_fake, _ = model.discriminator(prediction.detach())
    d_real_loss = model.adversarial_loss(d_real, True, True)
    d_fake_loss = model.adversarial_loss(d_fake, False, True)
    d_loss += (d_real_loss + d_fake_loss) / 2

    g_fake, _ = model.discriminator(prediction)
    g_gan_loss = model.adversarial_loss(g_fake, True, False)
    g_loss += model.gan_weight * g_gan_loss
    g_l1_loss = model.l1_loss(gt, merged_result) / torch.mean(mask)
    g_loss += model.l1_weight * g_l1_loss

    # Backward
    d_loss.backward()
    model.dis_optimizer.step()
    model.dis_optimizer.zero_grad()

    g_loss.backward()
    model.gen_optimizer.step()
    model.gen_optimizer.zero_grad()
    print(iteration, d_loss.item(), g_loss.item())
