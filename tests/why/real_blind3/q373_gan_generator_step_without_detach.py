# https://github.com/devnag/pytorch-generative-adversarial-networks/issues/14
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)
# Data params
data_mean, data_stddev = 4, 1.25
g_input_size, g_hidden_size, g_output_size = 1, 12, 1
d_input_size, d_hidden_size, d_output_size = 20, 12, 1
minibatch_size = d_input_size
d_steps, g_steps, num_epochs = 1, 1, 4


def d_sampler(n):
    return torch.randn(1, n) * data_stddev + data_mean


def gi_sampler(m, n):
    return torch.rand(m, n)


class Generator(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super(Generator, self).__init__()
        self.map1, self.map2 = nn.Linear(input_size, hidden_size), nn.Linear(hidden_size, hidden_size)
        self.map3 = nn.Linear(hidden_size, output_size)

    def forward(self, x):
        x = torch.nn.functional.elu(self.map1(x))
        return self.map3(torch.sigmoid(self.map2(x)))


class Discriminator(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super(Discriminator, self).__init__()
        self.map1, self.map2 = nn.Linear(input_size, hidden_size), nn.Linear(hidden_size, output_size)

    def forward(self, x):
        return torch.sigmoid(self.map2(torch.nn.functional.elu(self.map1(x))))


# %%
G = Generator(g_input_size, g_hidden_size, g_output_size)
D = Discriminator(d_input_size, d_hidden_size, d_output_size)
criterion = nn.BCELoss()
d_optimizer = optim.Adam(D.parameters(), lr=2e-4, betas=(0.9, 0.999))
g_optimizer = optim.Adam(G.parameters(), lr=2e-4, betas=(0.9, 0.999))

# %%
for epoch in range(num_epochs):
    for d_index in range(d_steps):
        # 1. Train D on real+fake
        D.zero_grad()
        d_real_error = criterion(D(d_sampler(d_input_size)), torch.ones(1, 1))
        d_real_error.backward()
        d_fake_data = G(gi_sampler(minibatch_size, g_input_size)).detach()  # detach to avoid training G on these labels
        d_fake_error = criterion(D(d_fake_data.t()), torch.zeros(1, 1))
        d_fake_error.backward()
        d_optimizer.step()

    d_before = [p.detach().clone() for p in D.parameters()]
    for g_index in range(g_steps):
        # 2. Train G on D's response (but DO NOT train D on these labels)
        G.zero_grad()
        g_fake_data = G(gi_sampler(minibatch_size, g_input_size))
        dg_fake_decision = D(g_fake_data.t())
        g_error = criterion(dg_fake_decision, torch.ones(1, 1))  # we want to fool, so pretend it's all genuine
        g_error.backward()
        g_optimizer.step()  # Only optimizes G's parameters
    print("%s: D: %.3f/%.3f G: %.3f" % (epoch, d_real_error.item(), d_fake_error.item(), g_error.item()))
