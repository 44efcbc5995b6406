# https://github.com/Guitaricet/relora/issues/18
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ReLoRaLinear(nn.Linear):
    def __init__(self, in_features, out_features, r, lora_alpha=1, lora_dropout=0.1):
        nn.Linear.__init__(self, in_features, out_features)
        self.lora_dropout = nn.Dropout(p=lora_dropout)
        self.lora_A = nn.Linear(in_features, r, bias=False)
        self.lora_B = nn.Linear(r, out_features, bias=False)
        self.scaling = lora_alpha / r
        # Freezing the pre-trained weight matrix
        self.weight.requires_grad = False
        self.bias.requires_grad = False
        nn.init.kaiming_uniform_(self.lora_A.weight, a=math.sqrt(5))
        nn.init.zeros_(self.lora_B.weight)

    def forward(self, x):
        result = F.linear(x, self.weight, bias=self.bias)
        return result + self.lora_B(self.lora_A(self.lora_dropout(x))) * self.scaling


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(16, 32)
        self.fc2 = nn.Linear(32, 32)
        self.head = nn.Linear(32, 4)

    def forward(self, x):
        return self.head(torch.relu(self.fc2(torch.relu(self.fc1(x)))))


def wrap(model, targets, r, keep_original_weights=True):
    for name in targets:
        old = getattr(model, name)
        new = ReLoRaLinear(old.in_features, old.out_features, r=r)
        new.weight.data.copy_(old.weight.data)
        new.bias.data.copy_(old.bias.data)
        setattr(model, name, new)
    # make lora'ed network to be exactly the same as the original network at initialization
    for module in model.modules():
        if keep_original_weights and isinstance(module, ReLoRaLinear):
            nn.init.zeros_(module.lora_A.weight)
            nn.init.zeros_(module.lora_B.weight)
    return model


# %%
model = wrap(Net(), ["fc1", "fc2"], r=4)
trainable_params = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.Adam(trainable_params, lr=1e-2)
x, y = torch.randn(64, 16), torch.randint(0, 4, (64,))

# %%
for update_step in range(20):
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)
    print(update_step, loss.item())
