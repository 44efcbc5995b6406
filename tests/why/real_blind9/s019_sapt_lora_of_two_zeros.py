# https://github.com/circle-hit/SAPT/issues/11
import torch
import torch.nn as nn

torch.manual_seed(0)


class LoRALayer(nn.Module):
    def __init__(self, in_features, out_features, r=4, lora_alpha=32):
        super().__init__()
        self.r = r
        self.lora_alpha = lora_alpha
        self.lora_A = nn.Parameter(torch.zeros((in_features, r)), requires_grad = True)
        self.lora_B = nn.Parameter(torch.zeros((r, out_features)), requires_grad = True)
        self.scaling = self.lora_alpha / self.r

    def forward(self, x):
        return (x @ self.lora_A @ self.lora_B) * self.scaling


class LinearWithLora(nn.Module):
    def __init__(self, q, lora):
        super().__init__()
        self.q = q
        self.lora = lora

    def forward(self, hidden_states):
        return self.q(hidden_states) + self.lora(hidden_states)


# %%
q = nn.Linear(16, 16)
for param in q.parameters():
    param.requires_grad = False
layer = LoRALayer(16, 16)
model = nn.Sequential(LinearWithLora(q, layer), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)
hidden_states, labels = torch.randn(32, 16), torch.randint(0, 2, (32,))

# %%
for step in range(10):
    loss = nn.functional.cross_entropy(model(hidden_states), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item(), layer.lora_A.grad.abs().sum(), layer.lora_B.grad.abs().sum())
