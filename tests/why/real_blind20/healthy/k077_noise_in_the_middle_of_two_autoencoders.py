# https://github.com/mingyuliutw/UNIT/issues/37
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Variable

torch.manual_seed(0)


class GaussianVAE2D(nn.Module):
    def __init__(self, n_in, n_out, kernel_size, stride, padding=0):
        super(GaussianVAE2D, self).__init__()
        self.en_mu = nn.Conv2d(n_in, n_out, kernel_size, stride, padding)
        self.en_sigma = nn.Conv2d(n_in, n_out, kernel_size, stride, padding)
        self.softplus = nn.Softplus()
        self.reset_parameters()

    def reset_parameters(self):
        self.en_mu.weight.data.normal_(0, 0.02)
        self.en_mu.bias.data.normal_(0, 0.02)
        self.en_sigma.weight.data.normal_(0, 0.02)
        self.en_sigma.bias.data.normal_(0, 0.02)

    def forward(self, x):
        mu = self.en_mu(x)
        return mu

    def sample(self, x):
        mu = self.en_mu(x)
        sd = self.softplus(self.en_sigma(x))
        noise = Variable(torch.randn(mu.size(0), mu.size(1), mu.size(2), mu.size(3)))
        return mu + sd.mul(noise), mu, sd


class UNITGen(nn.Module):
    def __init__(self, ch=16):
        super(UNITGen, self).__init__()
        self.encode_A, self.encode_B = (nn.Sequential(nn.Conv2d(1, ch, 3, 2, 1), nn.LeakyReLU(0.2, inplace=True)) for _ in range(2))
        self.en_shared = GaussianVAE2D(ch, ch, 3, 1, 1)
        self.de_shared = nn.Sequential(nn.Conv2d(ch, ch, 3, 1, 1), nn.LeakyReLU(0.2, inplace=True))
        self.decode_A, self.decode_B = (nn.Sequential(nn.ConvTranspose2d(ch, 1, 4, 2, 1), nn.Tanh()) for _ in range(2))

    def forward(self, x_A, x_B):
        out = torch.cat((self.encode_A(x_A), self.encode_B(x_B)), 0)
        shared, mu, sd = self.en_shared.sample(out)
        out = self.de_shared(shared)
        out_A, out_B = self.decode_A(out), self.decode_B(out)
        x_Aa, x_Ba = torch.split(out_A, x_A.size(0), dim=0)
        x_Ab, x_Bb = torch.split(out_B, x_A.size(0), dim=0)
        return x_Aa, x_Ba, x_Ab, x_Bb, mu, sd


class Dis(nn.Module):
    def __init__(self):
        super(Dis, self).__init__()
        self.model_A, self.model_B = (nn.Sequential(nn.Conv2d(1, 16, 4, 2, 1), nn.LeakyReLU(0.2, inplace=True), nn.Flatten(), nn.Linear(256, 1)) for _ in range(2))

    def forward(self, x_A, x_B):
        return self.model_A(x_A).squeeze(1), self.model_B(x_B).squeeze(1)


class UNITTrainer(nn.Module):
    def __init__(self, hyperparameters):
        super(UNITTrainer, self).__init__()
        lr = hyperparameters['lr']
        self.dis, self.gen = Dis(), UNITGen()
        self.dis_opt = torch.optim.Adam(self.dis.parameters(), lr=lr, betas=(0.5, 0.999), weight_decay=0.0001)
        self.gen_opt = torch.optim.Adam(self.gen.parameters(), lr=lr, betas=(0.5, 0.999), weight_decay=0.0001)
        self.ll_loss_criterion_a = torch.nn.L1Loss()
        self.ll_loss_criterion_b = torch.nn.L1Loss()

    def _compute_kl(self, mu, sd):
        mu_2 = torch.pow(mu, 2)
        sd_2 = torch.pow(sd, 2)
        return (mu_2 + sd_2 - torch.log(sd_2)).sum() / mu_2.size(0)

    def gen_update(self, images_a, images_b, hyperparameters):
        self.gen.zero_grad()
        x_aa, x_ba, x_ab, x_bb, mu, sd = self.gen(images_a, images_b)
        out_a, out_b = self.dis(x_ba, x_ab)
        outputs_a, outputs_b = torch.sigmoid(out_a), torch.sigmoid(out_b)
        all_ones = Variable(torch.ones((outputs_a.size(0))))
        ad_loss = F.binary_cross_entropy(outputs_a, all_ones) + F.binary_cross_entropy(outputs_b, all_ones)
        enc_loss = self._compute_kl(mu, sd)
        ll_loss = self.ll_loss_criterion_a(x_aa, images_a) + self.ll_loss_criterion_b(x_bb, images_b)
        total_loss = hyperparameters['gan_w'] * ad_loss + hyperparameters['ll_w'] * ll_loss + hyperparameters['kl_w'] * enc_loss
        total_loss.backward()
        self.gen_opt.step()
        self.gen_ll_loss = ll_loss.item()
        return x_aa, x_ba, x_ab, x_bb

    def dis_update(self, images_a, images_b, hyperparameters):
        self.dis.zero_grad()
        x_aa, x_ba, x_ab, x_bb, mu, sd = self.gen(images_a, images_b)
        res_a, res_b = self.dis(torch.cat((images_a, x_ba), 0), torch.cat((images_b, x_ab), 0))
        loss = 0
        for res in (res_a, res_b):
            out_true, out_fake = torch.split(torch.sigmoid(res), res.size(0) // 2, 0)
            all1, all0 = Variable(torch.ones(out_true.size(0))), Variable(torch.zeros(out_fake.size(0)))
            loss = loss + F.binary_cross_entropy(out_true, all1) + F.binary_cross_entropy(out_fake, all0)
        loss = hyperparameters['gan_w'] * loss
        loss.backward()
        self.dis_opt.step()
        self.dis_loss = loss.item()


def pictures(n):
    """Domain a: bright squares on dark; domain b: dark squares on bright."""
    x, y = torch.randint(0, 5, (2, n, 1, 1, 1))
    row, column = torch.arange(8).view(1, 1, 8, 1), torch.arange(8).view(1, 1, 1, 8)
    return ((row >= y) & (row < y + 4) & (column >= x) & (column < x + 4)).float() * 1.6 - 0.8


# %%
hyperparameters = {'lr': 3e-3, 'gan_w': 1, 'll_w': 20, 'kl_w': 0.001}
trainer = UNITTrainer(hyperparameters)
history = []
for iterations in range(150):
    images_a, images_b = pictures(16), -pictures(16)
    trainer.dis_update(images_a, images_b, hyperparameters)
    image_outputs = trainer.gen_update(images_a, images_b, hyperparameters)
    history.append((trainer.dis_loss, trainer.gen_ll_loss))

# %%
shared = trainer.gen.en_shared
grads = [shared.en_mu.weight.grad.norm().item(), shared.en_sigma.weight.grad.norm().item()]
with torch.no_grad():
    images_a, images_b = pictures(64), -pictures(64)
    x_aa, x_ba, x_ab, x_bb, mu, sd = trainer.gen(images_a, images_b)
    bright = x_ab.mean().item() - x_aa.mean().item()
print(history[0], history[-1], grads, sd.mean().item(), bright)
assert min(grads) > 0 and history[-1][1] < 0.3 * history[0][1] and bright > 0.2
