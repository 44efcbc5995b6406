# https://github.com/fungtion/DANN/blob/master/models/functions.py
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
        super().__init__()
        self.feature = nn.Sequential(
            nn.Linear(12, 16), nn.BatchNorm1d(16), nn.ReLU(True), nn.Dropout()
        )
        self.class_classifier = nn.Sequential(nn.Linear(16, 10), nn.LogSoftmax(dim=1))
        self.domain_classifier = nn.Sequential(
            nn.Linear(16, 8), nn.ReLU(True), nn.Linear(8, 2), nn.LogSoftmax(dim=1)
        )

    def forward(self, input_data, alpha):
        feature = self.feature(input_data)
        reverse_feature = ReverseLayerF.apply(feature, alpha)
        return self.class_classifier(feature), self.domain_classifier(reverse_feature)


my_net = CNNModel()
optimizer = optim.Adam(my_net.parameters(), lr=1e-3)
loss_class, loss_domain = nn.NLLLoss(), nn.NLLLoss()
for p in my_net.parameters():
    p.requires_grad = True
before = my_net.feature[0].weight.detach().clone()

# %%
n_epoch, len_dataloader = 2, 2
for epoch in range(n_epoch):
    for i in range(len_dataloader):
        p = float(i + epoch * len_dataloader) / n_epoch / len_dataloader
        alpha = 2.0 / (1.0 + np.exp(-10 * p)) - 1
        s_img, s_label = torch.randn(8, 12), torch.randint(0, 10, (8,))
        my_net.zero_grad()
        class_output, domain_output = my_net(input_data=s_img, alpha=alpha)
        err_s_label = loss_class(class_output, s_label)
        err_s_domain = loss_domain(domain_output, torch.zeros(8).long())
        t_img = torch.randn(8, 12)
        _, domain_output = my_net(input_data=t_img, alpha=alpha)
        err_t_domain = loss_domain(domain_output, torch.ones(8).long())
        err = err_t_domain + err_s_domain + err_s_label
        err.backward()
        optimizer.step()
        print(
            err_s_label.data.cpu().numpy(),
            err_s_domain.data.cpu().numpy(),
            err_t_domain.data.cpu().item(),
        )
