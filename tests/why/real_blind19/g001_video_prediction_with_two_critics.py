# https://github.com/psh01087/Vid-ODE/issues/6
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)


class Opt:
    lr = 1e-3
    lamb_adv = 0.003
    input_dim = 3
    init_dim = 8
    epoch = 2
    n_train_batches = 3


class VidODE(nn.Module):
    def __init__(self, opt):
        super().__init__()
        self.encoder = nn.Conv2d(opt.input_dim, opt.init_dim, 3, padding=1)
        self.ode_func = nn.Sequential(nn.Conv2d(opt.init_dim, opt.init_dim, 3, padding=1), nn.Tanh())
        self.decoder = nn.Conv2d(opt.init_dim, opt.input_dim, 3, padding=1)

    def get_reconstruction(self, observed, n_steps):
        hidden = torch.tanh(self.encoder(observed[:, -1]))
        preds = []
        for _ in range(n_steps):
            hidden = hidden + 0.1 * self.ode_func(hidden)
            preds.append(self.decoder(hidden))
        return torch.stack(preds, dim=1)

    def compute_all_losses(self, batch_dict):
        truth = batch_dict["data_to_predict"]
        pred_y = self.get_reconstruction(batch_dict["observed_data"], truth.size(1))
        return {"loss": (pred_y - truth).abs().mean(), "pred_y": pred_y}


class Discriminator(nn.Module):
    def __init__(self, in_channels, seq=False):
        super().__init__()
        self.seq = seq
        self.layer_1 = nn.Sequential(nn.Conv2d(in_channels, 8, 4, 2, 1), nn.LeakyReLU(0.2))
        self.last_conv = nn.Conv2d(8, 1, 4, 2, 1)

    def forward(self, x):
        return self.last_conv(self.layer_1(x))

    def rearrange(self, seq, input_real):
        if self.seq:
            return torch.cat([input_real, seq], dim=1).flatten(1, 2)
        return seq.flatten(0, 1)

    def netD_adv_loss(self, real, fake, input_real):
        pred_fake = self(self.rearrange(fake.detach(), input_real))
        pred_real = self(self.rearrange(real, input_real))
        return 0.5 * ((pred_fake ** 2).mean() + ((pred_real - 1) ** 2).mean())

    def netG_adv_loss(self, fake, input_real):
        pred_fake = self(self.rearrange(fake, input_real))
        return ((pred_fake - 1) ** 2).mean()


def create_netD(opt):
    netD_img = Discriminator(opt.input_dim)
    netD_seq = Discriminator(opt.input_dim * 8, seq=True)
    optimizer_netD = optim.Adamax(list(netD_img.parameters()) + list(netD_seq.parameters()), lr=opt.lr)
    return netD_img, netD_seq, optimizer_netD


def step(optimizer, loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def train(opt, netG):
    optimizer_netG = optim.Adamax(netG.parameters(), lr=opt.lr)
    netD_img, netD_seq, optimizer_netD = create_netD(opt)
    for epoch in range(opt.epoch):
        for it in range(opt.n_train_batches):
            video = torch.rand(2, 8, 3, 16, 16)
            batch_dict = {"observed_data": video[:, :4], "data_to_predict": video[:, 4:]}
            res = netG.compute_all_losses(batch_dict)
            seen, real, fake = batch_dict["observed_data"], batch_dict["data_to_predict"], res["pred_y"]

            adv_D = netD_seq.netD_adv_loss(real, fake, seen) + netD_img.netD_adv_loss(real, fake, None)
            adv_G = netD_seq.netG_adv_loss(fake, seen) + netD_img.netG_adv_loss(fake, None)

            step(optimizer_netD, opt.lamb_adv * adv_D)
            step(optimizer_netG, res["loss"] + opt.lamb_adv * adv_G)
        print(f"Epoch [{epoch:03d}] Mse [{res['loss'].item():.4f}] Adv_D [{adv_D.item():.4f}]")


# %%
opt = Opt()
netG = VidODE(opt)

# %%
train(opt, netG)
