# https://github.com/yukw777/EILEV/issues/12
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)


class DecoderLayer(nn.TransformerEncoderLayer):
    def forward(self, x):
        causal = torch.triu(torch.ones(x.shape[1], x.shape[1], dtype=torch.bool), 1)
        return super().forward(x, src_mask=causal)


class LanguageModel(nn.Module):
    def __init__(self, vocab=12, dim=32, layers=2):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(DecoderLayer(dim, 4, 64, dropout=0.0, batch_first=True, norm_first=True) for _ in range(layers))
        self.lm_head = nn.Linear(dim, vocab)
        self.gradient_checkpointing = False

    def enable_input_require_grads(self):
        def make_inputs_require_grads(module, inputs, output):
            output.requires_grad_(True)

        self._require_grads_hook = self.embed_tokens.register_forward_hook(make_inputs_require_grads)

    def forward(self, inputs_embeds):
        x = inputs_embeds
        for layer in self.layers:
            if self.gradient_checkpointing and self.training:
                x = checkpoint(layer, x, use_reentrant=True)
            else:
                x = layer(x)
        return self.lm_head(x)


class VideoBlip(nn.Module):
    def __init__(self, language_model, features=10, dim=32, queries=2):
        super().__init__()
        self.query_tokens = nn.Parameter(0.1 * torch.randn(1, queries, dim))
        self.frames = nn.Linear(features, dim)
        self.qformer = nn.MultiheadAttention(dim, 4, batch_first=True)
        self.language_projection = nn.Linear(dim, dim)
        self.language_model = language_model

    def forward(self, pixel_values, input_ids, labels):
        frames = self.frames(pixel_values)
        query = self.query_tokens.expand(len(frames), -1, -1)
        prefix = self.language_projection(query + self.qformer(query, frames, frames)[0])
        embeds = torch.cat([prefix, self.language_model.embed_tokens(input_ids)], 1)
        logits = self.language_model(embeds)[:, prefix.shape[1]:]
        return F.cross_entropy(logits.transpose(1, 2), labels)


kinds = torch.randn(4, 10)


def draw_batch(n=32):
    """What is seen in four frames is to be told in words: 2k, 2k + 1, and the end."""
    k = torch.randint(0, 4, (n,))
    pixels = kinds[k].unsqueeze(1) + 0.5 * torch.randn(n, 4, 10)
    words = torch.stack([torch.full_like(k, 10), 2 * k, 2 * k + 1, torch.full_like(k, 11)], 1)
    return pixels, words[:, :-1], words[:, 1:]


# a language model that has read the words, but does not know what is seen
language_model = LanguageModel()
pretrain = torch.optim.Adam(language_model.parameters(), lr=3e-3)
for _ in range(100):
    _, input_ids, labels = draw_batch()
    logits = language_model(language_model.embed_tokens(input_ids))
    pretrain.zero_grad()
    F.cross_entropy(logits.transpose(1, 2), labels).backward()
    pretrain.step()
language_model.zero_grad()

# %%
model = VideoBlip(language_model)
for param in model.language_model.parameters():
    param.requires_grad = False
model.language_model.gradient_checkpointing = True
model.language_model.enable_input_require_grads()
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=5e-3)
frozen = {k: v.clone() for k, v in model.language_model.state_dict().items()}
losses = []

# %%
model.train()
for step in range(120):
    loss = model(*draw_batch())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])

# %%
batch = draw_batch()
grads = []
for model.language_model.gradient_checkpointing in (True, False):
    optimizer.zero_grad()
    model(*batch).backward()
    grads.append([p.grad for p in model.parameters() if p.requires_grad])
assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(*grads))
assert all(p.grad is None for p in model.language_model.parameters())
assert all(torch.equal(v, frozen[k]) for k, v in model.language_model.state_dict().items())
assert losses[-1] < 0.6 * losses[0]
