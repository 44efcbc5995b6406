# https://github.com/D-X-Y/AutoDL-Projects/issues/36
import torch
import torch.nn as nn

torch.manual_seed(0)

OPS = [lambda C: nn.Conv2d(C, C, 3, padding=1), lambda C: nn.Conv2d(C, C, 1), lambda C: nn.AvgPool2d(3, 1, 1),
       lambda C: nn.Identity()]


class SearchCell(nn.Module):
    def __init__(self, C, max_nodes):
        super().__init__()
        self.max_nodes = max_nodes
        self.edges = nn.ModuleDict()
        for i in range(1, max_nodes):
            for j in range(i):
                self.edges['{:}<-{:}'.format(i, j)] = nn.ModuleList([op(C) for op in OPS])
        self.edge2index = {key: i for i, key in enumerate(sorted(self.edges.keys()))}

    def forward_gdas(self, inputs, hardwts, index):
        nodes = [inputs]
        for i in range(1, self.max_nodes):
            inter_nodes = []
            for j in range(i):
                node_str = '{:}<-{:}'.format(i, j)
                weights = hardwts[self.edge2index[node_str]]
                argmaxs = index[self.edge2index[node_str]].item()
                weigsum = sum(weights[_ie] * edge(nodes[j]) if _ie == argmaxs else weights[_ie]
                              for _ie, edge in enumerate(self.edges[node_str]))
                inter_nodes.append(weigsum)
            nodes.append(sum(inter_nodes))
        return nodes[-1]


class TinyNetworkGDAS(nn.Module):
    def __init__(self, C=8, max_nodes=3, num_classes=4):
        super().__init__()
        self.stem = nn.Conv2d(3, C, 3, padding=1, bias=False)
        self.cell = SearchCell(C, max_nodes)
        self.classifier = nn.Linear(C, num_classes)
        self.arch_parameters = nn.Parameter(1e-3 * torch.randn(len(self.cell.edge2index), len(OPS)))
        self.tau = 10

    def get_weights(self):
        return [*self.stem.parameters(), *self.cell.parameters(), *self.classifier.parameters()]

    def forward(self, inputs):
        gumbels = -torch.empty_like(self.arch_parameters).exponential_().log()
        logits = (self.arch_parameters.log_softmax(dim=1) + gumbels) / self.tau
        probs = nn.functional.softmax(logits, dim=1)
        index = probs.max(-1, keepdim=True)[1]
        one_h = torch.zeros_like(logits).scatter_(-1, index, 1.0)
        hardwts = one_h - probs.detach() + probs
        feature = torch.relu(self.cell.forward_gdas(self.stem(inputs), hardwts, index))
        return self.classifier(feature.mean((2, 3)))


# %%
search_model = TinyNetworkGDAS()
criterion = nn.CrossEntropyLoss()
w_optimizer = torch.optim.SGD(search_model.get_weights(), lr=0.1, momentum=0.9)
a_optimizer = torch.optim.Adam([search_model.arch_parameters], lr=3e-3, betas=(0.5, 0.999))
pattern = torch.randn(4, 3, 6, 6)
target = torch.arange(4).repeat(8)

# %%
base_losses, arch_before = [], search_model.arch_parameters.detach().clone()
for step in range(80):
    search_model.tau = 10 - 9.9 * step / 80
    base_inputs = pattern[target] + 0.3 * torch.randn(32, 3, 6, 6)
    arch_inputs = pattern[target] + 0.3 * torch.randn(32, 3, 6, 6)
    # update the weights
    w_optimizer.zero_grad()
    base_loss = criterion(search_model(base_inputs), target)
    base_loss.backward()
    nn.utils.clip_grad_norm_(search_model.parameters(), 5)
    w_optimizer.step()
    # update the architecture-weight
    a_optimizer.zero_grad()
    arch_loss = criterion(search_model(arch_inputs), target)
    arch_loss.backward()
    a_optimizer.step()
    base_losses.append(base_loss.item())
print(base_losses[0], base_losses[-1], search_model.arch_parameters.softmax(-1))
assert sum(base_losses[-10:]) < sum(base_losses[:10])
assert ((search_model.arch_parameters - arch_before).abs() > 0).all()
