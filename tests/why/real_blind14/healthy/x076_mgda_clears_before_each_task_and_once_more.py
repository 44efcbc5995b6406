# https://github.com/isl-org/MultiObjectiveOptimization/issues/34
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
tasks = ['L', 'R']


class Representation(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 10, 3, padding=1), nn.Conv2d(10, 20, 3, padding=1)
        self.fc = nn.Linear(20 * 3 * 6, 50)

    def forward(self, x):
        x = F.relu(F.max_pool2d(self.conv1(x), 2))
        x = F.max_pool2d(F.relu(self.conv2(x)), (1, 1))
        return F.relu(self.fc(x.flatten(1)))


class Head(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(50, 50), nn.Linear(50, classes)

    def forward(self, z):
        return self.fc2(F.relu(self.fc1(z)))


def min_norm_of_two(g1, g2):
    """The weights of the shortest vector between two."""
    v11, v12, v22 = (g1 * g1).sum(), (g1 * g2).sum(), (g2 * g2).sum()
    if v12 >= v11:
        return 0.999, 0.001
    if v12 >= v22:
        return 0.001, 0.999
    gamma = float((v22 - v12) / (v11 + v22 - 2 * v12))
    return gamma, 1 - gamma


shapes = (torch.rand(4, 6, 6) < 0.4).float()


def draw_batch(n=64):
    left, right = torch.randint(0, 4, (n,)), torch.randint(0, 4, (n,))
    images = torch.cat([shapes[left], 0.5 * shapes[right]], dim=2)
    return (images + 0.3 * torch.randn_like(images)).unsqueeze(1), {'L': left, 'R': right}


# %%
model = {'rep': Representation(), 'L': Head(), 'R': Head()}
model_params = [p for m in model for p in model[m].parameters()]
optimizer = torch.optim.Adam(model_params, lr=3e-3)
log = []

# %%
for n_iter in range(150):
    images, labels = draw_batch()
    loss_data, grads, scale = {}, {}, {}
    # the gradients with respect to the representation alone
    optimizer.zero_grad()
    with torch.no_grad():
        rep = model['rep'](images)
    rep_variable = rep.clone().requires_grad_(True)
    for t in tasks:
        optimizer.zero_grad()
        loss = F.cross_entropy(model[t](rep_variable), labels[t])
        loss_data[t] = loss.item()
        loss.backward()
        grads[t] = rep_variable.grad.detach().clone() / loss_data[t]
        rep_variable.grad.zero_()
    scale['L'], scale['R'] = min_norm_of_two(grads['L'], grads['R'])
    # and now the step, with the losses weighed
    optimizer.zero_grad()
    rep = model['rep'](images)
    losses = {t: F.cross_entropy(model[t](rep), labels[t]) for t in tasks}
    loss = scale['L'] * losses['L'] + scale['R'] * losses['R']
    loss.backward()
    if n_iter == 0:
        alone = torch.autograd.grad(scale['L'] * F.cross_entropy(model['L'](rep.detach()), labels['L']), model['L'].fc2.weight)[0]
        matches = torch.allclose(alone, model['L'].fc2.weight.grad, atol=1e-6)
    optimizer.step()
    log.append((loss_data['L'], loss_data['R'], scale['L']))

# %%
images, labels = draw_batch(400)
with torch.no_grad():
    rep = model['rep'](images)
    acc = {t: (model[t](rep).argmax(1) == labels[t]).float().mean().item() for t in tasks}
print(log[0], log[-1], acc)
assert matches and all(p.grad is not None for p in model_params)
assert min(acc.values()) > 0.9
