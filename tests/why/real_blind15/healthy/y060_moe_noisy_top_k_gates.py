# https://github.com/davidmrau/mixture-of-experts/issues/11
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions.normal import Normal

torch.manual_seed(0)


class Expert(nn.Module):
    def __init__(self, input_size, output_size, hidden_size):
        super().__init__()
        self.fc1 = nn.Linear(input_size, hidden_size)
        self.fc2 = nn.Linear(hidden_size, output_size)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


class MoE(nn.Module):
    def __init__(self, input_size, output_size, num_experts, hidden_size, k=2):
        super().__init__()
        self.num_experts, self.k = num_experts, k
        self.experts = nn.ModuleList(Expert(input_size, output_size, hidden_size) for _ in range(num_experts))
        self.w_gate = nn.Parameter(torch.zeros(input_size, num_experts))
        self.w_noise = nn.Parameter(torch.zeros(input_size, num_experts))

    def cv_squared(self, x):
        return x.float().var() / (x.float().mean() ** 2 + 1e-10)

    def prob_in_top_k(self, clean, noisy, stddev, top):
        threshold_in, threshold_out = top[:, self.k:self.k + 1], top[:, self.k - 1:self.k]
        normal = Normal(0.0, 1.0)
        prob_in = normal.cdf((clean - threshold_in) / stddev)
        prob_out = normal.cdf((clean - threshold_out) / stddev)
        return torch.where(noisy > threshold_in, prob_in, prob_out)

    def noisy_top_k_gating(self, x):
        clean = x @ self.w_gate
        logits = clean
        if self.training:
            stddev = F.softplus(x @ self.w_noise) + 1e-2
            logits = clean + torch.randn_like(clean) * stddev
        top_logits, top_indices = logits.topk(self.k + 1, dim=1)
        top_gates = top_logits[:, :self.k].softmax(1)
        # which experts is a choice; how much of each is not
        gates = torch.zeros_like(logits).scatter(1, top_indices[:, :self.k], top_gates)
        if self.training:
            load = self.prob_in_top_k(clean, logits, stddev, top_logits).sum(0)
        else:
            load = (gates > 0).sum(0)
        return gates, load

    def forward(self, x, loss_coef=1e-2):
        gates, load = self.noisy_top_k_gating(x)
        loss = (self.cv_squared(gates.sum(0)) + self.cv_squared(load)) * loss_coef
        y = 0
        for i, expert in enumerate(self.experts):
            rows = gates[:, i].nonzero().squeeze(1)
            out = gates[rows, i].unsqueeze(1) * expert(x[rows])
            y = y + torch.zeros(len(x), out.size(1)).index_add(0, rows, out)
        return y, loss


def data(n):
    x = torch.rand(n, 2) * 2 - 1
    x = torch.cat([x, torch.ones(n, 1)], 1)
    target = ((x[:, 0] * 2).floor() + x[:, 1].floor()) % 2
    return x, target.long()


# %%
model = MoE(input_size=3, output_size=2, num_experts=6, hidden_size=24, k=2)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
x, target = data(128)
y, aux_loss = model(x)
of_the_task = torch.autograd.grad(F.cross_entropy(y, target), [model.w_gate, model.w_noise])

# %%
history = []
for step in range(400):
    x, target = data(256)
    y_hat, aux_loss = model(x)
    total_loss = F.cross_entropy(y_hat, target) + aux_loss
    optimizer.zero_grad()
    total_loss.backward()
    optimizer.step()
    history.append(total_loss.item())

# %%
model.eval()
with torch.no_grad():
    x, target = data(1000)
    accuracy = (model(x)[0].argmax(1) == target).float().mean().item()
print(history[0], history[-1], accuracy)
assert all(g.abs().max() > 0 for g in of_the_task)
assert model.w_gate.abs().max() > 0.1 and model.w_noise.abs().max() > 0.01
assert accuracy > 0.8
