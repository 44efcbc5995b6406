# https://github.com/sillsdev/silnlp/issues/387
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)


class Layer(nn.Module):
    def __init__(self, d_model, is_decoder):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d_model, 4, batch_first=True)
        self.encoder_attn = nn.MultiheadAttention(d_model, 4, batch_first=True) if is_decoder else None
        self.fc1, self.fc2 = nn.Linear(d_model, 64), nn.Linear(64, d_model)
        self.norms = nn.ModuleList([nn.LayerNorm(d_model) for _ in range(3 if is_decoder else 2)])

    def forward(self, hidden_states, memory=None, causal_mask=None):
        h = self.norms[0](hidden_states)
        hidden_states = hidden_states + self.self_attn(h, h, h, attn_mask=causal_mask, need_weights=False)[0]
        if self.encoder_attn is not None:
            h = self.norms[2](hidden_states)
            hidden_states = hidden_states + self.encoder_attn(h, memory, memory, need_weights=False)[0]
        h = F.dropout(F.relu(self.fc1(self.norms[1](hidden_states))), 0.1, self.training)
        return hidden_states + self.fc2(h)


class M2M100ForConditionalGeneration(nn.Module):
    def __init__(self, vocab_size=20, d_model=32, layers=2):
        super().__init__()
        self.shared = nn.Embedding(vocab_size, d_model)
        self.positions = nn.Embedding(16, d_model)
        self.encoder = nn.ModuleList([Layer(d_model, False) for _ in range(layers)])
        self.decoder = nn.ModuleList([Layer(d_model, True) for _ in range(layers)])
        self.lm_head = nn.Linear(d_model, vocab_size, bias=False)
        self.lm_head.weight = self.shared.weight
        self.gradient_checkpointing_kwargs = None

    def gradient_checkpointing_enable(self, gradient_checkpointing_kwargs):
        self.gradient_checkpointing_kwargs = gradient_checkpointing_kwargs

    def run(self, layer, *args):
        if self.gradient_checkpointing_kwargs is not None and self.training:
            return checkpoint(layer.__call__, *args, **self.gradient_checkpointing_kwargs)
        return layer(*args)

    def embed(self, ids):
        return self.shared(ids) + self.positions(torch.arange(ids.shape[1]))

    def forward(self, input_ids, labels):
        memory = self.embed(input_ids)
        for layer in self.encoder:
            memory = self.run(layer, memory)
        decoder_input_ids = F.pad(labels[:, :-1], (1, 0), value=2)
        length = labels.shape[1]
        causal_mask = torch.ones(length, length, dtype=torch.bool).triu(1)
        hidden_states = self.embed(decoder_input_ids)
        for layer in self.decoder:
            hidden_states = self.run(layer, hidden_states, memory, causal_mask)
        logits = self.lm_head(hidden_states) * self.lm_head.weight.shape[1] ** -0.5
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), label_smoothing=0.1)


# %%
input_ids = torch.randint(3, 20, (256, 7))
labels = (22 - input_ids).roll(1, dims=1)
model = M2M100ForConditionalGeneration()
model.gradient_checkpointing_enable({"use_reentrant": True})
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.98))
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 20))

# %%
model.train()
losses = []
for epoch in range(12):
    for batch in torch.randperm(256).split(64):
        for micro in batch.split(32):
            loss = model(input_ids[micro], labels[micro]) / 2
            loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        losses.append(2 * loss.item())

# %%
model.eval()
with torch.no_grad():
    eval_loss = model(input_ids, labels).item()
print(losses[0], losses[-1], eval_loss)
