# https://github.com/ostris/ai-toolkit/issues/1034
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ExponentialMovingAverage:
    def __init__(self, parameters, decay=0.995):
        self.decay = decay
        self.params = list(parameters)
        self.shadow_params = [p.clone().detach() for p in self.params]

    def update(self):
        one_minus_decay = 1.0 - self.decay
        with torch.no_grad():
            for s_param, param in zip(self.shadow_params, self.params):
                s_param_float = s_param.float()
                param_float = param.float()
                gap = (s_param_float - param_float)
                s_param_float.add_(gap * one_minus_decay)
                s_param.copy_(s_param_float)


class LoRANetwork(nn.Module):
    def __init__(self, dim=12, rank=4):
        super().__init__()
        self.org = nn.Linear(dim, dim)
        self.org.requires_grad_(False)
        self.lora_down = nn.Linear(dim, rank, bias=False)
        self.lora_up = nn.Linear(rank, dim, bias=False)
        nn.init.zeros_(self.lora_up.weight)

    def forward(self, x):
        return self.org(x) + self.lora_up(self.lora_down(x))


# %%
network = LoRANetwork()
trainable = [p for p in network.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(trainable, lr=1e-2)
ema = ExponentialMovingAverage(trainable, decay=0.9)
x = torch.randn(64, 12)
target = x @ torch.randn(12, 12)

# %%
for step in range(120):
    loss = F.mse_loss(network(x), target)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    ema.update()
    if step % 40 == 39:
        print(step, loss.item(), max(s.abs().max().item() for s in ema.shadow_params))
