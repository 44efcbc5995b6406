# https://github.com/mrflogs/LoRA-Pro/issues/13
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Linear(nn.Module):
    def __init__(self, base_layer, r=4, lora_alpha=8):
        super().__init__()
        self.base_layer = base_layer
        self.lora_A = nn.Parameter(torch.empty(r, base_layer.in_features))
        self.lora_B = nn.Parameter(torch.zeros(base_layer.out_features, r))
        nn.init.kaiming_uniform_(self.lora_A, a=5 ** 0.5)
        self.scaling = lora_alpha / r

    def forward(self, x):
        return self.base_layer(x) + F.linear(F.linear(x, self.lora_A), self.lora_B) * self.scaling


def solve_sylvester(A, B, C):
    m, n = B.shape[-1], A.shape[-1]
    eye_n, eye_m = torch.eye(n), torch.eye(m)
    K = torch.kron(A, eye_m) + torch.kron(eye_n, B.T.contiguous())
    return torch.linalg.solve(K, C.reshape(-1)).reshape(n, m)


class LoRAProAdamW(torch.optim.AdamW):
    def __init__(self, layers, scaling_factor, delta=1e-6, **kwargs):
        super().__init__([p for layer in layers for p in (layer.lora_A, layer.lora_B)], **kwargs)
        self.layers, self.scaling_factor, self.delta = layers, scaling_factor, delta
        self.global_step = 0

    @torch.no_grad()
    def lorapro_adjustment(self, layer):
        A, B = layer.lora_A, layer.lora_B
        grad_A_orin, grad_B_orin = A.grad, B.grad
        AA_T, B_TB = A @ A.T, B.T @ B
        AA_T_inv = torch.linalg.pinv(AA_T + self.delta * torch.eye(A.shape[0]))
        if self.global_step == 0:
            grad_A = grad_A_orin
            grad_B = (1 / self.scaling_factor ** 2) * grad_B_orin @ AA_T_inv
        else:
            B_TB_inv = torch.linalg.pinv(B_TB + self.delta * torch.eye(A.shape[0]))
            X = solve_sylvester(
                B_TB + 1e-3 * torch.eye(A.shape[0]), AA_T + 1e-3 * torch.eye(A.shape[0]),
                -(1 / self.scaling_factor ** 2) * B_TB_inv @ grad_A_orin @ A.T)
            grad_A = (1 / self.scaling_factor ** 2) * B_TB_inv @ grad_A_orin + X @ A
            projected = torch.eye(B.shape[0]) - B @ B_TB_inv @ B.T
            grad_B = (1 / self.scaling_factor ** 2) * (projected @ grad_B_orin @ AA_T_inv) - B @ X
        A.grad.copy_(grad_A)
        B.grad.copy_(grad_B)

    def step(self, closure=None):
        for layer in self.layers:
            self.lorapro_adjustment(layer)
        torch.nn.utils.clip_grad_norm_(self.param_groups[0]['params'], 1.0)
        self.global_step += 1
        return super().step(closure)


# %%
x = torch.randn(320, 16)
target = torch.tanh(x @ torch.randn(16, 16) / 4) @ torch.randn(16, 3) / 4
model = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(60):
    optimizer.zero_grad()
    F.mse_loss(model(x), target.roll(1, 1)).backward()
    optimizer.step()

# %%
model.requires_grad_(False)
for index in (0, 2):
    model[index] = Linear(model[index])
optimizer = LoRAProAdamW([model[0], model[2]], scaling_factor=2.0, lr=5e-3, weight_decay=0.0)
losses = []
for epoch in range(12):
    for batch in torch.randperm(320).split(32):
        loss = F.mse_loss(model(x[batch]), target[batch])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
print(optimizer.global_step, losses[0], losses[-1], model[0].lora_B.abs().max().item())
