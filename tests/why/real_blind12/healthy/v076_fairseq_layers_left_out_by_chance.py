# https://github.com/facebookresearch/fairseq/issues/2389
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)


class LayerDropModuleList(nn.ModuleList):
    """in training, each layer is left out with probability p"""
    def __init__(self, p, modules=None):
        super().__init__(modules)
        self.p = p

    def __iter__(self):
        dropout_probs = torch.empty(len(self)).uniform_()
        for i, m in enumerate(super().__iter__()):
            if not self.training or (dropout_probs[i] > self.p):
                yield m


class TransformerEncoderLayer(nn.Module):
    def __init__(self, dim=32, heads=4):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.self_attn_layer_norm = nn.LayerNorm(dim)
        self.fc1, self.fc2 = nn.Linear(dim, 64), nn.Linear(64, dim)
        self.final_layer_norm = nn.LayerNorm(dim)

    def forward(self, x):
        x = self.self_attn_layer_norm(x + self.self_attn(x, x, x, need_weights=False)[0])
        return self.final_layer_norm(x + self.fc2(F.relu(self.fc1(x))))


class TransformerModel(nn.Module):
    def __init__(self, vocab=16, dim=32, layers=6, layerdrop=0.3):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab, dim)
        self.embed_positions = nn.Embedding(12, dim)
        self.layers = LayerDropModuleList(p=layerdrop)
        self.layers.extend([TransformerEncoderLayer(dim) for _ in range(layers)])
        self.output_projection = nn.Linear(dim, vocab)

    def forward(self, src_tokens):
        x = self.embed_tokens(src_tokens) + self.embed_positions.weight
        for layer in self.layers:
            x = layer(x)
        return self.output_projection(x)


def label_smoothed_nll_loss(lprobs, target, epsilon=0.1):
    nll_loss = -lprobs.gather(-1, target.unsqueeze(-1)).squeeze(-1)
    smooth_loss = -lprobs.mean(-1)
    return ((1 - epsilon) * nll_loss + epsilon * smooth_loss).mean()


# %%
model = TransformerModel()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, betas=(0.9, 0.98))
src_tokens = torch.randint(0, 16, (16, 12))
target = src_tokens.flip(1)
first = {n: p.detach().clone() for n, p in model.named_parameters()}
log, unused = [], []

# %%
model.train()
for update in range(60):
    optimizer.zero_grad()
    loss = label_smoothed_nll_loss(F.log_softmax(model(src_tokens), -1), target)
    loss.backward()
    unused.append(sum(p.grad is None for p in model.parameters()))
    optimizer.step()
    log.append(loss.item())
model.eval()
print(log[0], log[-1], unused)
assert max(unused) > 0
assert sum(log[-5:]) < 0.8 * sum(log[:5])
assert not any(torch.equal(first[n], p) for n, p in model.named_parameters() if 'in_proj_bias' not in n)
