# https://github.com/tejaslodaya/timeseries-clustering-vae/issues/3
import torch
from torch import nn, optim

torch.manual_seed(0)


class Encoder(nn.Module):
    def __init__(self, number_of_features, hidden_size, hidden_layer_depth, dropout=0.):
        super(Encoder, self).__init__()
        self.model = nn.LSTM(number_of_features, hidden_size, hidden_layer_depth, dropout=dropout)

    def forward(self, x):
        _, (h_end, c_end) = self.model(x)
        h_end = h_end[0, :, :]
        return h_end


class Lambda(nn.Module):
    def __init__(self, hidden_size, latent_length):
        super(Lambda, self).__init__()
        self.hidden_to_mean = nn.Linear(hidden_size, latent_length)
        self.hidden_to_logvar = nn.Linear(hidden_size, latent_length)

    def forward(self, cell_output):
        self.latent_mean = self.hidden_to_mean(cell_output)
        self.latent_logvar = self.hidden_to_logvar(cell_output)
        std = torch.exp(0.5 * self.latent_logvar)
        return torch.randn_like(std).mul(std).add(self.latent_mean)


class Decoder(nn.Module):
    def __init__(self, sequence_length, hidden_size, latent_length, output_size):
        super(Decoder, self).__init__()
        self.sequence_length = sequence_length
        self.latent_to_hidden = nn.Linear(latent_length, hidden_size)
        self.model = nn.LSTM(hidden_size, hidden_size)
        self.hidden_to_output = nn.Linear(hidden_size, output_size)

    def forward(self, latent):
        h = self.latent_to_hidden(latent).unsqueeze(0).repeat(self.sequence_length, 1, 1)
        decoder_output, _ = self.model(h)
        return self.hidden_to_output(decoder_output)


class VRAE(nn.Module):
    def __init__(self, sequence_length, number_of_features, hidden_size=16, hidden_layer_depth=2, latent_length=4):
        super(VRAE, self).__init__()
        self.encoder = Encoder(number_of_features, hidden_size, hidden_layer_depth)
        self.lmbd = Lambda(hidden_size, latent_length)
        self.decoder = Decoder(sequence_length, hidden_size, latent_length, number_of_features)

    def forward(self, x):
        latent = self.lmbd(self.encoder(x))
        return self.decoder(latent)


# %%
vrae = VRAE(sequence_length=10, number_of_features=1)
optimizer = optim.Adam(vrae.parameters(), lr=0.0005)
loss_fn = nn.MSELoss(reduction='sum')

# %%
for t in range(3):
    x = torch.sin(torch.rand(1, 8, 1) * 6 + torch.arange(10.).view(10, 1, 1))
    optimizer.zero_grad()
    x_decoded = vrae(x)
    latent_mean, latent_logvar = vrae.lmbd.latent_mean, vrae.lmbd.latent_logvar
    kl_loss = -0.5 * torch.mean(1 + latent_logvar - latent_mean.pow(2) - latent_logvar.exp())
    recon_loss = loss_fn(x_decoded, x)
    loss = kl_loss + recon_loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(vrae.parameters(), max_norm=5)
    optimizer.step()
    print(t, loss.item(), recon_loss.item(), kl_loss.item())
