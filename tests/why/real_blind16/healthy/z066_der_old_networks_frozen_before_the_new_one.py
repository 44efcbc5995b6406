# https://github.com/LAMDA-CL/PyCIL/issues/40
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
TASKS, PER_TASK, FEATURES = 3, 2, 24
centers = 1.3 * torch.randn(TASKS * PER_TASK, 10)


def draw(classes, n):
    y = torch.tensor(classes)[torch.randint(0, len(classes), (n,))]
    return centers[y] + 0.5 * torch.randn(n, 10), y


def convnet():
    return nn.Sequential(nn.Linear(10, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, FEATURES), nn.ReLU())


class DERNet(nn.Module):
    """Each task adds a network; the classifier sees the features of all of them side by side."""

    def __init__(self):
        super().__init__()
        self.convnets = nn.ModuleList()
        self.fc = self.aux_fc = None

    def update_fc(self, nb_classes):
        self.convnets.append(convnet())
        if len(self.convnets) > 1:
            self.convnets[-1].load_state_dict(self.convnets[-2].state_dict())
        fc = nn.Linear(FEATURES * len(self.convnets), nb_classes)
        if self.fc is not None:
            with torch.no_grad():
                fc.weight[: self.fc.out_features, : self.fc.in_features] = self.fc.weight
                fc.bias[: self.fc.out_features] = self.fc.bias
        self.fc, self.aux_fc = fc, nn.Linear(FEATURES, PER_TASK + 1)

    def forward(self, x):
        features = [net(x) for net in self.convnets]
        return self.fc(torch.cat(features, 1)), self.aux_fc(features[-1])

    def train(self, mode=True):
        super().train(mode)
        for net in self.convnets[:-1]:
            net.eval()
        return self


class DER:
    def __init__(self):
        self.network, self.cur_task = DERNet(), -1
        self.memory_x, self.memory_y = torch.empty(0, 10), torch.empty(0, dtype=torch.long)

    def incremental_train(self, x, y):
        self.cur_task += 1
        known = self.cur_task * PER_TASK
        self.network.update_fc(known + PER_TASK)
        if self.cur_task > 0:
            for i in range(self.cur_task):
                for p in self.network.convnets[i].parameters():
                    p.requires_grad = False
        all_x, all_y = torch.cat([x, self.memory_x]), torch.cat([y, self.memory_y])
        optimizer = torch.optim.SGD([p for p in self.network.parameters() if p.requires_grad], lr=0.1, momentum=0.9)
        self.network.train()
        for epoch in range(12):
            for index in torch.randperm(len(all_x)).split(64):
                inputs, targets = all_x[index], all_y[index]
                logits, aux_logits = self.network(inputs)
                aux_targets = torch.where(targets < known, 0, targets - known + 1)
                loss = F.cross_entropy(logits, targets) + F.cross_entropy(aux_logits, aux_targets)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        for k in range(known, known + PER_TASK):
            self.memory_x = torch.cat([self.memory_x, x[y == k][:20]])
            self.memory_y = torch.cat([self.memory_y, y[y == k][:20]])
        return loss.item()


# %%
learner = DER()
states, losses = [], []
for task in range(TASKS):
    classes = list(range(task * PER_TASK, (task + 1) * PER_TASK))
    losses.append(learner.incremental_train(*draw(classes, 300)))
    states.append({k: v.clone() for k, v in learner.network.convnets[task].state_dict().items()})

# %%
network = learner.network.eval()
with torch.no_grad():
    x, y = draw(list(range(TASKS * PER_TASK)), 1000)
    predicted = network(x)[0].argmax(1)
per_class = [(predicted[y == k] == k).float().mean().item() for k in range(TASKS * PER_TASK)]
kept = [all(torch.equal(v, states[i][k]) for k, v in network.convnets[i].state_dict().items()) for i in range(TASKS)]
print(losses, per_class, kept)
assert all(kept)
assert all(p.requires_grad == (i == TASKS - 1) for i, net in enumerate(network.convnets) for p in net.parameters())
assert min(per_class) > 0.75 and sum(per_class) / len(per_class) > 0.88
