# https://github.com/wannabeOG/MAS-PyTorch/issues/1
import torch
import torch.nn as nn
import torch.optim as optim


class AlexNet(nn.Module):
    def __init__(self, num_classes=10):
        super(AlexNet, self).__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 4, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(4, 6, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.Conv2d(6, 6, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.Conv2d(6, 4, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(nn.Linear(4 * 4 * 4, 16), nn.ReLU(), nn.Linear(16, num_classes))

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


class shared_model(nn.Module):
    def __init__(self, model):
        super(shared_model, self).__init__()
        self.tmodel = model
        self.reg_params = {}

    def forward(self, x):
        return self.tmodel(x)


# %%
def create_freeze_layers(model, no_of_layers=2):
    """
    Creates a list of layers that will not be involved in the training process
    """
    # The requires_grad attribute for the parameters of the classifier layer is True
    for param in model.tmodel.classifier.parameters():
        param.requires_grad = True

    for param in model.tmodel.features.parameters():
        param.requires_grad = False

    # return an empty list if you want to train the entire model
    if no_of_layers == 0:
        return []

    temp_list = []
    freeze_layers = []

    # get the keys for the conv layers in the model
    for key in model.tmodel.features._modules:
        if type(model.tmodel.features._modules[key]) == torch.nn.modules.conv.Conv2d:
            temp_list.append(key)

    # set the requires_grad attribute to True for the layers you want to be trainable
    for num in range(1, no_of_layers + 1):
        # pick the layers from the end
        temp_key = temp_list[-1 * num]

        for param in model.tmodel.features[int(temp_key)].parameters():
            param.requires_grad = True

        freeze_layers.append('features.' + temp_key + '.weight')
        freeze_layers.append('features.' + temp_key + '.bias')

    return model, freeze_layers


def init_reg_params(model, use_gpu, freeze_layers=[]):
    device = torch.device("cuda:0" if use_gpu else "cpu")
    reg_params = {}
    for name, param in model.tmodel.named_parameters():
        if not name in freeze_layers:
            print("Initializing omega values for layer", name)
            omega = torch.zeros(param.size()).to(device)
            reg_params[param] = {'omega': omega, 'init_val': param.data.clone()}
    model.reg_params = reg_params
    return model


# %%
model = shared_model(AlexNet())
model, freeze_layers = create_freeze_layers(model, no_of_layers=2)
model = init_reg_params(model, False, freeze_layers)
init_values = {name: param.detach().clone() for name, param in model.tmodel.named_parameters()}

# %%
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(filter(lambda p: p.requires_grad, model.tmodel.parameters()), lr=0.05, momentum=0.9)
for epoch in range(3):
    inputs, labels = torch.randn(8, 3, 16, 16), torch.randint(10, (8,))
    optimizer.zero_grad()
    loss = criterion(model(inputs), labels)
    loss.backward()
    optimizer.step()

# %%
changed = [n for n, p in model.tmodel.named_parameters() if not torch.equal(p, init_values[n])]
print("frozen:", freeze_layers)
print("changed:", changed)
