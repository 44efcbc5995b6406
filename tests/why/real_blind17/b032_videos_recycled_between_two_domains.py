# https://github.com/SunnerLi/RecycleGAN/issues/2
import itertools

import torch
import torch.nn as nn
from torch.optim import Adam

torch.manual_seed(0)


class SpatialTranslationModel(nn.Module):
    def __init__(self, n_in=1, n_out=1):
        super().__init__()
        self.main = nn.Sequential(nn.Conv2d(n_in, 8, 3, padding=1), nn.InstanceNorm2d(8), nn.ReLU(),
                                  nn.Conv2d(8, n_out, 3, padding=1), nn.Tanh())

    def forward(self, x):
        return self.main(x)


TemporalPredictorModel = SpatialTranslationModel


class Discriminator(nn.Module):
    def __init__(self, n_in=1):
        super().__init__()
        self.main = nn.Sequential(nn.Conv2d(n_in, 8, 4, stride=2, padding=1), nn.LeakyReLU(0.2),
                                  nn.Conv2d(8, 1, 4, padding=1))

    def forward(self, x):
        return self.main(x)


class GANLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.loss = nn.MSELoss()

    def __call__(self, input, target_is_real):
        return self.loss(input, torch.full_like(input, 1.0 if target_is_real else 0.0))


class ReCycleGAN(nn.Module):
    def __init__(self, T=4, t=2):
        super().__init__()
        self.t = t
        self.T = T + t
        self.G_A_to_B = SpatialTranslationModel()
        self.G_B_to_A = SpatialTranslationModel()
        self.P_A = TemporalPredictorModel(n_in=t)
        self.P_B = TemporalPredictorModel(n_in=t)
        self.D_A = Discriminator()
        self.D_B = Discriminator()
        self.criterion_adv = GANLoss()
        self.criterion_l2 = nn.MSELoss()
        self.optim_G = Adam(itertools.chain(self.G_A_to_B.parameters(), self.G_B_to_A.parameters(),
                                            self.P_A.parameters(), self.P_B.parameters()), lr=0.0002)
        self.optim_D = Adam(itertools.chain(self.D_A.parameters(), self.D_B.parameters()), lr=0.0001)

    def updateGenerator(self, true_x_tuple, fake_y_tuple, true_x_next, fake_y_next, P_X, P_Y, net_Y_to_X, net_D):
        fake_x_next = P_X(true_x_tuple)
        reco_x_next = net_Y_to_X(P_Y(fake_y_tuple))
        fake_pred = net_D(fake_y_next)
        loss_adv = self.criterion_adv(fake_pred, True)
        self.loss_adv = self.loss_adv + loss_adv
        return (loss_adv + self.criterion_l2(reco_x_next, true_x_next) * 10.
                + self.criterion_l2(fake_x_next, true_x_next) * 10.)

    def updateDiscriminator(self, fake_frame, true_frame, net_D):
        fake_pred = net_D(fake_frame.detach())
        true_pred = net_D(true_frame)
        return self.criterion_adv(true_pred, True) + self.criterion_adv(fake_pred, False)

    def accumulate(self):
        # Prepare input sequence (BTCHW -> T * BCHW)
        true_a = [frame.squeeze(1) for frame in torch.chunk(self.true_a_seq, self.T, dim=1)]
        true_b = [frame.squeeze(1) for frame in torch.chunk(self.true_b_seq, self.T, dim=1)]
        self.loss_D = self.loss_G = self.loss_adv = 0.0
        fake_b = [self.G_A_to_B(frame) for frame in true_a]
        fake_a = [self.G_B_to_A(frame) for frame in true_b]

        for i in range(self.t, self.T):
            # generator and predictor
            true_a_tuple = torch.cat(true_a[i - self.t: i], dim=1)
            fake_b_tuple = torch.cat(fake_b[i - self.t: i], dim=1).detach()
            true_b_tuple = torch.cat(true_b[i - self.t: i], dim=1)
            fake_a_tuple = torch.cat(fake_a[i - self.t: i], dim=1).detach()
            self.loss_G += self.updateGenerator(true_a_tuple, fake_b_tuple, true_a[i], true_b[i],
                                                self.P_A, self.P_B, self.G_B_to_A, self.D_B)
            self.loss_G += self.updateGenerator(true_b_tuple, fake_a_tuple, true_b[i], true_a[i],
                                                self.P_B, self.P_A, self.G_A_to_B, self.D_A)
            # discriminator
            self.loss_D += self.updateDiscriminator(fake_b[i], true_b[i], self.D_B)
            self.loss_D += self.updateDiscriminator(fake_a[i], true_a[i], self.D_A)

    def backward(self):
        self.accumulate()
        self.optim_G.zero_grad()
        self.loss_G.backward()
        self.optim_G.step()
        self.optim_D.zero_grad()
        self.loss_D.backward()
        self.optim_D.step()


# %%
model = ReCycleGAN()
for step in range(5):
    model.true_a_seq, model.true_b_seq = torch.rand(2, 6, 1, 16, 16) * 2 - 1, torch.rand(2, 6, 1, 16, 16).round()
    model.backward()
    print(step, model.loss_G.item(), model.loss_adv.item(), model.loss_D.item())
