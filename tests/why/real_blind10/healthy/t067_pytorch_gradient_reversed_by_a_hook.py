# https://github.com/pytorch/pytorch/issues/1110
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class DomainNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(6, 24), nn.ReLU())
        self.label = nn.Linear(24, 3)
        self.domain = nn.Sequential(nn.Linear(24, 12), nn.ReLU(), nn.Linear(12, 2))

    def forward(self, x, lamda=1.0):
        f = self.features(x)
        reversed_f = f * 1.0
        if reversed_f.requires_grad:
            reversed_f.register_hook(lambda grad: -lamda * grad)
        return self.label(f), self.domain(reversed_f)


# %%
model = DomainNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
source_labels = torch.randint(0, 3, (32,))
source = torch.randn(32, 6) + 2 * F.one_hot(source_labels, 6)
target = torch.randn(32, 6) + 2 * F.one_hot(torch.randint(0, 3, (32,)), 6) + 0.5

for epoch in range(10):
    class_output, source_domain = model(source)
    _, target_domain = model(target)
    err_s_label = F.cross_entropy(class_output, source_labels)
    err_domain = F.cross_entropy(source_domain, torch.zeros(32, dtype=torch.long)) + \
        F.cross_entropy(target_domain, torch.ones(32, dtype=torch.long))
    err = err_s_label + 0.1 * err_domain
    optimizer.zero_grad()
    err.backward()
    optimizer.step()
    if epoch % 3 == 0:
        model.eval()
        with torch.no_grad():
            accuracy = (model(source)[0].argmax(1) == source_labels).float().mean()
        model.train()
        print(epoch, err_s_label.item(), err_domain.item(), accuracy.item())
