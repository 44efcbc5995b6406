# https://github.com/pytorch/pytorch/issues/632
import torch
import torch.nn as nn

torch.manual_seed(0)


class RelNet(nn.Module):
    def __init__(self, numfeatures, numrel):
        super().__init__()
        self.waggrs = {}
        self.list_relations = {}
        for rel in range(10):
            self.waggrs[rel] = {'w': nn.Parameter(1. + torch.randn(1, 2)), 'b': nn.Parameter(torch.zeros(1, 4))}
            self.list_relations[rel] = nn.Linear(numfeatures, numrel)
        self.out = nn.Linear(numrel, 2)

    def forward(self, features):
        x = 0.
        for rel in self.list_relations:
            x = x + self.waggrs[rel]['w'][0, 0] * self.list_relations[rel](features) + self.waggrs[rel]['w'][0, 1] * self.waggrs[rel]['b']
        return self.out(torch.tanh(x))


# %%
net = RelNet(6, 4)
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
w_before = net.waggrs[0]['w'].detach().clone()
data, labels = torch.randn(32, 6), torch.randint(0, 2, (32,))

# %%
for i in range(20):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(data), labels)
    loss.backward()
    optimizer.step()
print(loss.item(), len(list(net.parameters())))
