# https://github.com/davidmrau/mixture-of-experts/issues/12
import torch
import torch.nn as nn

torch.manual_seed(0)


class MLP(nn.Module):
    def __init__(self, input_size, output_size, hidden_size):
        super(MLP, self).__init__()
        self.fc1 = nn.Linear(input_size, hidden_size)
        self.fc2 = nn.Linear(hidden_size, output_size)
        self.relu = nn.ReLU()

    def forward(self, x):
        return self.fc2(self.relu(self.fc1(x)))


class MoE(nn.Module):
    def __init__(self, dtype, input_size, output_size, num_experts, hidden_size, noisy_gating=True, k=4):
        super(MoE, self).__init__()
        self.noisy_gating = noisy_gating
        self.num_experts = num_experts
        self.k = k
        self.dtype = dtype
        # instantiate experts
        self.experts = nn.ModuleList([MLP(input_size, output_size, hidden_size) for i in range(num_experts)])
        self.w_gate = nn.Parameter(torch.zeros(input_size, num_experts), requires_grad=True).to(self.dtype)
        self.w_noise = nn.Parameter(torch.zeros(input_size, num_experts), requires_grad=True).to(self.dtype)
        self.softplus = nn.Softplus()
        self.softmax = nn.Softmax(1)
        self.experts.to(self.dtype)

    def noisy_top_k_gating(self, x, train, noise_epsilon=1e-2):
        clean_logits = x @ self.w_gate
        if self.noisy_gating and train:
            noise_stddev = self.softplus(x @ self.w_noise) + noise_epsilon
            logits = clean_logits + torch.randn_like(clean_logits) * noise_stddev
        else:
            logits = clean_logits
        top_logits, top_indices = logits.topk(self.k, dim=1)
        zeros = torch.zeros_like(logits, requires_grad=True)
        return zeros.scatter(1, top_indices, self.softmax(top_logits))

    def forward(self, x):
        gates = self.noisy_top_k_gating(x, self.training)
        outputs = torch.stack([expert(x) for expert in self.experts], dim=1)
        return (gates.unsqueeze(-1) * outputs).sum(1)


# %%
model = MoE(torch.float64, 20, 5, num_experts=6, hidden_size=16)
loss_fn = nn.CrossEntropyLoss()
optim = torch.optim.Adam(model.parameters())
x = torch.rand(32, 20, dtype=torch.float64)
y = torch.randint(5, (32,))

# %%
model.train()
for step in range(10):
    optim.zero_grad()
    y_hat = model(x)
    loss = loss_fn(y_hat, y)
    loss.backward()
    optim.step()
    print(step, loss.item())
print(model.w_gate.abs().sum())
