# https://github.com/jeromerony/fast_adversarial/issues/3
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.manual_seed(0)
steps, gamma, init_norm, targeted = 20, 0.05, 1., False

# %%
model = nn.Sequential(nn.Conv2d(1, 8, 3, 2, 1), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 16, 5))
inputs = torch.rand(8, 1, 8, 8)
labels = model(inputs).argmax(1)

# %%
batch_size = inputs.shape[0]
multiplier = 1 if targeted else -1
delta = torch.zeros_like(inputs, requires_grad=True)
norm = torch.full((batch_size,), init_norm)
worst_norm = torch.max(inputs, 1 - inputs).view(batch_size, -1).norm(p=2, dim=1)

# Setup optimizers
optimizer = optim.SGD([delta], lr=1)
scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=steps, eta_min=0.01)
adv_found = torch.zeros(batch_size, dtype=torch.bool)

for i in range(steps):
    adv = inputs + delta
    logits = model(adv)
    pred_labels = logits.argmax(1)
    ce_loss = F.cross_entropy(logits, labels, reduction='sum')
    loss = multiplier * ce_loss
    is_adv = pred_labels != labels
    adv_found |= is_adv

    optimizer.zero_grad()
    loss.backward()
    # renorming gradient
    grad_norms = delta.grad.view(batch_size, -1).norm(p=2, dim=1)
    delta.grad.div_(grad_norms.view(-1, 1, 1, 1))
    # avoid nan or inf if gradient is 0
    if (grad_norms == 0).any():
        delta.grad[grad_norms == 0] = torch.randn_like(delta.grad[grad_norms == 0])
    optimizer.step()
    scheduler.step()

    norm.mul_(1 - (2 * is_adv.float() - 1) * gamma)
    norm = torch.min(norm, worst_norm)
    delta.data.mul_((norm / delta.data.view(batch_size, -1).norm(2, 1)).view(-1, 1, 1, 1))
    delta.data.add_(inputs)
    delta.data.clamp_(0, 1).sub_(inputs)
    if i == 0:
        first = ce_loss.item()
print(adv_found, first, ce_loss.item())
assert adv_found.all() and ce_loss.item() > first
assert delta.is_leaf and delta.grad is not None
