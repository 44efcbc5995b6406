# https://github.com/yuval-alaluf/hyperstyle/issues/40
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)


class Decoder(nn.Module):
    """a generator that stays as it is; its layers are scaled by the hypernet"""
    def __init__(self, latent=8, out=24):
        super().__init__()
        self.fc1 = nn.Linear(latent, 32)
        self.fc2 = nn.Linear(32, out)

    def forward(self, codes, deltas):
        w1 = self.fc1.weight * (1 + deltas[0].unsqueeze(2))
        h = torch.tanh(torch.einsum('boi,bi->bo', w1, codes) + self.fc1.bias)
        w2 = self.fc2.weight * (1 + deltas[1].unsqueeze(2))
        return torch.einsum('boi,bi->bo', w2, h) + self.fc2.bias


class HyperStyle(nn.Module):
    def __init__(self):
        super().__init__()
        self.w_encoder = nn.Linear(24, 8)
        self.hypernet = nn.Sequential(nn.Linear(48, 64), nn.ReLU(), nn.Linear(64, 32 + 24))
        self.decoder = Decoder()
        for module in (self.w_encoder, self.decoder):
            for p in module.parameters():
                p.requires_grad = False

    def forward(self, x, y_hat=None, weights_deltas=None, codes=None):
        if y_hat is None:
            with torch.no_grad():
                codes = self.w_encoder(x)
                zero = [torch.zeros(len(x), 32), torch.zeros(len(x), 24)]
                y_hat = self.decoder(codes, zero)
        new = list((0.1 * self.hypernet(torch.cat([x, y_hat], dim=1))).split([32, 24], dim=1))
        if weights_deltas is None:
            weights_deltas = new
        else:
            weights_deltas = [old + n for old, n in zip(weights_deltas, new)]
        return self.decoder(codes, weights_deltas), weights_deltas, codes


class Coach:
    def __init__(self, n_iters_per_batch=5):
        self.n_iters_per_batch = n_iters_per_batch
        self.net = HyperStyle()
        self.optimizer = torch.optim.Adam(self.net.hypernet.parameters(), lr=2e-3)

    def perform_forward_on_batch(self, x, train=False):
        y_hat, weights_deltas, codes = None, None, None
        for iter in range(self.n_iters_per_batch):
            if iter > 0 and train:
                weights_deltas = [w.clone().detach().requires_grad_(True) for w in weights_deltas]
                y_hat = y_hat.clone().detach().requires_grad_(True)
            y_hat, weights_deltas, codes = self.net(x, y_hat, weights_deltas, codes)
            loss = F.mse_loss(y_hat, x)
            if train:
                loss.backward()
        return loss.item()

    def train(self, loader, steps):
        history = []
        for step in range(steps):
            self.optimizer.zero_grad()
            history.append(self.perform_forward_on_batch(loader[step % len(loader)], train=True))
            self.optimizer.step()
        return history


# %%
coach = Coach()
loader = [torch.randn(16, 24) for _ in range(4)]
hyper_before = coach.net.hypernet[0].weight.detach().clone()

# %%
history = coach.train(loader, 80)
with torch.no_grad():
    after = coach.perform_forward_on_batch(loader[0])
print(history[0], history[-1], after)
assert sum(history[-4:]) < sum(history[:4])
assert not torch.equal(hyper_before, coach.net.hypernet[0].weight)
