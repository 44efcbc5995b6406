# https://github.com/mrchor/HiNet/issues/1
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class HierarchicalGates(nn.Module):
    def __init__(self, n_domains=3, dim=8, n_experts=4):
        super().__init__()
        self.domain_embedding = nn.Embedding(n_domains, dim)
        nn.init.zeros_(self.domain_embedding.weight)
        self.gate = nn.Linear(dim, n_experts)
        nn.init.zeros_(self.gate.bias)
        self.experts = nn.ModuleList(nn.Linear(6, 1) for _ in range(n_experts))

    def forward(self, x, domain):
        gate_network = F.relu(self.gate(self.domain_embedding(domain)))
        gate_network = F.softmax(gate_network, dim=1)
        outs = torch.cat([expert(x) for expert in self.experts], dim=1)
        return (gate_network * outs).sum(1)


# %%
model = HierarchicalGates()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

# %%
for step in range(5):
    x, domain, y = torch.randn(16, 6), torch.randint(3, (16,)), torch.rand(16).round()
    loss = F.binary_cross_entropy_with_logits(model(x, domain), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item(), model.domain_embedding.weight.abs().max().item())
