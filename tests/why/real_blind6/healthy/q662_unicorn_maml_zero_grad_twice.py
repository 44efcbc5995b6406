# https://github.com/Han-Jia/UNICORN-MAML/issues/7
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ProtoNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, 12))

    def forward(self, support, query):
        proto = self.encoder(support).view(1, 5, 12).mean(0)
        return -torch.cdist(self.encoder(query), proto).pow(2)


# %%
model = ProtoNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, nesterov=True, weight_decay=5e-4)
lr_scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=5, gamma=0.5)
before = model.encoder[0].weight.detach().clone()

# %%
num_tasks = 2
for epoch in range(2):
    for step in range(3):
        optimizer.zero_grad()
        total = 0
        for task in range(num_tasks):
            support, query, label = torch.randn(5, 10), torch.randn(15, 10), torch.arange(15) % 5
            logits = model(support, query)
            loss = F.cross_entropy(logits, label)
            (loss / num_tasks).backward()
            total += loss.item() / num_tasks
        optimizer.step()
        optimizer.zero_grad()
        print(epoch, step, total)
    lr_scheduler.step()
