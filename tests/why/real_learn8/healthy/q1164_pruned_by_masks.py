# https://pytorch.org/tutorials/intermediate/pruning_tutorial.html
import torch
import torch.nn.functional as F
import torch.nn.utils.prune as prune
from torch import nn

torch.manual_seed(0)


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 5)
        self.fc1 = nn.Linear(16, 12)
        self.fc3 = nn.Linear(12, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.relu(self.fc1(x.view(-1, x.nelement() // x.shape[0])))
        return self.fc3(x)


model = LeNet()
parameters_to_prune = ((model.conv1, "weight"), (model.fc1, "weight"), (model.fc3, "weight"))
prune.global_unstructured(parameters_to_prune, pruning_method=prune.L1Unstructured, amount=0.4)
prune.l1_unstructured(model.fc3, name="bias", amount=3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
before = model.fc1.weight_orig.detach().clone()

# %%
for epoch in range(3):
    data, target = torch.randn(8, 1, 8, 8), torch.randint(0, 10, (8,))
    optimizer.zero_grad()
    loss = F.cross_entropy(model(data), target)
    loss.backward()
    optimizer.step()
    sparsity = 100.0 * float(torch.sum(model.fc1.weight == 0)) / float(model.fc1.weight.nelement())
    print(loss.item(), f"Sparsity in fc1.weight: {sparsity:.2f}%")
