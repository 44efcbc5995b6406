# https://github.com/speechbrain/speechbrain/issues/1492
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class EnhancementGenerator(nn.Module):
    def __init__(self, input_size=6, hidden=8):
        super().__init__()
        self.blstm = nn.LSTM(input_size, hidden, batch_first=True, bidirectional=True)
        self.linear = nn.Linear(2 * hidden, input_size)

    def forward(self, spec):
        return torch.sigmoid(self.linear(self.blstm(spec)[0]))


class MetricDiscriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 6, 3, padding=1)
        self.out = nn.Linear(6, 1)

    def forward(self, x):
        return self.out(F.leaky_relu(self.conv(x), 0.3).mean((2, 3)))


class MetricGanBrain:
    def __init__(self):
        self.generator, self.discriminator = EnhancementGenerator(), MetricDiscriminator()
        self.g_optimizer = torch.optim.Adam(self.generator.parameters(), lr=5e-4)
        self.d_optimizer = torch.optim.Adam(self.discriminator.parameters(), lr=5e-4)

    def est_score(self, deg_spec, ref_spec):
        return self.discriminator(torch.cat([deg_spec.unsqueeze(1), ref_spec.unsqueeze(1)], 1))

    def fit_batch(self, noisy_spec, clean_spec):
        if self.sub_stage == 'GENERATOR':
            enhanced = self.generator(noisy_spec).clamp(min=0.05) * noisy_spec
            loss = F.mse_loss(self.est_score(enhanced, clean_spec), torch.ones(len(noisy_spec), 1))
            self.g_optimizer.zero_grad()
            self.generator_own = torch.autograd.grad(loss, list(self.generator.parameters()), retain_graph=True)  # a look
            loss.backward()
            self.g_optimizer.step()
        else:
            enhanced = self.generator(noisy_spec).clamp(min=0.05) * noisy_spec
            target = torch.rand(len(noisy_spec), 1)  # the metric of the enhanced speech
            loss = F.mse_loss(self.est_score(enhanced, clean_spec), target)
            loss = loss + F.mse_loss(self.est_score(clean_spec, clean_spec), torch.ones(len(noisy_spec), 1))
            self.d_optimizer.zero_grad()
            self.discriminator_own = torch.autograd.grad(loss, list(self.discriminator.parameters()), retain_graph=True)
            loss.backward()
            self.d_optimizer.step()
        return loss.detach().item()


# %%
brain = MetricGanBrain()
for epoch in range(2):
    for brain.sub_stage in ('DISCRIMINATOR', 'GENERATOR'):
        noisy, clean = torch.rand(3, 10, 6), torch.rand(3, 10, 6)
        print(epoch, brain.sub_stage, brain.fit_batch(noisy, clean))
        if brain.sub_stage == 'GENERATOR':
            generator_seen = [p.grad.clone() for p in brain.generator.parameters()]
        else:
            discriminator_seen = [p.grad.clone() for p in brain.discriminator.parameters()]
