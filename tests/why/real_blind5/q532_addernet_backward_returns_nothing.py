# https://github.com/huawei-noah/AdderNet/issues/21
import math

import torch
import torch.nn as nn
from torch.autograd import Function

torch.manual_seed(0)


class adder(Function):
    @staticmethod
    def forward(ctx, W_col, X_col):
        ctx.save_for_backward(W_col, X_col)
        output = -(W_col.unsqueeze(2) - X_col.unsqueeze(0)).abs().sum(1)
        return output

    @staticmethod
    def backward(ctx, grad_output):
        W_col, X_col = ctx.saved_tensors
        grad_W_col = ((X_col.unsqueeze(0) - W_col.unsqueeze(2)) * grad_output.unsqueeze(1)).sum(2)
        grad_W_col = grad_W_col / grad_W_col.norm(p=2).clamp(min=1e-12) * math.sqrt(W_col.size(1) * W_col.size(0)) / 5
        grad_X_col = (-(X_col.unsqueeze(0) - W_col.unsqueeze(2)).clamp(-1, 1) * grad_output.unsqueeze(1)).sum(0)


class adder2d(nn.Module):
    def __init__(self, input_channel, output_channel, kernel_size, padding=0):
        super(adder2d, self).__init__()
        self.output_channel, self.kernel_size, self.padding = output_channel, kernel_size, padding
        self.adder = nn.Parameter(torch.randn(output_channel, input_channel, kernel_size, kernel_size))

    def forward(self, X):
        n, _, h, w = X.size()
        X_col = nn.functional.unfold(X, self.kernel_size, padding=self.padding).permute(1, 2, 0).reshape(-1, h * w * n)
        out = adder.apply(self.adder.view(self.output_channel, -1), X_col)
        return out.view(self.output_channel, h, w, n).permute(3, 0, 1, 2).contiguous()


# %%
net = nn.Sequential(nn.Conv2d(3, 4, 3, 1, 1), nn.BatchNorm2d(4), nn.ReLU(), adder2d(4, 4, 3, 1), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(256, 10))
criterion = torch.nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)


# %%
def train(epoch):
    net.train()
    for i in range(2):
        images, labels = torch.rand(4, 3, 8, 8), torch.randint(0, 10, (4,))
        optimizer.zero_grad()
        output = net(images)
        loss = criterion(output, labels)
        loss.backward()
        optimizer.step()
        print('Train - Epoch %d, Batch: %d, Loss: %f' % (epoch, i, loss.item()))


train(1)
