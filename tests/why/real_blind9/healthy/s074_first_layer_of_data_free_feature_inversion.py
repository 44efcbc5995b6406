# https://github.com/NVlabs/DeepInversion/blob/master/deepinversion.py
import torch
import torch.nn as nn

torch.manual_seed(0)


class FeatureHook:
    """How far a batch's statistics are from those that a batch norm has stored."""

    def __init__(self, module):
        self.hook = module.register_forward_hook(self.measure)

    def measure(self, module, input, output):
        values = input[0].transpose(0, 1).flatten(1)
        self.r_feature = (values.mean(1) - module.running_mean.data).norm() + (
            values.var(1, unbiased=False) - module.running_var.data).norm()


# %%
net_teacher = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(),
                            nn.Linear(32, 5)).eval()
hooks = [FeatureHook(module) for module in net_teacher.modules() if isinstance(module, nn.BatchNorm2d)]
inputs = torch.randn((4, 3, 10, 10), requires_grad=True)
start = inputs.detach().clone()
targets = torch.LongTensor([0, 1, 2, 3])
optimizer = torch.optim.Adam([inputs], lr=0.1, betas=[0.5, 0.9], eps=1e-8)
criterion = nn.CrossEntropyLoss()

# %%
for iteration in range(4):
    inputs_jit = torch.roll(inputs, shifts=(1, 0), dims=(2, 3))
    optimizer.zero_grad()
    net_teacher.zero_grad()
    loss = criterion(net_teacher(inputs_jit), targets)
    loss = loss + 0.01 * sum(hook.r_feature for hook in hooks) + 1e-3 * inputs_jit.flatten(1).norm(dim=1).mean()
    loss.backward()
    optimizer.step()
    inputs.data = inputs.data.clamp(-2.5, 2.5)
