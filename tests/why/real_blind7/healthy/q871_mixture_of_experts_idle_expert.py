# https://github.com/davidmrau/mixture-of-experts/blob/master/moe.py
import torch
import torch.nn as nn

torch.manual_seed(0)


class MoE(nn.Module):
    def __init__(self, input_size, output_size, num_experts, k=2):
        super(MoE, self).__init__()
        self.k = k
        self.experts = nn.ModuleList([nn.Linear(input_size, output_size) for i in range(num_experts)])
        self.w_gate = nn.Parameter(torch.randn(input_size, num_experts) * 0.5)

    def forward(self, x):
        logits = x @ self.w_gate
        top_k_logits, top_k_indices = logits.topk(self.k, dim=1)
        top_k_gates = torch.softmax(top_k_logits, dim=1)
        gates = torch.zeros_like(logits).scatter(1, top_k_indices, top_k_gates)
        y = 0
        for i, expert in enumerate(self.experts):
            batch_index = torch.nonzero(gates[:, i]).squeeze(1)
            if len(batch_index) == 0:
                continue  # nobody asked this expert
            out = expert(x[batch_index]) * gates[batch_index, i].unsqueeze(1)
            y = y + torch.zeros(len(x), out.size(1)).index_add(0, batch_index, out)
        return y


# %%
moe = MoE(6, 3, 8)
optimizer = torch.optim.Adam(moe.parameters())

# %%
x, y = torch.randn(2, 6), torch.randint(0, 3, (2,))
loss = nn.functional.cross_entropy(moe(x), y)
optimizer.zero_grad()
loss.backward()
optimizer.step()
print([e.weight.grad is not None for e in moe.experts])
