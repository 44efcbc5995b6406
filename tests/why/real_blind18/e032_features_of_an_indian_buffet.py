# https://github.com/rachtsingh/ibp_vae/issues/3
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Variable

torch.manual_seed(0)

SMALL = 1e-6


def logit(p):
    p = p.clamp(SMALL, 1 - SMALL)
    return torch.log(p) - torch.log1p(-p)


def inverse_softplus(x):
    return math.log(math.expm1(x))


def kumaraswamy_sample(a, b):
    u = Variable(torch.empty_like(a).uniform_(0.001, 0.999), requires_grad=False)
    return (1 - u ** (1 / b)) ** (1 / a)


def stick_breaking(a, b):
    """Logarithms of the probabilities of the features, each a product of sticks."""
    return torch.log(kumaraswamy_sample(a, b) + SMALL).cumsum(dim=1)


def reparametrize_discrete(logits, temp):
    u = Variable(torch.empty_like(logits).uniform_(1e-4, 1 - 1e-4), requires_grad=False)
    return (logits + logit(u)) / temp


def reparametrize_gaussian(mu, logvar):
    noise = Variable(torch.randn_like(mu), requires_grad=False)
    return mu + noise * logvar.exp()


class S_IBP_Concrete(nn.Module):
    def __init__(self, truncation=10, temp=1., alpha0=5., hidden=50, dim=36):
        super(S_IBP_Concrete, self).__init__()
        self.truncation = truncation
        self.temp = temp
        self.fc1_encode = nn.Linear(dim, hidden)
        self.fc2_encode = nn.Linear(hidden, 3 * truncation)
        self.fc1_decode = nn.Linear(truncation, hidden)
        self.fc2_decode = nn.Linear(hidden, dim)
        self.beta_a = nn.Parameter(torch.full((truncation,), inverse_softplus(alpha0)))
        self.beta_b = nn.Parameter(torch.full((truncation,), inverse_softplus(1.)))

    def encode(self, x):
        return self.fc2_encode(F.relu(self.fc1_encode(x))).chunk(3, dim=1)

    def decode(self, z):
        return torch.sigmoid(self.fc2_decode(F.relu(self.fc1_decode(z))))

    def forward(self, x):
        shape = (x.size(0), self.truncation)
        log_prior = stick_breaking((F.softplus(self.beta_a) + 0.01).expand(shape),
                                   (F.softplus(self.beta_b) + 0.01).expand(shape))
        logit_x, mu, logvar = self.encode(x)
        logsample = reparametrize_discrete(logit_x + logit(log_prior.exp()), self.temp)
        z_discrete = torch.sigmoid(logsample)
        if not self.training:
            z_discrete = z_discrete.round()
        z_continuous = reparametrize_gaussian(mu, logvar)
        return self.decode(z_discrete * z_continuous), mu, logvar


def nll_and_kl(recon, x, mu, logvar):
    nll = F.binary_cross_entropy(recon, x, reduction='none').sum(1)
    kl_zreal = 0.5 * (mu ** 2 + logvar.exp() - logvar - 1).sum(1)
    return nll.mean(), kl_zreal.mean()


# %%
model = S_IBP_Concrete()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
features = torch.rand(4, 36).round()
data = ((torch.rand(256, 4).round() @ features) > 0).float()

for epoch in range(100):
    optimizer.zero_grad()
    recon_batch, mu, logvar = model(data)
    nll, kl_zreal = nll_and_kl(recon_batch, data, mu, logvar)
    loss = nll + kl_zreal
    loss.backward()
    optimizer.step()
    if epoch % 20 == 19:
        print('Epoch: {} nll: {:.4f} kl: {:.4f}'.format(epoch, nll.item(), kl_zreal.item()))

drawn = torch.stack([reparametrize_gaussian(torch.zeros(4), torch.full((4,), -2.)) for _ in range(2000)])
share = (drawn.var() / math.exp(-2.)).item()
print("variance of the draws over exp(logvar):", share)
