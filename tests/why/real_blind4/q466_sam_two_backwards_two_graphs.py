# https://github.com/yuval-alaluf/SAM/issues/42
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class pSp(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(4, 8, 3, 2, 1), nn.ReLU(), nn.Flatten(), nn.Linear(128, 12))
        self.decoder = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 3 * 64), nn.Unflatten(1, (3, 8, 8)))
        for p in self.decoder.parameters():
            p.requires_grad = False

    def forward(self, x, return_latents=False):
        codes = self.encoder(x)
        images = torch.tanh(self.decoder(codes))
        return (images, codes) if return_latents else images


class AgingLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.age_net = nn.Sequential(nn.Flatten(), nn.Linear(192, 1), nn.Sigmoid())
        for p in self.parameters():
            p.requires_grad = False

    def forward(self, y_hat, target_ages):
        return F.mse_loss(self.age_net(y_hat).squeeze(1), target_ages)


class Coach:
    def __init__(self, max_steps=2):
        self.net = pSp()
        self.aging_loss = AgingLoss()
        self.optimizer = torch.optim.Adam(self.net.encoder.parameters(), lr=1e-3)
        self.train_dataloader = [torch.rand(4, 3, 8, 8) * 2 - 1 for _ in range(max_steps)]

    def set_target_ages(self, x, ages):
        return torch.cat((x, ages.view(-1, 1, 1, 1).expand(-1, 1, 8, 8)), dim=1)

    def perform_forward_pass(self, x):
        y_hat, latent = self.net.forward(x, return_latents=True)
        return y_hat, latent

    def calc_loss(self, x, y, y_hat, latent, target_ages, data_type="real"):
        loss = F.mse_loss(y_hat, y) + 4.0 * self.aging_loss(y_hat, target_ages) + 0.005 * latent.norm(2, dim=1).mean()
        return loss, {data_type: loss.item()}

    def train(self):
        self.net.train()
        weight = self.net.encoder[0].weight
        for x in self.train_dataloader:
            self.optimizer.zero_grad()
            input_ages, target_ages = torch.rand(4), torch.rand(4)

            # perform forward/backward pass on real images
            y_hat, latent = self.perform_forward_pass(self.set_target_ages(x, target_ages))
            loss, loss_dict = self.calc_loss(x, x, y_hat, latent, target_ages, data_type="real")
            first, = torch.autograd.grad(loss, weight, retain_graph=True)  # to compare
            loss.backward()

            # perform cycle on generate images by setting the target ages to the original input ages
            y_hat_clone = y_hat.clone().detach().requires_grad_(True)
            y_recovered, latent_cycle = self.perform_forward_pass(self.set_target_ages(y_hat_clone, input_ages))
            loss, cycle_loss_dict = self.calc_loss(x, x, y_recovered, latent_cycle, input_ages, data_type="cycle")
            second, = torch.autograd.grad(loss, weight, retain_graph=True)  # to compare
            loss.backward()
            self.sum_of_both, self.in_grad = first + second, weight.grad.clone()
            self.optimizer.step()
            print(loss_dict, cycle_loss_dict)


# %%
coach = Coach()
coach.train()
