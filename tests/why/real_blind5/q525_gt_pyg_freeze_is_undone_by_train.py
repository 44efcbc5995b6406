# https://github.com/pgniewko/gt-pyg/issues/112
import torch
from torch import nn

torch.manual_seed(0)


class GraphTransformerNet(nn.Module):
    def __init__(self, node_dim_in=6, hidden_dim=16):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(node_dim_in, hidden_dim), nn.BatchNorm1d(hidden_dim), nn.ReLU(), nn.Linear(hidden_dim, hidden_dim), nn.BatchNorm1d(hidden_dim))
        self.mu_mlp = nn.Sequential(nn.Linear(hidden_dim, hidden_dim), nn.ReLU(), nn.Linear(hidden_dim, 1))
        self._frozen = {"encoder": False, "heads": False}

    def _set_requires_grad(self, modules, requires_grad):
        for module in modules:
            for param in module.parameters():
                param.requires_grad = requires_grad
            for m in module.modules():
                if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d)):
                    m.train(requires_grad)

    def freeze(self, component="encoder"):
        self._set_requires_grad([self.encoder if component == "encoder" else self.mu_mlp], False)
        self._frozen[component] = True

    def get_frozen_status(self):
        return dict(self._frozen)

    def forward(self, x):
        return self.mu_mlp(self.encoder(x))


def train_epoch(model, optimizer, batches):
    model.train()
    for x, y in batches:
        optimizer.zero_grad()
        loss = nn.functional.l1_loss(model(x), y)
        loss.backward()
        optimizer.step()
    return loss.item()


# %%
model = GraphTransformerNet()  # would be load_checkpoint(...)
model.freeze("encoder")
optimizer = torch.optim.Adam((p for p in model.parameters() if p.requires_grad), lr=1e-3)
running_mean = model.encoder[1].running_mean.clone()

# %%
batches = [(torch.randn(16, 6) + 2, torch.randn(16, 1)) for _ in range(3)]
for epoch in range(2):
    print(epoch, train_epoch(model, optimizer, batches))
print(model.get_frozen_status())
