# https://discuss.pytorch.org/t/what-is-the-most-convenient-way-to-make-model-weights-dependent-on-some-parameter/47645
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, stride=2)
        self.fc = nn.Linear(4 * 3 * 3, 5)

    def forward(self, x):
        return self.fc(torch.relu(self.conv(x)).flatten(1))


def split(w, model):
    """Cut the weights vector w into the tensors of the layers."""
    parts, start = {}, 0
    for name, p in model.named_parameters():
        parts[name] = w[start:start + p.numel()].view(p.shape)
        start += p.numel()
    return parts


def set_weights(model, w):
    for name, part in split(w, model).items():
        layer, attribute = name.split(".")
        setattr(getattr(model, layer), attribute, nn.Parameter(part))


def g(u):
    return torch.sin(u) / torch.norm(u) * scale


def batch(n=64):
    y = torch.randint(0, 5, (n,))
    return patterns[y] + 0.5 * torch.randn(n, 1, 8, 8), y


model = Net()
size = sum(p.numel() for p in model.parameters())
scale = size ** 0.5
patterns = torch.randn(5, 1, 8, 8)
u = torch.randn(size, requires_grad=True)
optimizer = torch.optim.Adam([u], lr=0.05)

# %%
losses = []
for step in range(60):
    images, labels = batch()
    w = g(u)
    set_weights(model, w)
    logits = model(images)
    loss = F.cross_entropy(logits, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

print(losses[0], losses[-1])
print(u.grad)
