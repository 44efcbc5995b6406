# https://github.com/microsoft/LoRA/issues/98
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Embedding(nn.Embedding):
    # LoRA implemented in a dense layer
    def __init__(self, num_embeddings, embedding_dim, r=4, lora_alpha=1):
        nn.Embedding.__init__(self, num_embeddings, embedding_dim)
        self.r = r
        self.lora_A = nn.Parameter(self.weight.new_zeros((r, num_embeddings)))
        self.lora_B = nn.Parameter(self.weight.new_zeros((embedding_dim, r)))
        self.scaling = lora_alpha / self.r
        # Freezing the pre-trained weight matrix
        self.weight.requires_grad = False
        self.reset_parameters()

    def reset_parameters(self):
        nn.Embedding.reset_parameters(self)
        if hasattr(self, 'lora_A'):
            # initialize A the same way as the default for nn.Linear and B to zero
            nn.init.zeros_(self.lora_A)
            nn.init.normal_(self.lora_B)

    def forward(self, x):
        result = nn.Embedding.forward(self, x)
        after_A = F.embedding(x, self.lora_A.transpose(0, 1))
        return result + (after_A @ self.lora_B.transpose(0, 1)) * self.scaling


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = Embedding(50, 16)
        self.fc = nn.Linear(16, 3)
        for p in self.fc.parameters():
            p.requires_grad = False

    def forward(self, ids):
        return self.fc(torch.tanh(self.embed(ids)).mean(1))


# %%
model = Model()
optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=5.0)
ids, y = torch.randint(0, 50, (32, 6)), torch.randint(0, 3, (32,))
lora_b_before = model.embed.lora_B.detach().clone()

# %%
losses, grads_of_b = [], []
for step in range(30):
    loss = F.cross_entropy(model(ids), y)
    optimizer.zero_grad()
    loss.backward()
    grads_of_b.append(model.embed.lora_B.grad.abs().sum().item())
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1], grads_of_b[:3])
assert grads_of_b[0] == 0 and grads_of_b[1] > 0 and losses[-1] < losses[0]
assert model.fc.weight.grad is None and not torch.equal(model.embed.lora_B, lora_b_before)
