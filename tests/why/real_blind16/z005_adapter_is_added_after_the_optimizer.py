# https://github.com/adapter-hub/adapters/issues/260
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Adapter(nn.Module):
    def __init__(self, d_model, reduction_factor):
        super().__init__()
        self.down = nn.Linear(d_model, d_model // reduction_factor)
        self.up = nn.Linear(d_model // reduction_factor, d_model)

    def forward(self, x):
        return x + self.up(F.relu(self.down(x)))


class T5Block(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.layer_norm = nn.LayerNorm(d_model)
        self.wi = nn.Linear(d_model, 2 * d_model, bias=False)
        self.wo = nn.Linear(2 * d_model, d_model, bias=False)
        self.adapters = nn.ModuleDict()

    def forward(self, hidden):
        hidden = hidden + self.wo(F.relu(self.wi(self.layer_norm(hidden))))
        for adapter in self.adapters.values():
            hidden = adapter(hidden)
        return hidden


class T5ForConditionalGeneration(nn.Module):
    def __init__(self, vocab_size=50, d_model=16, num_layers=2):
        super().__init__()
        self.shared = nn.Embedding(vocab_size, d_model)
        self.block = nn.ModuleList([T5Block(d_model) for _ in range(num_layers)])
        self.lm_head = nn.Linear(d_model, vocab_size, bias=False)

    def add_adapter(self, task_name, reduction_factor=4):
        for block in self.block:
            block.adapters[task_name] = Adapter(self.shared.embedding_dim, reduction_factor)

    def train_adapter(self, task_name):
        for param in self.parameters():
            param.requires_grad = False
        for block in self.block:
            for param in block.adapters[task_name].parameters():
                param.requires_grad = True

    def forward(self, input_ids, labels):
        hidden = self.shared(input_ids)
        for block in self.block:
            hidden = block(hidden)
        logits = self.lm_head(hidden)
        return F.cross_entropy(logits.view(-1, logits.size(-1)), labels.view(-1)), logits


# %%
task_name = "cola"
model = T5ForConditionalGeneration()

no_decay = ["bias", "layer_norm.weight"]
optimizer_grouped_parameters = [
    {"params": [p for n, p in model.named_parameters() if not any(nd in n for nd in no_decay)], "weight_decay": 0.01},
    {"params": [p for n, p in model.named_parameters() if any(nd in n for nd in no_decay)], "weight_decay": 0.0},
]
optimizer = torch.optim.AdamW(optimizer_grouped_parameters, lr=1e-3)

model.add_adapter(task_name)
model.train_adapter(task_name)
start = model.block[0].adapters[task_name].up.weight.detach().clone()

# %%
input_ids = torch.randint(0, 50, (8, 12))
labels = input_ids.roll(1, dims=1)
model.train()
for step in range(20):
    loss, logits = model(input_ids, labels)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if step % 5 == 0:
        print(step, loss.item())
print((model.block[0].adapters[task_name].up.weight - start).abs().max())
