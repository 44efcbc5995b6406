# https://github.com/huggingface/transformers/issues/21381
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)


class BertLayer(nn.Module):
    def __init__(self, d=16):
        super().__init__()
        self.attention = nn.MultiheadAttention(d, 2, batch_first=True)
        self.norm = nn.LayerNorm(d)
        self.output = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))

    def forward(self, x):
        x = self.norm(x + self.attention(x, x, x, need_weights=False)[0])
        return x + self.output(x)


class BertModel(nn.Module):
    def __init__(self, vocab=40, d=16, n=3):
        super().__init__()
        self.embeddings = nn.Embedding(vocab, d)
        self.layer = nn.ModuleList(BertLayer(d) for _ in range(n))
        self.gradient_checkpointing = False

    def gradient_checkpointing_enable(self):
        self.gradient_checkpointing = True

    def forward(self, input_ids):
        hidden_states = self.embeddings(input_ids)
        for layer in self.layer:
            if self.gradient_checkpointing and self.training:
                hidden_states = checkpoint(layer, hidden_states, use_reentrant=True)
            else:
                hidden_states = layer(hidden_states)
        return hidden_states[:, 0]


# %%
model = BertModel()
# freeze embeddings and the first layer
for p in [*model.embeddings.parameters(), *model.layer[0].parameters()]:
    p.requires_grad = False
model.gradient_checkpointing_enable()
model.train()

# %%
input_ids = torch.randint(0, 40, (2, 6))
output = model(input_ids)
print(output.requires_grad)
loss = output.pow(2).mean()
loss.backward()
print(model.layer[2].norm.weight.grad.norm())
