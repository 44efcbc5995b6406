# https://github.com/IceLab-X/MiniGP/issues/13
import torch
import torch.nn as nn


class stgp(nn.Module):
    def __init__(self, log_noise):
        super().__init__()
        self.log_noise = nn.Parameter(torch.tensor(log_noise))
        self.noise_variance = torch.exp(self.log_noise)
        self.mean = nn.Parameter(torch.zeros(1))

    def negative_log_likelihood(self, y):
        return 0.5 * (((y - self.mean) ** 2) / self.noise_variance + torch.log(self.noise_variance)).sum()


model = stgp(0.3)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
y = torch.randn(20) + 2

# %%
for i in range(3):
    optimizer.zero_grad()
    loss = model.negative_log_likelihood(y)
    loss.backward()
    optimizer.step()
