# https://github.com/mil-ad/snip/issues/4
import copy
import types
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 12, 3, padding=1)
        self.fc1 = nn.Linear(12 * 25, 64)
        self.fc2 = nn.Linear(64, 4)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv(x)), 2).flatten(1)
        return F.log_softmax(self.fc2(F.relu(self.fc1(x))), dim=1)


def prunable(net):
    return [layer for layer in net.modules() if isinstance(layer, (nn.Conv2d, nn.Linear))]


def conv_forward(self, x):
    return F.conv2d(x, self.weight * self.weight_mask, self.bias, self.stride, self.padding)


def linear_forward(self, x):
    return F.linear(x, self.weight * self.weight_mask, self.bias)


def snip(net, keep_ratio, inputs, targets):
    """Asks of a copy what each connection matters; only the masks are returned."""
    net = copy.deepcopy(net)
    for layer in prunable(net):
        layer.weight_mask = nn.Parameter(torch.ones_like(layer.weight))
        nn.init.xavier_normal_(layer.weight)
        layer.weight.requires_grad = False
        forward = conv_forward if isinstance(layer, nn.Conv2d) else linear_forward
        layer.forward = types.MethodType(forward, layer)
    net.zero_grad()
    F.nll_loss(net(inputs), targets).backward()
    saliency = [layer.weight_mask.grad.abs() for layer in prunable(net)]
    scores = torch.cat([s.flatten() for s in saliency])
    threshold = scores.topk(int(keep_ratio * len(scores))).values[-1]
    return [(s >= threshold).float() for s in saliency], [layer.weight.grad for layer in prunable(net)]


def apply_prune_mask(net, masks):
    for layer, mask in zip(prunable(net), masks):
        layer.weight.data[mask == 0] = 0.0
        layer.weight.register_hook(lambda grads, mask=mask: grads * mask)


def bars(n):
    """One bar in one of four directions."""
    x, y = 0.3 * torch.randn(n, 1, 10, 10), torch.randint(0, 4, (n,))
    for picture, kind in zip(x, y):
        k = int(torch.randint(1, 9, (1,)))
        if kind == 0:
            picture[0, k] += 1
        elif kind == 1:
            picture[0, :, k] += 1
        elif kind == 2:
            picture[0] += torch.diag(torch.ones(10 - k // 3), k // 3)
        else:
            picture[0] += torch.diag(torch.ones(10 - k // 3), k // 3).flip(1)
    return x, y


# %%
net = LeNet()
masks, weight_grads = snip(net, 0.1, *bars(256))
untouched = all(layer.weight.requires_grad and not hasattr(layer, 'weight_mask') for layer in prunable(net))
apply_prune_mask(net, masks)
kept = [int(mask.sum()) for mask in masks]
total = sum(mask.numel() for mask in masks)

# %%
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
losses = []
for step in range(250):
    inputs, targets = bars(64)
    loss = F.nll_loss(net(inputs), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

# %%
with torch.no_grad():
    inputs, targets = bars(500)
    accuracy = (net(inputs).argmax(1) == targets).float().mean().item()
print(kept, total, losses[0], losses[-1], accuracy)
assert untouched and all(g is None for g in weight_grads)
assert abs(sum(kept) - 0.1 * total) < 5
assert all((layer.weight[mask == 0] == 0).all() for layer, mask in zip(prunable(net), masks))
assert losses[-1] < 0.4 * losses[0] and accuracy > 0.85
