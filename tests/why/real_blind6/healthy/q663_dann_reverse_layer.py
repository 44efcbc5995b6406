# https://github.com/fungtion/DANN/issues/3
import numpy as np
import torch
import torch.nn as nn
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
        self.feature = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(True))
        self.class_classifier = nn.Sequential(nn.Linear(16, 3), nn.LogSoftmax(dim=1))
        self.domain_classifier = nn.Sequential(nn.Linear(16, 8), nn.ReLU(True), nn.Linear(8, 2), nn.LogSoftmax(dim=1))

    def forward(self, input_data, alpha):
        feature = self.feature(input_data)
        reverse_feature = ReverseLayerF.apply(feature, alpha)
        class_output = self.class_classifier(feature)
        domain_output = self.domain_classifier(reverse_feature)
        return class_output, domain_output


# %%
my_net = CNNModel()
optimizer = torch.optim.Adam(my_net.parameters(), lr=1e-3)
loss_class, loss_domain = nn.NLLLoss(), nn.NLLLoss()
before = my_net.feature[0].weight.detach().clone()
n_epoch, len_dataloader = 2, 5

# %%
for epoch in range(n_epoch):
    for i in range(len_dataloader):
        p = float(i + 1 + epoch * len_dataloader) / n_epoch / len_dataloader
        alpha = 2. / (1. + np.exp(-10 * p)) - 1

        # training model using source data
        s_img, s_label = torch.randn(8, 6), torch.randint(0, 3, (8,))
        my_net.zero_grad()
        class_output, domain_output = my_net(input_data=s_img, alpha=alpha)
        err_s_label = loss_class(class_output, s_label)
        err_s_domain = loss_domain(domain_output, torch.zeros(8).long())

        # training model using target data
        t_img = torch.randn(8, 6) + 1
        _, domain_output = my_net(input_data=t_img, alpha=alpha)
        err_t_domain = loss_domain(domain_output, torch.ones(8).long())
        err = err_t_domain + err_s_domain + err_s_label
        err.backward()
        optimizer.step()
    print(epoch, err_s_label.item(), err_s_domain.item(), err_t_domain.item())
