# https://github.com/guopengf/FL-MRCM/issues/10
import torch
import torch.nn as nn

torch.manual_seed(0)


class Unet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, 8, 3, 2, 1), nn.LeakyReLU(0.2))
        self.up = nn.Sequential(nn.ConvTranspose2d(8, 8, 2, 2), nn.LeakyReLU(0.2), nn.Conv2d(8, 1, 1))

    def forward(self, x):
        z = self.down(x)
        return self.up(z), z.flatten(1)


def set_requires_grad(net, requires_grad=False):
    for param in net.parameters():
        param.requires_grad = requires_grad


# %%
net = Unet()
net_fd = nn.Sequential(nn.Linear(8 * 16, 16), nn.LeakyReLU(0.2), nn.Linear(16, 2))
optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-4)
optimizer_fd = torch.optim.RMSprop(net_fd.parameters(), lr=1e-4)
adv_loss = nn.BCEWithLogitsLoss()
loss_func = nn.L1Loss()
batch_loss_adv_g, batch_loss_L1 = [], []

# %%
for batch_idx in range(3):
    input, target, input_t = torch.rand(4, 1, 8, 8), torch.rand(4, 1, 8, 8), torch.rand(4, 1, 8, 8)
    optimizer.zero_grad()
    optimizer_fd.zero_grad()
    output, z = net(input)
    _, z_t = net(input_t)
    src_domain_code = torch.tensor([[1.0, 0.0]]).repeat(4, 1)
    tgt_domain_code = torch.tensor([[0.0, 1.0]]).repeat(4, 1)

    # update DF for source site
    set_requires_grad(net_fd, True)
    df_loss = (adv_loss(net_fd(z.detach()), 1 - src_domain_code) + adv_loss(net_fd(z_t.detach()), 1 - tgt_domain_code)) / 2
    df_loss.backward()
    optimizer_fd.step()

    # update Recon
    set_requires_grad(net_fd, False)
    df_loss_src = adv_loss(net_fd(z), src_domain_code)
    df_loss_tgt = adv_loss(net_fd(z_t), tgt_domain_code)
    loss_adv_g = ((df_loss_src + df_loss_tgt) / 2).detach().item()
    batch_loss_adv_g.append(loss_adv_g)
    L1_loss = loss_func(output, target)
    batch_loss_L1.append(L1_loss.detach().item())
    loss = L1_loss + loss_adv_g
    loss.backward()
    optimizer.step()
    print(batch_idx, L1_loss.item(), loss_adv_g)
