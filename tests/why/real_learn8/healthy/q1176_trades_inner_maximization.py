# https://github.com/yaodongyu/TRADES/blob/master/trades.py
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.manual_seed(1)


def trades_loss(
    model, x_natural, y, optimizer, step_size=0.003, epsilon=0.031, perturb_steps=3, beta=1.0
):
    criterion_kl = nn.KLDivLoss(reduction="sum")
    model.eval()
    batch_size = len(x_natural)
    x_adv = x_natural.detach() + 0.001 * torch.randn(x_natural.shape).detach()
    for _ in range(perturb_steps):
        x_adv.requires_grad_()
        with torch.enable_grad():
            loss_kl = criterion_kl(
                F.log_softmax(model(x_adv), dim=1), F.softmax(model(x_natural), dim=1)
            )
        grad = torch.autograd.grad(loss_kl, [x_adv])[0]
        x_adv = x_adv.detach() + step_size * torch.sign(grad.detach())
        x_adv = torch.min(torch.max(x_adv, x_natural - epsilon), x_natural + epsilon)
        x_adv = torch.clamp(x_adv, 0.0, 1.0)
    model.train()
    x_adv = x_adv.clone().detach().requires_grad_(False)
    optimizer.zero_grad()
    logits = model(x_natural)
    loss_natural = F.cross_entropy(logits, y)
    loss_robust = (1.0 / batch_size) * criterion_kl(
        F.log_softmax(model(x_adv), dim=1), F.softmax(model(x_natural), dim=1)
    )
    return loss_natural + beta * loss_robust


model = nn.Sequential(
    nn.Conv2d(1, 4, 3),
    nn.BatchNorm2d(4),
    nn.ReLU(),
    nn.Flatten(),
    nn.Dropout(0.2),
    nn.Linear(64, 5),
)
optimizer = optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
before = model[0].weight.detach().clone()

# %%
for batch_idx in range(3):
    data, target = torch.rand(6, 1, 6, 6), torch.randint(0, 5, (6,))
    optimizer.zero_grad()
    loss = trades_loss(model=model, x_natural=data, y=target, optimizer=optimizer)
    loss.backward()
    optimizer.step()
    print(batch_idx, loss.item())
model.eval()
with torch.no_grad():
    test_loss = F.cross_entropy(model(data), target, reduction="sum").item()
