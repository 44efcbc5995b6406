# https://github.com/AlanDongMu/TimeGAN_PytorchRebuild/issues/2
from types import SimpleNamespace

import torch
import torch.nn as nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self, input_dim, hidden_dim, output_dim, num_layer=1):
        super(Net, self).__init__()
        self.rnn = nn.GRU(input_dim, hidden_dim, num_layer, batch_first=True)
        self.fc = nn.Linear(hidden_dim, output_dim)

    def forward(self, x):
        return torch.sigmoid(self.fc(self.rnn(x)[0]))


class TimeGAN:
    def __init__(self, opt, ori_data):
        self.opt, self.ori_data = opt, ori_data
        self.no, self.seq_len, self.z_dim = ori_data.shape
        self.embedder = Net(self.z_dim, opt.hidden_dim, opt.hidden_dim)
        self.recovery = Net(opt.hidden_dim, opt.hidden_dim, self.z_dim)
        self.generator = Net(self.z_dim, opt.hidden_dim, opt.hidden_dim)
        self.supervisor = Net(opt.hidden_dim, opt.hidden_dim, opt.hidden_dim)
        self.discriminator = Net(opt.hidden_dim, opt.hidden_dim, 1)
        for name in ['embedder', 'recovery', 'generator', 'supervisor', 'discriminator']:
            setattr(self, 'optim_' + name, torch.optim.Adam(getattr(self, name).parameters(), lr=opt.lr))
        self.MSELoss, self.BCELoss = nn.MSELoss(), nn.BCELoss()

    def gen_batch(self):
        # Set training batch
        self.X = self.ori_data[torch.randperm(self.no)[:self.opt.batch_size]]
        # Random vector generation
        self.Z = torch.rand(self.opt.batch_size, self.seq_len, self.z_dim)

        # total networks forward
        self.H = self.embedder(self.X)
        self.X_tilde = self.recovery(self.H)
        self.H_hat_supervise = self.supervisor(self.H)
        self.E_hat = self.generator(self.Z)
        self.H_hat = self.supervisor(self.E_hat)
        self.X_hat = self.recovery(self.H_hat)
        self.Y_real = self.discriminator(self.H)
        self.Y_fake = self.discriminator(self.H_hat)
        self.Y_fake_e = self.discriminator(self.E_hat)

    def train_embedder(self, join_train=False):
        self.optim_embedder.zero_grad()
        self.optim_recovery.zero_grad()
        self.E_loss_T0 = self.MSELoss(self.X, self.X_tilde)
        self.E_loss0 = 10 * torch.sqrt(self.E_loss_T0)
        if not join_train:
            self.E_loss0.backward()
        else:
            self.G_loss_S = self.MSELoss(self.H[:, 1:, :], self.H_hat_supervise[:, :-1, :])
            self.E_loss = self.E_loss0 + 0.1 * self.G_loss_S
            self.E_loss.backward()
        self.optim_embedder.step()
        self.optim_recovery.step()

    def train_generator(self):
        self.optim_generator.zero_grad()
        self.optim_supervisor.zero_grad()
        self.G_loss_U = self.BCELoss(self.Y_fake, torch.ones_like(self.Y_fake))
        self.G_loss_U_e = self.BCELoss(self.Y_fake_e, torch.ones_like(self.Y_fake_e))
        self.G_loss_V = torch.mean(torch.abs(torch.mean(self.X_hat, [0]) - torch.mean(self.X, [0])))
        self.G_loss_S = self.MSELoss(self.H_hat_supervise[:, :-1, :], self.H[:, 1:, :])
        self.G_loss = self.G_loss_U + self.G_loss_U_e + torch.sqrt(self.G_loss_S) * 100 + self.G_loss_V * 100
        self.G_loss.backward()
        self.optim_generator.step()
        self.optim_supervisor.step()

    def train_discriminator(self):
        self.optim_discriminator.zero_grad()
        self.D_loss = self.BCELoss(self.Y_real, torch.ones_like(self.Y_real)) \
            + self.BCELoss(self.Y_fake, torch.zeros_like(self.Y_fake)) \
            + self.BCELoss(self.Y_fake_e, torch.zeros_like(self.Y_fake_e))
        self.D_loss.backward()
        self.optim_discriminator.step()


# %%
opt = SimpleNamespace(hidden_dim=12, batch_size=16, lr=1e-3, iterations=10)
time = torch.arange(12) * 0.3
ori_data = torch.sin(time[None, :, None] + 6 * torch.rand(100, 1, 3)) / 2 + 0.5
model = TimeGAN(opt, ori_data)

# %%
print('Start Embedding Network Training')
for i in range(opt.iterations):
    model.gen_batch()
    model.train_embedder()

# %%
print('Start Joint Training')
for i in range(opt.iterations):
    for kk in range(2):
        model.gen_batch()
        model.train_generator()
        model.train_embedder(join_train=True)
    model.gen_batch()
    model.train_discriminator()
    print(f'step: {i}, d_loss: {model.D_loss.item():.4f}, g_loss_u: {model.G_loss_U.item():.4f}')
