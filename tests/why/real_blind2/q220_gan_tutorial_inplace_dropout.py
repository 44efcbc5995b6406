# https://github.com/dreamgonfly/GAN-tutorial/issues/1
import torch
import torch.nn as nn
from torch.autograd import Variable
from torch.optim import Adam
from torch.utils.data import DataLoader, TensorDataset

mnist = TensorDataset(torch.rand(60, 1, 28, 28) * 2 - 1, torch.randint(10, (60,)))
dataloader = DataLoader(mnist, batch_size=20, shuffle=True)
use_gpu = False
leave_log = True


# %%
### Generator
class Generator(nn.Module):
    def __init__(self):
        super(Generator, self).__init__()
        self.main = nn.Sequential(
            nn.Linear(in_features=10, out_features=32),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Linear(in_features=32, out_features=64),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Linear(in_features=64, out_features=28*28),
            nn.Tanh())

    def forward(self, inputs):
        return self.main(inputs).view(-1, 1, 28, 28)


# %%
### Discriminator
class Discriminator(nn.Module):
    def __init__(self):
        super(Discriminator, self).__init__()
        self.main = nn.Sequential(
            nn.Linear(in_features=28*28, out_features=64),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Dropout(inplace=True),
            nn.Linear(in_features=64, out_features=32),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Dropout(inplace=True),
            nn.Linear(in_features=32, out_features=1),
            nn.Sigmoid())

    def forward(self, inputs):
        inputs = inputs.view(-1, 28*28)
        return self.main(inputs)


# %%
G = Generator()
D = Discriminator()

if use_gpu:
    G.cuda()
    D.cuda()

# %%
# Binary Cross Entropy loss
criterion = nn.BCELoss()
G_optimizer = Adam(G.parameters(), lr=0.0002, betas=(0.5, 0.999))
D_optimizer = Adam(D.parameters(), lr=0.0002, betas=(0.5, 0.999))

# %%
if leave_log:
    train_hist = {}
    train_hist['D_losses'] = []
    train_hist['G_losses'] = []

# %%
for epoch in range(2):
    if leave_log:
        D_losses = []
        G_losses = []

    for real_data, _ in dataloader:
        batch_size = real_data.size(0)
        real_data = Variable(real_data)

        ### train discriminator D
        target_real = Variable(torch.ones(batch_size, 1))
        target_fake = Variable(torch.zeros(batch_size, 1))

        D_result_from_real = D(real_data)
        D_loss_real = criterion(D_result_from_real, target_real)

        z = Variable(torch.randn((batch_size, 10)))
        fake_data = G(z)
        D_result_from_fake = D(fake_data)
        D_loss_fake = criterion(D_result_from_fake, target_fake)

        D_loss = D_loss_real + D_loss_fake

        D.zero_grad()
        D_loss.backward()
        D_optimizer.step()

        if leave_log:
            D_losses.append(D_loss.item())

        ### train generator G
        z = Variable(torch.randn((batch_size, 10)))
        fake_data = G(z)
        D_result_from_fake = D(fake_data)
        G_loss = criterion(D_result_from_fake, target_real)

        G.zero_grad()
        G_loss.backward()
        G_optimizer.step()

        if leave_log:
            G_losses.append(G_loss.item())
    if leave_log:
        print("Epoch:", epoch, "D Loss:", sum(D_losses) / len(D_losses), "G Loss:", sum(G_losses) / len(G_losses))
