# https://github.com/hysts/pytorch_mpiigaze/issues/55
from typing import Optional, Tuple, Union
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Backbone(nn.Module):
    def __init__(self, n_features=12):
        super().__init__()
        self.n_features = n_features
        self.conv1, self.bn1 = nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.conv2, self.bn2 = nn.Conv2d(8, n_features, 3, padding=1), nn.BatchNorm2d(n_features)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        return F.relu(self.bn2(self.conv2(x)))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.feature_extractor = Backbone()
        n_channels = self.feature_extractor.n_features
        self.conv = nn.Conv2d(n_channels, 1, kernel_size=1, stride=1, padding=0)
        # This model assumes the input image size is 12x12.
        self.fc = nn.Linear(n_channels * 6**2, 2)
        self._register_hook()
        self._initialize_weight()

    def _initialize_weight(self) -> None:
        nn.init.kaiming_normal_(self.conv.weight)
        nn.init.zeros_(self.conv.bias)
        nn.init.xavier_normal_(self.fc.weight)
        nn.init.zeros_(self.fc.bias)

    def _register_hook(self):
        n_channels = self.feature_extractor.n_features

        def hook(module: nn.Module,
                 grad_in: Union[Tuple[torch.tensor, ...], torch.tensor],
                 grad_out: Union[Tuple[torch.tensor, ...], torch.tensor]
                 ) -> Optional[torch.tensor]:
            return tuple(grad / n_channels for grad in grad_in)

        self.handle = self.conv.register_backward_hook(hook)

    def forward(self, x):
        x = self.feature_extractor(x)
        y = F.relu(self.conv(x))
        x = x * y
        x = x.view(x.size(0), -1)
        x = self.fc(x)
        return x


def faces(n):
    gaze = torch.rand(n, 2) * 1.2 - 0.6
    grid = torch.linspace(-1, 1, 12)
    across = torch.exp(-8 * (grid - gaze[:, 1:]) ** 2)
    down = torch.exp(-8 * (grid - gaze[:, :1]) ** 2)
    return (down.unsqueeze(2) * across.unsqueeze(1)).unsqueeze(1) + 0.1 * torch.randn(n, 1, 12, 12), gaze


def compute_angle_error(predictions, labels):
    def convert_to_unit_vector(angles):
        x = -torch.cos(angles[:, 0]) * torch.sin(angles[:, 1])
        y = -torch.sin(angles[:, 0])
        z = -torch.cos(angles[:, 0]) * torch.cos(angles[:, 1])
        return torch.stack([x, y, z], 1) / torch.sqrt(x**2 + y**2 + z**2).unsqueeze(1)

    cos = (convert_to_unit_vector(predictions) * convert_to_unit_vector(labels)).sum(1).clamp(-1, 1)
    return torch.acos(cos) * 180 / torch.pi


# %%
model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, nesterov=True, weight_decay=1e-4)
scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [120], gamma=0.1)
loss_function = nn.L1Loss(reduction='mean')
losses = []
for step in range(160):
    images, gazes = faces(32)
    optimizer.zero_grad()
    outputs = model(images)
    loss = loss_function(outputs, gazes)
    loss.backward()
    optimizer.step()
    scheduler.step()
    losses.append(loss.item())

# %%
model.eval()
params = [model.conv.weight, model.conv.bias, model.fc.weight]
images, gazes = faces(64)
optimizer.zero_grad()
loss_function(model(images), gazes).backward()
hooked = [p.grad.clone() for p in params]
model.handle.remove()
optimizer.zero_grad()
loss_function(model(images), gazes).backward()
plain = [p.grad for p in params]
ratios = [(a.norm() / b.norm()).item() for a, b in zip(plain, hooked)]
with torch.no_grad():
    angle_error = compute_angle_error(model(images), gazes).mean().item()
    at_random = compute_angle_error(gazes[torch.randperm(64)], gazes).mean().item()
print(losses[0], losses[-1], ratios, angle_error, at_random)
assert abs(ratios[0] - 12) < 0.01 and abs(ratios[1] - 12) < 0.01 and abs(ratios[2] - 1) < 1e-3
assert angle_error < 0.3 * at_random
