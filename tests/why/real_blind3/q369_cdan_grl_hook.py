# https://github.com/thuml/CDAN/issues/6
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)


def calc_coeff(iter_num, high=1.0, low=0.0, alpha=10.0, max_iter=100.0):
    return float(2.0 * (high - low) / (1.0 + np.exp(-alpha * iter_num / max_iter)) - (high - low) + low)


def grl_hook(coeff):
    def fun1(grad):
        return -coeff * grad.clone()
    return fun1


class ResNetFc(nn.Module):
    def __init__(self, class_num=3):
        super(ResNetFc, self).__init__()
        self.feature_layers = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 6))
        self.fc = nn.Linear(6, class_num)

    def forward(self, x):
        x = self.feature_layers(x)
        return x, self.fc(x)


class AdversarialNetwork(nn.Module):
    def __init__(self, in_feature=6, hidden_size=8):
        super(AdversarialNetwork, self).__init__()
        self.ad_layer1, self.ad_layer2 = nn.Linear(in_feature, hidden_size), nn.Linear(hidden_size, 1)
        self.iter_num = 10

    def forward(self, x):
        if self.training:
            self.iter_num += 1
        coeff = calc_coeff(self.iter_num)
        x = x * 1.0
        x.register_hook(grl_hook(coeff))
        x = torch.relu(self.ad_layer1(x))
        return torch.sigmoid(self.ad_layer2(x))


def DANN(features, ad_net):
    ad_out = ad_net(features)
    batch_size = ad_out.size(0) // 2
    dc_target = torch.cat([torch.ones(batch_size, 1), torch.zeros(batch_size, 1)])
    return nn.BCELoss()(ad_out, dc_target)


# %%
base_network, ad_net = ResNetFc(), AdversarialNetwork()
optimizer = torch.optim.SGD(list(base_network.parameters()) + list(ad_net.parameters()), lr=0.01, momentum=0.9)
inputs_source, labels_source, inputs_target = torch.randn(8, 10), torch.randint(3, (8,)), torch.randn(8, 10) + 1

# %%
for i in range(3):
    optimizer.zero_grad()
    features_source, outputs_source = base_network(inputs_source)
    features_target, outputs_target = base_network(inputs_target)
    features = torch.cat((features_source, features_target), dim=0)
    transfer_loss = DANN(features, ad_net)
    classifier_loss = nn.CrossEntropyLoss()(outputs_source, labels_source)
    total_loss = transfer_loss + classifier_loss

    # what transfer_loss gives to the features and to the discriminator, for a look
    to_features, to_critic = torch.autograd.grad(transfer_loss, [features, ad_net.ad_layer1.weight], retain_graph=True)
    total_loss.backward()
    optimizer.step()
    print(i, classifier_loss.item(), transfer_loss.item())

# %%
# without the hook
plain = features.detach().requires_grad_(True)
x = torch.relu(ad_net.ad_layer1(plain))
target = torch.cat([torch.ones(8, 1), torch.zeros(8, 1)])
not_reversed, = torch.autograd.grad(nn.BCELoss()(torch.sigmoid(ad_net.ad_layer2(x)), target), plain)
print('reversed:', (to_features * not_reversed).sum().item() < 0)
