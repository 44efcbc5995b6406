# https://github.com/VGraphRNN/VGRNN/issues/4
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class VGRNN(nn.Module):
    def __init__(self, x_dim, h_dim, z_dim):
        super(VGRNN, self).__init__()
        self.enc_mean, self.enc_std = nn.Linear(x_dim + h_dim, z_dim), nn.Linear(x_dim + h_dim, z_dim)
        self.rnn = nn.GRUCell(x_dim + z_dim, h_dim)
        self.h_dim = h_dim

    def forward(self, x, adj):
        kld_loss, nll_loss, h = 0, 0, torch.zeros(x.size(1), self.h_dim)
        for t in range(x.size(0)):
            enc_in = torch.cat([x[t], h], 1)
            mean, std = self.enc_mean(enc_in), F.softplus(self.enc_std(enc_in))
            z = mean + std * torch.randn_like(std)
            kld_loss = kld_loss - 0.5 * (1 + 2 * std.log() - mean ** 2 - std ** 2).sum()
            nll_loss = nll_loss + F.binary_cross_entropy_with_logits(z @ z.t(), adj[t], reduction="sum")
            h = self.rnn(torch.cat([x[t], z], 1), h)
        return kld_loss, nll_loss


# %%
clip = 10
model = VGRNN(6, 16, 8)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
x, adj = torch.randn(4, 12, 6), (torch.rand(4, 12, 12) > 0.8).float()

# %%
for k in range(5):
    optimizer.zero_grad()
    kld_loss, nll_loss = model(x, adj)
    loss = kld_loss + nll_loss
    loss.backward()
    optimizer.step()

    nn.utils.clip_grad_norm_(model.parameters(), clip)
    print('epoch: ', k, 'loss =', loss.item())
