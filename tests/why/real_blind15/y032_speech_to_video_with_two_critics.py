# https://github.com/PrashanthaTP/wav2mov/issues/3
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Wav2MovTemplate(nn.Module):
    def __init__(self, audio=10, pixels=24):
        super().__init__()
        self.gen = nn.Sequential(nn.Linear(audio + pixels, 32), nn.ReLU(), nn.Linear(32, pixels), nn.Tanh())
        self.id_disc = nn.Sequential(nn.Linear(2 * pixels, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
        self.sync_disc = nn.Sequential(nn.Linear(audio + pixels, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
        self.optim_gen = torch.optim.Adam(self.gen.parameters(), lr=2e-3)
        self.optim_id = torch.optim.Adam(self.id_disc.parameters(), lr=1e-3)
        self.optim_sync = torch.optim.Adam(self.sync_disc.parameters(), lr=1e-3)

    def set_input(self, audio, real, ref):
        self.audio, self.real, self.ref = audio, real, ref
        self.fake = self.gen(torch.cat([audio, ref], dim=1))

    def optimize_id(self):
        real = self.id_disc(torch.cat([self.real, self.ref], dim=1))
        fake = self.id_disc(torch.cat([self.fake.detach(), self.ref], dim=1))
        loss_id = F.softplus(-real).mean() + F.softplus(fake).mean()
        loss_id.backward()
        for_gen = self.id_disc(torch.cat([self.fake, self.ref], dim=1))
        loss_gen = F.softplus(-for_gen).mean() + 10 * F.l1_loss(self.fake, self.real)
        loss_gen.backward(inputs=list(self.gen.parameters()), retain_graph=True)
        return {"id": loss_id.item(), "gen": loss_gen.item()}

    def optimize_sync(self):
        real = self.sync_disc(torch.cat([self.audio, self.real], dim=1))
        fake = self.sync_disc(torch.cat([self.audio, self.fake.detach()], dim=1))
        loss_sync = F.softplus(-real).mean() + F.softplus(fake).mean()
        loss_sync.backward()
        for_gen = self.sync_disc(torch.cat([self.audio, self.fake], dim=1))
        loss_gen = F.softplus(-for_gen).mean()
        loss_gen.backward(inputs=list(self.gen.parameters()))
        return {"sync": loss_sync.item()}

    def step_gen(self):
        self.optim_gen.step()
        self.optim_gen.zero_grad()

    def step_id(self):
        self.optim_id.step()
        self.optim_id.zero_grad()

    def step_sync(self):
        self.optim_sync.step()
        self.optim_sync.zero_grad()


def optimize(model, batch):
    model.set_input(*batch)
    loss_id = model.optimize_id()
    model.step_id()
    loss_sync = model.optimize_sync()
    model.step_sync()
    return {**loss_id, **loss_sync}


# %%
model = Wav2MovTemplate()
gen_at_first = [p.detach().clone() for p in model.gen.parameters()]
to_pixels = torch.randn(10, 24)
for step in range(40):
    audio = torch.randn(16, 10)
    losses = optimize(model, (audio, torch.tanh(audio @ to_pixels), torch.randn(16, 24)))
    if step % 10 == 0:
        print(step, losses)
