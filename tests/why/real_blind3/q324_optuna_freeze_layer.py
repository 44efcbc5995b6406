# https://github.com/optuna/optuna/issues/3855
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class BasicBlock(nn.Module):
    def __init__(self, planes):
        super().__init__()
        self.conv1 = nn.Conv2d(planes, planes, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)

    def forward(self, x):
        return F.relu(x + self.bn1(self.conv1(x)))


class ResNet(nn.Module):
    def __init__(self, num_classes=1000):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 4, 3, padding=1)
        for n in (1, 2, 3, 4):
            setattr(self, 'layer%d' % n, nn.Sequential(BasicBlock(4)))
        self.fc = nn.Linear(4, num_classes)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        for n in (1, 2, 3, 4):
            x = getattr(self, 'layer%d' % n)(x)
        return self.fc(x.mean((2, 3)))


# a first fine tuning, without optuna
model_ft = ResNet()
model_ft.fc = nn.Linear(model_ft.fc.in_features, 10)


def freeze_layer(model, layer_instance, layer_name, layer_numbers, freeze=True):
    for name, layer in model_ft.named_modules():
        for layer_number in layer_numbers:
            layer_id = '%s%d' % (layer_name, layer_number)
            if isinstance(layer, layer_instance):
                if name.startswith(layer_id):
                    for param in layer.parameters():
                        param.requires_grad_(not freeze)
    return model


# %%
class Trial:
    def suggest_categorical(self, name, choices):
        return choices[1]

    def suggest_float(self, name, low, high, log=False):
        return (low * high) ** 0.5


def objective(trial):
    global model
    # Generate the model.
    base_model = ResNet()
    num_ftrs = base_model.fc.in_features
    base_model.fc = nn.Linear(num_ftrs, 10)

    layers2freeze = trial.suggest_categorical("freeze_layers", ['A', 'B', 'C'])
    map_layers2freeze = dict(A=[4], B=[4, 3], C=[4, 3, 2], D=[4, 3, 2, 1])
    layersF = map_layers2freeze[layers2freeze]
    model = freeze_layer(base_model, torch.nn.Conv2d, 'layer', layersF, True)

    optimizer = torch.optim.SGD(model.parameters(), lr=trial.suggest_float("lr", 1e-3, 1e-1, log=True))
    for epoch in range(2):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
    return loss.item()


# %%
images, labels = torch.randn(4, 3, 8, 8), torch.randint(10, (4,))
print(objective(Trial()))
for name, param in model.named_parameters():
    print('Name: ', name, 'Requires_Grad:', param.requires_grad)
