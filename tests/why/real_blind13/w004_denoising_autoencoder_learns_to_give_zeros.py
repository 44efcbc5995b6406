# https://whosebug.com/question/5407576/Why-does-my-autoencoder-for-de-noising-in-PyTorch-learns-to-zero-out-everything
import math
import torch
import torch.nn as nn

torch.manual_seed(0)


class ConvAutoencoder(nn.Module):
    def __init__(self, enc_channels, dec_channels):
        super(ConvAutoencoder, self).__init__()
        ## encoder layers ##
        encoder_layers = []
        decoder_layers = []

        in_channels = enc_channels[0]
        for i in range(1, len(enc_channels)):
            out_channels = enc_channels[i]
            encoder_layers += [nn.ConvTranspose2d(in_channels, out_channels, kernel_size=1, bias=True),
                               nn.ReLU()]
            in_channels = out_channels

        in_channels = dec_channels[0]
        for i in range(1, len(dec_channels)):
            out_channels = dec_channels[i]
            decoder_layers += [nn.ConvTranspose2d(in_channels, out_channels, kernel_size=1, bias=True),
                               nn.ReLU()]
            in_channels = out_channels

        self.encoder = nn.Sequential(*encoder_layers)
        self.decoder = nn.Sequential(*decoder_layers)

    def forward(self, x):
        if len(x.shape) == 3:
            x = x.unsqueeze(dim=-1)
        x = self.encoder(x)
        x = self.decoder(x)
        return x.squeeze(-1)


B, K, L = 5, 8, 1


def signals(n):
    start = torch.rand(n, L, 1) * 2 * math.pi
    points = torch.arange(B * K).view(1, 1, -1) * 2 * math.pi / K
    return torch.cos(points + start)


# %%
model = ConvAutoencoder([L, 8, 4], [4, 8, L])
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

for epoch in range(300):
    clean = signals(32)
    noisy = clean + 2.0 * torch.randn_like(clean)
    output = model(noisy)
    loss = criterion(output, clean)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 50 == 0:
        print(epoch, loss.item(), output.abs().max().item())
