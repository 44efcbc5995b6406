# https://github.com/microsoft/LoRA/issues/42
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class LoRALayer:
    def __init__(self, r, lora_alpha):
        self.r = r
        self.lora_alpha = lora_alpha
        self.merged = False


class Embedding(nn.Embedding, LoRALayer):
    def __init__(self, num_embeddings, embedding_dim, r=0, lora_alpha=1, **kwargs):
        nn.Embedding.__init__(self, num_embeddings, embedding_dim, **kwargs)
        LoRALayer.__init__(self, r=r, lora_alpha=lora_alpha)
        if r > 0:
            self.lora_A = nn.Parameter(self.weight.new_zeros((r, num_embeddings)))
            self.lora_B = nn.Parameter(self.weight.new_zeros((embedding_dim, r)))
            self.scaling = self.lora_alpha / self.r
            self.weight.requires_grad = False
        self.reset_parameters()

    def reset_parameters(self):
        nn.Embedding.reset_parameters(self)
        if hasattr(self, 'lora_A'):
            nn.init.zeros_(self.lora_A)
            nn.init.normal_(self.lora_B)

    def forward(self, x):
        result = nn.Embedding.forward(self, x)
        if self.r > 0 and not self.merged:
            after_A = F.embedding(x, self.lora_A.transpose(0, 1))
            result = result + (after_A @ self.lora_B.transpose(0, 1)) * self.scaling
        return result


class Linear(nn.Linear, LoRALayer):
    def __init__(self, in_features, out_features, r=0, lora_alpha=1, **kwargs):
        nn.Linear.__init__(self, in_features, out_features, **kwargs)
        LoRALayer.__init__(self, r=r, lora_alpha=lora_alpha)
        if r > 0:
            self.lora_A = nn.Parameter(self.weight.new_zeros((r, in_features)))
            self.lora_B = nn.Parameter(self.weight.new_zeros((out_features, r)))
            self.scaling = self.lora_alpha / self.r
            self.weight.requires_grad = False
        self.reset_parameters()

    def reset_parameters(self):
        nn.Linear.reset_parameters(self)
        if hasattr(self, 'lora_A'):
            nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))
            nn.init.zeros_(self.lora_B)

    def forward(self, x):
        result = F.linear(x, self.weight, self.bias)
        if self.r > 0 and not self.merged:
            result = result + (x @ self.lora_A.transpose(0, 1) @ self.lora_B.transpose(0, 1)) * self.scaling
        return result


def mark_only_lora_as_trainable(model):
    for n, p in model.named_parameters():
        if 'lora_' not in n:
            p.requires_grad = False


class Tagger(nn.Module):
    def __init__(self, vocab=20, dim=32, tags=4, r=4):
        super().__init__()
        self.embed = Embedding(vocab, dim, r=r, lora_alpha=8)
        self.fc1 = Linear(dim, 64, r=r, lora_alpha=8)
        self.fc2 = Linear(64, tags, r=r, lora_alpha=8)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(self.embed(x))))


# %%
model = Tagger()
mark_only_lora_as_trainable(model)
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
tag_of = torch.randint(0, 4, (20,))
before = {n: p.detach().clone() for n, p in model.named_parameters()}

# %%
losses, grads_at_first = [], None
for step in range(120):
    words = torch.randint(0, 20, (16, 8))
    logits = model(words)
    loss = F.cross_entropy(logits.flatten(0, 1), tag_of[words].flatten())
    optimizer.zero_grad()
    loss.backward()
    if grads_at_first is None:
        grads_at_first = {n: p.grad.abs().sum().item() for n, p in model.named_parameters() if p.grad is not None}
    optimizer.step()
    losses.append(loss.item())

# %%
moved = {n: (p.detach() - before[n]).abs().max().item() for n, p in model.named_parameters()}
print(grads_at_first)
print(losses[0], losses[-1], moved)
assert all(m > 1e-3 for n, m in moved.items() if 'lora_' in n)
assert all(m == 0 for n, m in moved.items() if 'lora_' not in n)
assert losses[-1] < 0.3 * losses[0]
