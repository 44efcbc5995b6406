# https://github.com/microsoft/unilm/pull/999
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class TransformerEncoder(nn.Module):
    def __init__(self, embedding_dim=16, layers=2):
        super().__init__()
        self.dropout = 0.1
        self.embedding_dim = embedding_dim
        self.pos_conv = nn.Sequential(nn.Conv1d(embedding_dim, embedding_dim, kernel_size=3, padding=1, groups=4), nn.GELU())
        self.layers = nn.ModuleList([nn.TransformerEncoderLayer(embedding_dim, 4, 32) for _ in range(layers)])
        self.layer_norm = nn.LayerNorm(embedding_dim)
        self.layer_norm_first = False

    def forward(self, x, padding_mask=None, layer=None):
        x = self.extract_features(x, padding_mask)
        if self.layer_norm_first and layer is None:
            x = self.layer_norm(x)
        return x

    def extract_features(self, x, padding_mask=None):
        if padding_mask is not None:
            x[padding_mask] = 0

        x_conv = self.pos_conv(x.transpose(1, 2))
        x_conv = x_conv.transpose(1, 2)
        x += x_conv

        if not self.layer_norm_first:
            x = self.layer_norm(x)

        x = F.dropout(x, p=self.dropout, training=self.training)

        # B x T x C -> T x B x C
        x = x.transpose(0, 1)
        for i, layer in enumerate(self.layers):
            x = layer(x)
        return x.transpose(0, 1)


class BEATs(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch_embedding = nn.Linear(8, 16)
        self.encoder = TransformerEncoder()
        self.predictor = nn.Linear(16, 5)

    def forward(self, x):
        return self.predictor(self.encoder(self.patch_embedding(x))).mean(1)


# %%
model = BEATs()
fbank, labels = torch.randn(4, 12, 8), torch.randint(0, 5, (4,))

# %%
loss = F.cross_entropy(model(fbank), labels)
loss.backward()
