# https://github.com/THU-MIG/torch-model-compression/issues/5
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def create_slice(index, dim):
    return tuple([slice(None)] * dim + [index])


def neg_index(index, size):
    mask = np.ones(size) > 0
    mask[index] = False
    return np.arange(size)[mask]


def set_cut_tensor(tensor, cut_dims):
    data = tensor
    param_list = []
    for i, index in enumerate(cut_dims):
        if len(index) == 0:
            param_list.append(None)
            continue
        param_list.append(data[create_slice(index, i)].detach().numpy().copy())
        data_slice = create_slice(neg_index(index, data.size(i)), i)
        if data.requires_grad:
            with torch.no_grad():
                data.set_(data[data_slice])
        else:
            data = data[data_slice]
    data.grad = None
    return data, param_list


class ParameterPruner:
    def __init__(self, name):
        self.name = name

    def set_cut(self, data, cut_dict):
        if self.name not in cut_dict["terminal"]:
            return data, {}
        data, param_list = set_cut_tensor(data, cut_dict["terminal"][self.name])
        return data, {self.name: param_list}


class ConvPruner:
    def __init__(self, name):
        self.name = name
        self.weight_pruner = ParameterPruner(name + ".weight")
        self.bias_pruner = ParameterPruner(name + ".bias")

    def set_cut(self, nn_module, cut_dict):
        nn_module.weight, weight_context = self.weight_pruner.set_cut(nn_module.weight, cut_dict)
        nn_module.bias, bias_context = self.bias_pruner.set_cut(nn_module.bias, cut_dict)
        nn_module.in_channels = nn_module.weight.data.size(1) * nn_module.groups
        nn_module.out_channels = nn_module.weight.data.size(0)
        return nn_module, {**weight_context, **bias_context}


class HelmetNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.body = nn.Conv2d(8, 8, 3, padding=1)
        self.head = nn.Conv2d(8, 2, 1)

    def forward(self, x):
        x = F.relu(self.stem(x))
        x = F.relu(self.body(x))
        return self.head(x).mean(dim=(2, 3))


class ResRepSolver:
    def __init__(self, model, frozen=("stem",)):
        self.model = model
        for name in frozen:
            getattr(model, name).requires_grad_(False)
        self.pruners = {name: ConvPruner(name) for name in ("stem", "body", "head")}
        self.optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=1e-2)

    def prune_model(self, name, following):
        norms = getattr(self.model, name).weight.detach().flatten(1).norm(dim=1)
        weakest = [int(norms.argmin())]
        cut_dict = {"terminal": {name + ".weight": [weakest, []], name + ".bias": [weakest],
                                 following + ".weight": [[], weakest]}}
        for layer in (name, following):
            self.pruners[layer].set_cut(getattr(self.model, layer), cut_dict)

    def run(self, iterations, name, following):
        for iteration in range(iterations):
            images, labels = torch.randn(4, 3, 12, 12), torch.randint(0, 2, (4,))
            loss = F.cross_entropy(self.model(images), labels)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.prune_model(name, following)
            print(iteration, loss.item(), getattr(self.model, name).out_channels)


# %%
model = HelmetNet()
solver = ResRepSolver(model)
solver.run(2, "body", "head")

# %%
solver.run(2, "stem", "body")
