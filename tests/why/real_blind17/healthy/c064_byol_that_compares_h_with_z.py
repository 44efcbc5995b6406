# https://github.com/Lightning-Universe/lightning-bolts/issues/697
from copy import deepcopy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class MLP(nn.Module):
    def __init__(self, input_dim, hidden_size=64, output_dim=16):
        super().__init__()
        self.model = nn.Sequential(nn.Linear(input_dim, hidden_size, bias=False), nn.BatchNorm1d(hidden_size),
                                   nn.ReLU(inplace=True), nn.Linear(hidden_size, output_dim, bias=True))

    def forward(self, x):
        return self.model(x)


class SiameseArm(nn.Module):
    def __init__(self, input_dim=20, encoder_out_dim=32):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(input_dim, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, encoder_out_dim))
        self.projector = MLP(encoder_out_dim)
        self.predictor = MLP(16)

    def forward(self, x):
        y = self.encoder(x)
        z = self.projector(y)
        h = self.predictor(z)
        return y, z, h


class BYOLMAWeightUpdate:
    def __init__(self, initial_tau=0.95, max_steps=200):
        self.initial_tau, self.current_tau, self.max_steps = initial_tau, initial_tau, max_steps

    def on_train_batch_end(self, pl_module, global_step):
        for (name, online_p), (_, target_p) in zip(pl_module.online_network.named_parameters(), pl_module.target_network.named_parameters()):
            if "weight" in name:
                target_p.data = self.current_tau * target_p.data + (1 - self.current_tau) * online_p.data
        self.current_tau = 1 - (1 - self.initial_tau) * (1 - global_step / self.max_steps)


class BYOL(nn.Module):
    def __init__(self):
        super().__init__()
        self.online_network = SiameseArm()
        self.target_network = deepcopy(self.online_network)
        self.weight_callback = BYOLMAWeightUpdate()

    def shared_step(self, batch):
        img_1, img_2 = batch[:2]

        # Image 1 to image 2 loss
        y1, z1, h1 = self.online_network(img_1)
        with torch.no_grad():
            y2, z2, h2 = self.target_network(img_2)
        loss_a = -2 * F.cosine_similarity(h1, z2).mean()

        # Image 2 to image 1 loss
        y1, z1, h1 = self.online_network(img_2)
        with torch.no_grad():
            y2, z2, h2 = self.target_network(img_1)
        # L2 normalize
        loss_b = -2 * F.cosine_similarity(h1, z2).mean()

        # Final loss
        total_loss = loss_a + loss_b
        return loss_a, loss_b, total_loss


centers = 1.5 * torch.randn(6, 20)


def two_crops(n):
    y = torch.randint(0, 6, (n,))
    x = centers[y] + 0.5 * torch.randn(n, 20)
    return x + 0.5 * torch.randn(n, 20), x + 0.5 * torch.randn(n, 20), y


# %%
model = BYOL()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=1.5e-6)
before = {n: p.detach().clone() for n, p in model.target_network.named_parameters()}
losses = []
for global_step in range(200):
    loss_a, loss_b, total_loss = model.shared_step(two_crops(128))
    optimizer.zero_grad()
    total_loss.backward()
    optimizer.step()
    model.weight_callback.on_train_batch_end(model, global_step)
    losses.append(total_loss.item())

# %%
model.eval()
with torch.no_grad():
    bank, _, labels = two_crops(300)
    query, _, truth = two_crops(300)
    za, zb = (F.normalize(model.online_network.encoder(v), dim=1) for v in (bank, query))
    knn = (labels[(zb @ za.t()).argmax(1)] == truth).float().mean().item()
    spread = za.std(0).mean().item()
moved = [n for n, p in model.target_network.named_parameters() if not torch.equal(p, before[n])]
print(losses[0], losses[-1], knn, spread, len(moved))
assert all(p.grad is None for p in model.target_network.parameters())
assert all(p.grad is not None for p in model.online_network.parameters())
assert moved and losses[-1] < -3.0 and knn > 0.9 and spread > 0.05
