# https://github.com/tencentarc/gfpgan/issues/51
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class GFPGANv1(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv_body_first = nn.Conv2d(3, 8, 3, padding=1)
        self.stylegan_decoder = nn.Conv2d(8, 3, 3, padding=1)

    def forward(self, x):
        return torch.tanh(self.stylegan_decoder(F.leaky_relu(self.conv_body_first(x), 0.2)))


class StyleGAN2Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv_body = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.final_linear = nn.Linear(8, 1)

    def forward(self, x):
        return self.final_linear(F.leaky_relu(self.conv_body(x), 0.2).mean((2, 3)))


class GFPGANModel:
    def __init__(self):
        self.net_g, self.net_d = GFPGANv1(), StyleGAN2Discriminator()
        self.optimizer_g = torch.optim.Adam(self.net_g.parameters(), lr=2e-3)
        self.optimizer_d = torch.optim.Adam(self.net_d.parameters(), lr=2e-3)

    def feed_data(self, data):
        self.lq, self.gt = data['lq'], data['gt']

    def optimize_parameters(self, current_iter):
        # optimize net_g
        for p in self.net_d.parameters():
            p.requires_grad = False
        self.optimizer_g.zero_grad()
        self.output = self.net_g(self.lq)
        l_g_total = F.l1_loss(self.output, self.gt)
        l_g_total = l_g_total + 0.1 * F.softplus(-self.net_d(self.output)).mean()
        l_g_total.backward()
        self.optimizer_g.step()
        self.g_grads = [p.grad.clone() for p in self.net_g.parameters()]

        # optimize net_d
        for p in self.net_d.parameters():
            p.requires_grad = True
        self.optimizer_d.zero_grad()
        fake_d_pred = self.net_d(self.output.detach())
        real_d_pred = self.net_d(self.gt)
        l_d = F.softplus(-real_d_pred).mean() + F.softplus(fake_d_pred).mean()
        l_d.backward()
        self.optimizer_d.step()
        return {'l_g_total': l_g_total.item(), 'l_d': l_d.item()}


# %%
model = GFPGANModel()
for current_iter in range(2):
    model.feed_data({'lq': torch.rand(2, 3, 8, 8), 'gt': torch.rand(2, 3, 8, 8) * 2 - 1})
    print(current_iter, model.optimize_parameters(current_iter))
