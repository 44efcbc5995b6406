# https://github.com/zalandoresearch/pytorch-vq-vae/issues/2
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Residual(nn.Module):
    def __init__(self, in_channels, num_hiddens, num_residual_hiddens):
        super(Residual, self).__init__()
        self._block = nn.Sequential(
            nn.ReLU(False),
            nn.Conv2d(in_channels, num_residual_hiddens, kernel_size=3, padding=1, bias=False),
            nn.ReLU(True),
            nn.Conv2d(num_residual_hiddens, num_hiddens, kernel_size=1, bias=False)
        )

    def forward(self, x):
        return x + self._block(x)


class ResidualStack(nn.Module):
    def __init__(self, in_channels, num_hiddens, num_residual_layers, num_residual_hiddens):
        super(ResidualStack, self).__init__()
        self._num_residual_layers = num_residual_layers
        self._layers = nn.ModuleList([Residual(in_channels, num_hiddens, num_residual_hiddens)]
                                     * num_residual_layers)

    def forward(self, x):
        for i in range(self._num_residual_layers):
            x = self._layers[i](x)
        return F.relu(x)


# %%
model = ResidualStack(in_channels=8, num_hiddens=8, num_residual_layers=3, num_residual_hiddens=4)
head = nn.Conv2d(8, 3, 1)
optimizer = torch.optim.Adam([*model.parameters(), *head.parameters()], lr=1e-3)

# %%
for i in range(3):
    z, data = torch.randn(4, 8, 6, 6), torch.rand(4, 3, 6, 6)
    optimizer.zero_grad()
    recon_error = F.mse_loss(head(model(z)), data)
    recon_error.backward()
    optimizer.step()
    print(i, recon_error.item(), sum(p.numel() for p in model.parameters()))
