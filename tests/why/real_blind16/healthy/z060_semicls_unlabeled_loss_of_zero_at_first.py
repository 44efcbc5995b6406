# https://github.com/TencentYoutuResearch/Classification-SemiCLS/issues/13
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
THRESHOLD, LAMBDA_U = 0.95, 1.0
places = torch.tensor([[2.0, 0.0], [-1.0, 1.7], [-1.0, -1.7]])


def draw(n):
    y = torch.randint(0, 3, (n,))
    return places[y] + 0.55 * torch.randn(n, 2), y


def weak(x):
    return x + 0.05 * torch.randn_like(x)


def strong(x):
    return (x + 0.4 * torch.randn_like(x)) * (1 + 0.2 * torch.randn(len(x), 1))


class Classifier(nn.Module):
    def __init__(self, hidden=64, num_classes=3):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.fc = nn.Linear(hidden, num_classes)

    def forward(self, x):
        return self.fc(self.body(x))


class FixMatch:
    def __init__(self, model, lr=0.03):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, nesterov=True, weight_decay=5e-4)

    def train_step(self, inputs_x, targets_x, inputs_u):
        n = len(inputs_x)
        logits = self.model(torch.cat([weak(inputs_x), weak(inputs_u), strong(inputs_u)]))
        logits_x, (logits_u_w, logits_u_s) = logits[:n], logits[n:].chunk(2)
        loss_x = F.cross_entropy(logits_x, targets_x)
        pseudo_label = torch.softmax(logits_u_w.detach(), dim=-1)
        max_probs, targets_u = torch.max(pseudo_label, dim=-1)
        mask = max_probs.ge(THRESHOLD).float()
        loss_u = (F.cross_entropy(logits_u_s, targets_u, reduction='none') * mask).mean()
        loss = loss_x + LAMBDA_U * loss_u
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss_x.item(), loss_u.item(), mask.mean().item()


# %%
labeled_y = torch.arange(3).repeat(3)
labeled_x = places[labeled_y] + 0.55 * torch.randn(9, 2)
unlabeled_x, _ = draw(1000)
model = Classifier()
trainer = FixMatch(model)
history = []
for step in range(300):
    inputs_u = unlabeled_x[torch.randint(0, 1000, (56,))]
    loss_x, loss_u, mask = trainer.train_step(labeled_x, labeled_y, inputs_u)
    history.append((loss_x, loss_u, mask))

# %%
with torch.no_grad():
    x, y = draw(1000)
    accuracy = (model(x).argmax(1) == y).float().mean().item()
losses_u, masks = [h[1] for h in history], [h[2] for h in history]
print(losses_u[:3], max(losses_u), masks[-1], accuracy)
assert all(l == 0 for l in losses_u[:5]) and all(m == 0 for m in masks[:5])
assert masks[-1] > 0.5 and max(losses_u) > 0
assert accuracy > 0.93
