# https://github.com/daa233/generative-inpainting-pytorch/issues/62
import torch
import torch.nn as nn

torch.manual_seed(0)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.coarse = nn.Conv2d(4, 3, 3, padding=1)
        self.fine = nn.Conv2d(3, 3, 3, padding=1)

    def forward(self, x, mask):
        x_stage1 = torch.tanh(self.coarse(torch.cat([x, mask], 1)))
        return x_stage1, torch.tanh(self.fine(x_stage1))


class LocalDis(nn.Module):
    def __init__(self):
        super().__init__()
        self.dis_conv_module = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ELU(), nn.Conv2d(8, 8, 3, 2, 1), nn.ELU())
        self.linear = nn.Linear(8 * 4 * 4, 1)

    def forward(self, x):
        x = self.dis_conv_module(x)
        return self.linear(x.view(x.size(0), -1))


class Trainer(nn.Module):
    def __init__(self):
        super().__init__()
        self.netG, self.localD = Generator(), LocalDis()
        self.optimizer_g = torch.optim.Adam(self.netG.parameters(), lr=1e-4, betas=(0.5, 0.9))
        self.optimizer_d = torch.optim.Adam(self.localD.parameters(), lr=1e-4, betas=(0.5, 0.9))

    def forward(self, x, masks, ground_truth, compute_loss_g=False):
        l1_loss = nn.L1Loss()
        losses = {}
        x1, x2 = self.netG(x, masks)
        x2_inpaint = x2 * masks + x * (1. - masks)

        # D part
        real_pred = self.localD(ground_truth)
        fake_pred = self.localD(x2_inpaint.detach())
        losses['wgan_d'] = torch.mean(fake_pred - real_pred)

        # G part
        if compute_loss_g:
            losses['l1'] = l1_loss(x1 * masks, ground_truth * masks) + l1_loss(x2 * masks, ground_truth * masks)
            losses['wgan_g'] = -torch.mean(self.localD(x2_inpaint))
        return losses, x2_inpaint


# %%
trainer = trainer_module = Trainer()
ground_truth = torch.rand(2, 3, 16, 16) * 2 - 1
masks = torch.zeros(2, 1, 16, 16)
masks[:, :, 4:12, 4:12] = 1
x = ground_truth * (1 - masks)

# %%
for iteration in range(1, 6):
    ###### Forward pass ######
    compute_g_loss = iteration % 1 == 0
    losses, inpainted_result = trainer(x, masks, ground_truth, compute_g_loss)

    ###### Backward pass ######
    # Update D
    trainer_module.optimizer_d.zero_grad()
    losses['d'] = losses['wgan_d']
    losses['d'].backward()
    trainer_module.optimizer_d.step()

    # Update G
    if compute_g_loss:
        trainer_module.optimizer_g.zero_grad()
        losses['g'] = losses['l1'] * 1.2 + losses['wgan_g'] * 0.001
        losses['g'].backward()
        trainer_module.optimizer_g.step()
