# https://github.com/meta-pytorch/opacus/issues/502
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class GradSampleModule(nn.Module):
    def __init__(self, m):
        super().__init__()
        self._module = m
        for p in self.parameters():
            p.grad_sample = None
        for module in m.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                module.register_forward_hook(self.capture_activations_hook)
                module.register_full_backward_hook(self.capture_backprops_hook)

    def forward(self, *args, **kwargs):
        return self._module(*args, **kwargs)

    def capture_activations_hook(self, module, forward_input, forward_output):
        if module.training:
            module.activations = forward_input[0].detach()

    def capture_backprops_hook(self, module, grad_input, grad_output):
        a = module.activations
        g = grad_output[0].detach() * grad_output[0].shape[0]
        if isinstance(module, nn.Embedding):
            gs = torch.zeros(g.shape[0], *module.weight.shape)
            for i in range(g.shape[0]):
                gs[i].index_add_(0, a[i], g[i])
            module.weight.grad_sample = gs
        else:
            module.weight.grad_sample = torch.einsum("n...i,n...j->nij", g, a)
            module.bias.grad_sample = torch.einsum("n...k->nk", g)


class DPOptimizer:
    def __init__(self, optimizer, noise_multiplier, max_grad_norm, expected_batch_size):
        self.original_optimizer = optimizer
        self.noise_multiplier = noise_multiplier
        self.max_grad_norm = max_grad_norm
        self.expected_batch_size = expected_batch_size

    @property
    def params(self):
        return [p for g in self.original_optimizer.param_groups for p in g["params"] if p.requires_grad]

    @property
    def grad_samples(self):
        ret = []
        for p in self.params:
            if p.grad_sample is None:
                raise ValueError("Per sample gradient is not initialized. Not updated in backward pass?")
            ret.append(p.grad_sample)
        return ret

    def clip_and_accumulate(self):
        grad_samples = self.grad_samples
        norms = torch.stack([g.flatten(1).norm(2, dim=-1) for g in grad_samples], dim=1).norm(2, dim=1)
        factor = (self.max_grad_norm / (norms + 1e-6)).clamp(max=1.0)
        for p, g in zip(self.params, grad_samples):
            p.summed_grad = torch.einsum("i,i...->...", factor, g)

    def step(self):
        self.clip_and_accumulate()
        for p in self.params:
            noise = torch.randn_like(p.summed_grad) * self.noise_multiplier * self.max_grad_norm
            p.grad = (p.summed_grad + noise) / self.expected_batch_size
        self.original_optimizer.step()

    def zero_grad(self):
        for p in self.params:
            p.grad_sample = None
        self.original_optimizer.zero_grad()


class IncomeModel(nn.Module):
    def __init__(self, n_occupations=12, n_numeric=6):
        super(IncomeModel, self).__init__()
        self.embedding = nn.Embedding(n_occupations, 8)
        self.dense_numeric = nn.Linear(n_numeric, 10)
        self.dense_agsx = nn.Linear(2, 10)
        self.dense_1 = nn.Linear(18, 16)
        self.dense_2 = nn.Linear(16, 1)

    def forward(self, occupation, numeric):
        e = self.embedding(occupation).mean(dim=1)
        n = F.relu(self.dense_numeric(numeric))
        x = F.relu(self.dense_1(torch.cat([e, n], dim=1)))
        return self.dense_2(x).squeeze(-1)


# %%
batch_size = 32
occupation = torch.randint(0, 12, (256, 2))
numeric = torch.randn(256, 6)
label = ((numeric[:, 0] + (occupation[:, 0] > 5).float()) > 0.5).float()
model = GradSampleModule(IncomeModel())
optimizer = DPOptimizer(
    torch.optim.SGD(model.parameters(), lr=0.1), noise_multiplier=1.0, max_grad_norm=1.0, expected_batch_size=batch_size
)
criterion = nn.BCEWithLogitsLoss()

# %%
for epoch in range(3):
    for i in range(0, 256, batch_size):
        optimizer.zero_grad()
        logits = model(occupation[i : i + batch_size], numeric[i : i + batch_size])
        loss = criterion(logits, label[i : i + batch_size])
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
