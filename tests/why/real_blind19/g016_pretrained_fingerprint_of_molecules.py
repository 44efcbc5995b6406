# https://github.com/chemprop/chemprop/pull/952
import torch
import torch.nn as nn

torch.manual_seed(0)


class BondMessagePassing(nn.Module):
    def __init__(self, d_v=10, d_h=32, depth=3, dropout=0.1):
        super().__init__()
        self.W_i = nn.Linear(d_v, d_h, bias=False)
        self.W_h = nn.Linear(d_h, d_h, bias=False)
        self.depth = depth
        self.dropout = nn.Dropout(dropout)
        self.tau = nn.ReLU()

    def forward(self, bmg):
        V, A = bmg
        H_0 = self.W_i(V)
        H = self.tau(H_0)
        for _ in range(1, self.depth):
            H = self.dropout(self.tau(H_0 + self.W_h(A @ H)))
        return H


class MeanAggregation(nn.Module):
    def forward(self, H):
        return H.mean(dim=1)


class RegressionFFN(nn.Module):
    def __init__(self, d_h=32):
        super().__init__()
        self.ffn = nn.Sequential(nn.Linear(d_h, d_h), nn.ReLU(), nn.Linear(d_h, 1))

    def forward(self, Z):
        return self.ffn(Z)


class MPNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.message_passing = BondMessagePassing()
        self.agg = MeanAggregation()
        self.bn = nn.BatchNorm1d(32)
        self.predictor = RegressionFFN()

    def fingerprint(self, bmg):
        return self.bn(self.agg(self.message_passing(bmg)))

    def forward(self, bmg):
        return self.predictor(self.fingerprint(bmg))


def molecules(n, shift=0.0):
    V = torch.rand(n, 6, 10) + shift
    A = (torch.rand(n, 6, 6) < 0.4).float()
    return (V, A), V[:, :, :3].mean(dim=(1, 2), keepdim=False).unsqueeze(1)


def fit(model, batches, epochs, lr=1e-3):
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=lr)
    for epoch in range(epochs):
        for bmg, targets in batches:
            loss = nn.functional.mse_loss(model(bmg), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())


# %%
mpnn = MPNN()
mpnn.train()
fit(mpnn, [molecules(32) for _ in range(10)], epochs=2)

# %%
mpnn_foundation = {name: value.clone() for name, value in mpnn.state_dict().items()}
bmg, _ = molecules(16)
mpnn.eval()
before = mpnn.fingerprint(bmg).detach()

# %%
mpnn.train()
mpnn.message_passing.apply(lambda module: module.requires_grad_(False))
mpnn.message_passing.eval()
mpnn.bn.apply(lambda module: module.requires_grad_(False))
fit(mpnn, [molecules(32, shift=1.0) for _ in range(10)], epochs=2)

# %%
mpnn.eval()
after = mpnn.fingerprint(bmg).detach()
changed = [name for name, value in mpnn.state_dict().items()
           if name.split('.')[0] in ('message_passing', 'bn') and not torch.equal(value, mpnn_foundation[name])]
print("fingerprint moved by", (after - before).abs().max().item(), changed)
