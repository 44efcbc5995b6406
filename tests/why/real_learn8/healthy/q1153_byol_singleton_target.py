# https://github.com/lucidrains/byol-pytorch/blob/master/byol_pytorch/byol_pytorch.py
import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


def MLP(dim, projection_size, hidden_size=16):
    return nn.Sequential(
        nn.Linear(dim, hidden_size),
        nn.BatchNorm1d(hidden_size),
        nn.ReLU(inplace=True),
        nn.Linear(hidden_size, projection_size),
    )


def loss_fn(x, y):
    x = F.normalize(x, dim=-1, p=2)
    y = F.normalize(y, dim=-1, p=2)
    return 2 - 2 * (x * y).sum(dim=-1)


class EMA:
    def __init__(self, beta):
        self.beta = beta

    def update_average(self, old, new):
        if old is None:
            return new
        return old * self.beta + (1 - self.beta) * new


class NetWrapper(nn.Module):
    def __init__(self, net, projection_size, layer=-2):
        super().__init__()
        self.net = net
        self.layer = layer
        self.projector = None
        self.projection_size = projection_size
        self.hidden = {}
        self.hook_registered = False

    def _hook(self, _, input, output):
        self.hidden[input[0].device] = output.flatten(1)

    def get_representation(self, x):
        if not self.hook_registered:
            [*self.net.children()][self.layer].register_forward_hook(self._hook)
            self.hook_registered = True
        self.hidden.clear()
        _ = self.net(x)
        hidden = self.hidden[x.device]
        self.hidden.clear()
        return hidden

    def forward(self, x):
        representation = self.get_representation(x)
        if self.projector is None:
            self.projector = MLP(representation.shape[1], self.projection_size)
        return self.projector(representation), representation


class BYOL(nn.Module):
    def __init__(self, net, projection_size=8, moving_average_decay=0.99):
        super().__init__()
        self.net = net
        self.augment = lambda x: x + 0.1 * torch.randn_like(x)
        self.online_encoder = NetWrapper(net, projection_size)
        self.target_encoder = None
        self.target_ema_updater = EMA(moving_average_decay)
        self.online_predictor = MLP(projection_size, projection_size)
        self.forward(torch.randn(2, 3, 4, 4))

    def _get_target_encoder(self):
        if self.target_encoder is None:
            self.target_encoder = copy.deepcopy(self.online_encoder)
            for p in self.target_encoder.parameters():
                p.requires_grad = False
        return self.target_encoder

    def update_moving_average(self):
        for current_params, ma_params in zip(
            self.online_encoder.parameters(), self.target_encoder.parameters()
        ):
            ma_params.data = self.target_ema_updater.update_average(
                ma_params.data, current_params.data
            )

    def forward(self, x):
        image_one, image_two = self.augment(x), self.augment(x)
        online_proj_one, _ = self.online_encoder(image_one)
        online_proj_two, _ = self.online_encoder(image_two)
        online_pred_one = self.online_predictor(online_proj_one)
        online_pred_two = self.online_predictor(online_proj_two)
        with torch.no_grad():
            target_encoder = self._get_target_encoder()
            target_proj_one, _ = target_encoder(image_one)
            target_proj_two, _ = target_encoder(image_two)
            target_proj_one.detach_()
            target_proj_two.detach_()
        loss_one = loss_fn(online_pred_one, target_proj_two.detach())
        loss_two = loss_fn(online_pred_two, target_proj_one.detach())
        return (loss_one + loss_two).mean()


resnet = nn.Sequential(
    nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Sequential(nn.Flatten(), nn.Linear(4, 10))
)
learner = BYOL(resnet)
opt = torch.optim.Adam(learner.parameters(), lr=3e-4)
before = resnet[0].weight.detach().clone()

# %%
for _ in range(3):
    images = torch.randn(8, 3, 4, 4)
    loss = learner(images)
    opt.zero_grad()
    loss.backward()
    opt.step()
    learner.update_moving_average()
    print(loss.item())
