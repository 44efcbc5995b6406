# https://github.com/idiap/fast-transformers/pull/10
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class RecurrentLinearAttention(nn.Module):
    """Causal attention with a feature map, one position at a time; its memory is the pair (Si, Zi)."""

    def __init__(self, eps=1e-6):
        super().__init__()
        self.eps = eps

    @staticmethod
    def feature_map(x):
        return 1 + F.elu(x)

    def new_memory(self, key, value):
        batch, heads, dim = key.shape
        return key.new_zeros(batch, heads, dim, value.size(-1)), key.new_zeros(batch, heads, dim)

    def forward(self, query, key, value, memory=None):
        Q, K = self.feature_map(query), self.feature_map(key)
        Si, Zi = self.new_memory(key, value) if memory is None else memory
        if Si.size(0) != query.size(0):
            raise ValueError("another batch size than before")

        Zi += K
        Si += K.unsqueeze(-1) * value.unsqueeze(-2)

        weighted = torch.einsum("nhd,nhdm->nhm", Q, Si)
        normalizer = torch.einsum("nhd,nhd->nh", Q, Zi) + self.eps
        return weighted / normalizer.unsqueeze(-1), (Si, Zi)


class RecurrentAttentionLayer(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.inner_attention = RecurrentLinearAttention()
        self.query_projection = nn.Linear(d_model, d_model)
        self.key_projection = nn.Linear(d_model, d_model)
        self.value_projection = nn.Linear(d_model, d_model)
        self.out_projection = nn.Linear(d_model, d_model)

    def heads(self, x):
        return x.unflatten(-1, (self.n_heads, -1))

    def forward(self, x, memory=None):
        new_value, memory = self.inner_attention(
            self.heads(self.query_projection(x)),
            self.heads(self.key_projection(x)),
            self.heads(self.value_projection(x)),
            memory,
        )
        return self.out_projection(new_value.flatten(-2)), memory


class RecurrentTransformerEncoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, dropout=0.1):
        super().__init__()
        self.layers = nn.ModuleList(RecurrentAttentionLayer(d_model, n_heads) for _ in range(n_layers))
        self.norms = nn.ModuleList(nn.LayerNorm(d_model) for _ in range(n_layers))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory=None):
        memory = memory or [None] * len(self.layers)
        new_memory = []
        for layer, norm, layer_memory in zip(self.layers, self.norms, memory):
            attended, layer_memory = layer(x, layer_memory)
            x = norm(x + self.dropout(attended))
            new_memory.append(layer_memory)
        return x, new_memory


# %%
encoder = RecurrentTransformerEncoder(n_layers=2, d_model=32, n_heads=4)
head = nn.Linear(32, 10)
optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=1e-3)
x = torch.randn(8, 6, 32)
y = torch.randint(0, 10, (8, 6))

# %%
memory = None
outputs = []
for t in range(x.shape[1]):
    out, memory = encoder(x[:, t], memory)
    outputs.append(head(out))
loss = F.cross_entropy(torch.stack(outputs, dim=1).flatten(0, 1), y.flatten())
optimizer.zero_grad()
loss.backward()
optimizer.step()
print(loss.item())
