# https://github.com/emited/VariationalRecurrentNeuralNetwork/issues/3
import torch
import torch.nn as nn

torch.manual_seed(128)


class VRNN(nn.Module):
    def __init__(self, x_dim, h_dim, z_dim):
        super(VRNN, self).__init__()
        self.h_dim = h_dim
        self.phi_x = nn.Sequential(nn.Linear(x_dim, h_dim), nn.ReLU())
        self.enc = nn.Linear(h_dim + h_dim, 2 * z_dim)
        self.prior = nn.Linear(h_dim, 2 * z_dim)
        self.phi_z = nn.Sequential(nn.Linear(z_dim, h_dim), nn.ReLU())
        self.dec = nn.Sequential(nn.Linear(h_dim + h_dim, x_dim), nn.Sigmoid())
        self.rnn = nn.GRUCell(h_dim + h_dim, h_dim)

    def forward(self, x):
        kld_loss, nll_loss = 0, 0
        h = torch.zeros(x.size(1), self.h_dim)
        for t in range(x.size(0)):
            phi_x_t = self.phi_x(x[t])
            enc_mean, enc_logstd = self.enc(torch.cat([phi_x_t, h], 1)).chunk(2, 1)
            prior_mean, prior_logstd = self.prior(h).chunk(2, 1)
            z_t = enc_mean + enc_logstd.exp() * torch.randn_like(enc_mean)
            phi_z_t = self.phi_z(z_t)
            dec_mean_t = self.dec(torch.cat([phi_z_t, h], 1))
            h = self.rnn(torch.cat([phi_x_t, phi_z_t], 1), h)
            kld = prior_logstd - enc_logstd - 0.5
            kld = kld + ((2 * enc_logstd).exp() + (enc_mean - prior_mean) ** 2) / (2 * (2 * prior_logstd).exp())
            kld_loss = kld_loss + kld.sum()
            nll_loss = nll_loss - (x[t] * torch.log(dec_mean_t) + (1 - x[t]) * torch.log(1 - dec_mean_t)).sum()
        return kld_loss, nll_loss


def grad_norm(model):
    return torch.stack([p.grad.norm() for p in model.parameters()]).norm().item()


def train(epoch):
    for batch_idx, data in enumerate(train_loader):
        # forward + backward + optimize
        optimizer.zero_grad()
        kld_loss, nll_loss = model(data)
        loss = kld_loss + nll_loss
        loss.backward()
        norms.append(grad_norm(model))
        optimizer.step()

        # grad norm clipping
        nn.utils.clip_grad_norm_(model.parameters(), clip)
        print('Train Epoch: {} KLD Loss: {:.4f} NLL Loss: {:.4f}'.format(
            epoch, kld_loss.item() / batch_size, nll_loss.item() / batch_size))


# hyperparameters
x_dim, h_dim, z_dim = 14, 20, 4
clip = 10
learning_rate = 1e-3
batch_size = 16

# %%
train_loader = [torch.rand(8, batch_size, x_dim) for _ in range(3)]
norms = []
model = VRNN(x_dim, h_dim, z_dim)
optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)
for epoch in range(1, 3):
    train(epoch)
print(norms)
