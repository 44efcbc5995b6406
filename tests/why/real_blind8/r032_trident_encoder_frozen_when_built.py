# https://github.com/mahmoodlab/TRIDENT/issues/122
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)


class ABMIL(nn.Module):
    def __init__(self, input_feature_dim, n_heads, head_dim, gated):
        super().__init__()
        self.pre = nn.Sequential(nn.Linear(input_feature_dim, input_feature_dim), nn.GELU())
        self.attention = nn.Linear(input_feature_dim, n_heads)

    def forward(self, x):
        h = self.pre(x)
        a = torch.softmax(self.attention(h), dim=1)
        return torch.einsum("bnh,bnd->bhd", a, h).flatten(1)


class BaseSlideEncoder(nn.Module):
    def __init__(self, freeze=True, **build_kwargs):
        super().__init__()
        self.model, self.embedding_dim = self._build(**build_kwargs)

        # Set all parameters to be non-trainable
        if freeze and self.model is not None:
            for param in self.model.parameters():
                param.requires_grad = False
            self.model.eval()


class ABMILSlideEncoder(BaseSlideEncoder):
    def _build(self, input_feature_dim, n_heads, head_dim, dropout, gated):
        return ABMIL(input_feature_dim, n_heads, head_dim, gated), input_feature_dim * n_heads

    def forward(self, batch):
        return self.model(batch['features'])


# %%
class BinaryClassificationModel(nn.Module):
    def __init__(self, input_feature_dim=16, n_heads=1, head_dim=16, dropout=0., gated=True, hidden_dim=8):
        super().__init__()
        self.feature_encoder = ABMILSlideEncoder(
            input_feature_dim=input_feature_dim,
            n_heads=n_heads,
            head_dim=head_dim,
            dropout=dropout,
            gated=gated
        )
        self.classifier = nn.Sequential(
            nn.Linear(input_feature_dim, hidden_dim),
            nn.ReLU(),
            nn.Linear(hidden_dim, 1)
        )

    def forward(self, x):
        return self.classifier(self.feature_encoder(x)).squeeze(1)


model = BinaryClassificationModel()
criterion = nn.BCEWithLogitsLoss()
optimizer = optim.Adam(model.parameters(), lr=4e-4)

# %%
for epoch in range(3):
    model.train()
    features, labels = {'features': torch.randn(4, 30, 16)}, torch.randint(0, 2, (4,)).float()
    optimizer.zero_grad()
    outputs = model(features)
    loss = criterion(outputs, labels)
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
