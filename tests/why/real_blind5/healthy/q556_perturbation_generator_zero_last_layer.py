# https://github.com/smallflyingpig/universal_adversarial_perturbation_generative_network_for_speaker_recognition/issues/4
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class conv_generator(nn.Module):
    def __init__(self, channels=8):
        super().__init__()
        self.conv_in = nn.Conv1d(1, channels, 3, padding=1)
        self.blocks = nn.ModuleList(nn.Conv1d(channels, channels, 3, padding=1) for _ in range(2))
        self.conv_out = nn.Conv1d(channels, 1, 3, padding=1)
        self._init_weight()

    def _init_weight(self):
        nn.init.zeros_(self.conv_out.weight)
        nn.init.zeros_(self.conv_out.bias)

    def forward(self, noise):
        x = F.leaky_relu(self.conv_in(noise), 0.2)
        for block in self.blocks:
            x = x + F.leaky_relu(block(x), 0.2)
        return torch.tanh(self.conv_out(x))


# %%
model = conv_generator()
speaker_model = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 5)).eval()
for p in speaker_model.parameters():
    p.requires_grad = False
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
noise_scale, target = 0.2, 3
in_before = model.conv_in.weight.detach().clone()

# %%
noise = torch.randn(1, 1, 64)
for epoch in range(4):
    wav = torch.randn(8, 1, 64)
    perturbation = model(noise) * noise_scale
    pout = speaker_model(wav + perturbation)
    loss = F.cross_entropy(pout, torch.full((8,), target)) + 0.01 * perturbation.norm() ** 2
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item(), model.conv_in.weight.grad.norm().item())
