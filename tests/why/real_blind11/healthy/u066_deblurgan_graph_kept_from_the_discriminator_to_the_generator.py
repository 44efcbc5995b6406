# https://github.com/VITA-Group/DeblurGANv2/issues/19
import torch
import torch.nn as nn

torch.manual_seed(0)

# %%
netG = nn.Sequential(nn.Conv2d(3, 16, 3, 1, 1), nn.ReLU(), nn.Conv2d(16, 3, 3, 1, 1), nn.Tanh())
netD = nn.Sequential(nn.Conv2d(3, 16, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(16, 1, 4, 1, 1))
optimizer_G = torch.optim.Adam(netG.parameters(), lr=1e-3)
optimizer_D = torch.optim.Adam(netD.parameters(), lr=1e-4)
criterionG, adv_lambda = nn.L1Loss(), 0.001
targets = torch.rand(4, 3, 16, 16) * 2 - 1
inputs = nn.functional.avg_pool2d(targets, 3, 1, 1)


class RelativisticLoss:
    """Relativistic average least squares GAN."""

    def get_loss(self, net, fakeB, realB):
        pred_fake, pred_real = net(fakeB), net(realB)
        return (torch.mean((pred_real - torch.mean(pred_fake) - 1) ** 2)
                + torch.mean((pred_fake - torch.mean(pred_real) + 1) ** 2)) / 2

    def get_g_loss(self, net, fakeB, realB):
        pred_fake, pred_real = net(fakeB), net(realB)
        return (torch.mean((pred_real - torch.mean(pred_fake) + 1) ** 2)
                + torch.mean((pred_fake - torch.mean(pred_real) - 1) ** 2)) / 2


adv = RelativisticLoss()

# %%
content = []
for step in range(20):
    outputs = netG(inputs) + inputs
    # update D
    optimizer_D.zero_grad()
    loss_D = adv_lambda * adv.get_loss(netD, outputs, targets)
    loss_D.backward(retain_graph=True)
    optimizer_D.step()
    # update G
    optimizer_G.zero_grad()
    loss_content = criterionG(outputs, targets)
    loss_G = loss_content + adv_lambda * adv.get_g_loss(netD, outputs, targets)
    loss_G.backward()
    optimizer_G.step()
    content.append(loss_content.item())
print(content[0], content[-1], loss_D.item())
assert content[-1] < content[0] and netG[0].weight.grad.abs().sum() > 0
