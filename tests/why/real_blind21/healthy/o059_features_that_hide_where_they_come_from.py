# https://github.com/fungtion/DANN/blob/master/train/main.py
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.autograd import Function

torch.manual_seed(0)


class ReverseLayerF(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        output = grad_output.neg() * ctx.alpha
        return output, None


class CNNModel(nn.Module):
    def __init__(self):
        super(CNNModel, self).__init__()
        self.feature = nn.Sequential()
        self.feature.add_module('f_conv1', nn.Conv2d(3, 16, kernel_size=3))
        self.feature.add_module('f_bn1', nn.BatchNorm2d(16))
        self.feature.add_module('f_pool1', nn.MaxPool2d(2))
        self.feature.add_module('f_relu1', nn.ReLU(True))

        self.class_classifier = nn.Sequential()
        self.class_classifier.add_module('c_fc1', nn.Linear(16 * 5 * 5, 50))
        self.class_classifier.add_module('c_bn1', nn.BatchNorm1d(50))
        self.class_classifier.add_module('c_relu1', nn.ReLU(True))
        self.class_classifier.add_module('c_fc3', nn.Linear(50, 4))
        self.class_classifier.add_module('c_softmax', nn.LogSoftmax(dim=1))

        self.domain_classifier = nn.Sequential()
        self.domain_classifier.add_module('d_fc1', nn.Linear(16 * 5 * 5, 50))
        self.domain_classifier.add_module('d_bn1', nn.BatchNorm1d(50))
        self.domain_classifier.add_module('d_relu1', nn.ReLU(True))
        self.domain_classifier.add_module('d_fc2', nn.Linear(50, 2))
        self.domain_classifier.add_module('d_softmax', nn.LogSoftmax(dim=1))

    def forward(self, input_data, alpha):
        input_data = input_data.expand(input_data.data.shape[0], 3, 12, 12)
        feature = self.feature(input_data)
        feature = feature.view(-1, 16 * 5 * 5)
        reverse_feature = ReverseLayerF.apply(feature, alpha)
        class_output = self.class_classifier(feature)
        domain_output = self.domain_classifier(reverse_feature)
        return class_output, domain_output


# %%
glyphs = (torch.rand(4, 1, 12, 12) > 0.6).float()


def batch_of(n, target):
    label = torch.randint(0, 4, (n,))
    img = glyphs[label].expand(-1, 3, -1, -1) + 0.2 * torch.randn(n, 3, 12, 12)
    if target:
        img = img * torch.tensor([0.8, 0.5, 0.6]).view(1, 3, 1, 1) + 0.2
    return img, label


my_net = CNNModel()
optimizer = optim.Adam(my_net.parameters(), lr=1e-3)
loss_class = torch.nn.NLLLoss()
loss_domain = torch.nn.NLLLoss()
for p in my_net.parameters():
    p.requires_grad = True

# %%
n_epoch, len_dataloader = 5, 20
history = []
for epoch in range(n_epoch):
    for i in range(len_dataloader):
        p = float(i + epoch * len_dataloader) / n_epoch / len_dataloader
        alpha = 2. / (1. + np.exp(-10 * p)) - 1

        # training model using source data
        s_img, s_label = batch_of(64, target=False)
        my_net.zero_grad()
        class_output, domain_output = my_net(input_data=s_img, alpha=alpha)
        err_s_label = loss_class(class_output, s_label)
        err_s_domain = loss_domain(domain_output, torch.zeros(64).long())

        # training model using target data
        t_img, _ = batch_of(64, target=True)
        _, domain_output = my_net(input_data=t_img, alpha=alpha)
        err_t_domain = loss_domain(domain_output, torch.ones(64).long())
        err = err_t_domain + err_s_domain + err_s_label
        err.backward()
        optimizer.step()
        history.append((err_s_label.item(), (err_s_domain + err_t_domain).item()))

# %%
my_net.eval()
with torch.no_grad():
    t_img, t_label = batch_of(400, target=True)
    accuracy = (my_net(t_img, 0)[0].argmax(1) == t_label).float().mean().item()
print(history[0], history[-1], accuracy)
assert accuracy > 0.9 and history[-1][0] < 0.2 * history[0][0]
