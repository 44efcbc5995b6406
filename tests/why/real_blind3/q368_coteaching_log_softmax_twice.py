# https://github.com/bhanML/Co-teaching/issues/4
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1)


class CNN(nn.Module):
    def __init__(self, n_outputs=5):
        super().__init__()
        self.c1 = nn.Conv2d(1, 8, 3, padding=1)
        self.l_c1 = nn.Linear(8, n_outputs)

    def forward(self, x):
        h = F.leaky_relu(self.c1(x), negative_slope=0.01)
        return self.l_c1(h.mean((2, 3)))


def loss_coteaching(y_1, y_2, t, forget_rate):
    loss_1 = F.cross_entropy(y_1, t, reduction='none')
    ind_1_sorted = np.argsort(loss_1.data.numpy())
    loss_2 = F.cross_entropy(y_2, t, reduction='none')
    ind_2_sorted = np.argsort(loss_2.data.numpy())

    num_remember = int((1 - forget_rate) * len(loss_1))
    ind_1_update = torch.from_numpy(ind_1_sorted[:num_remember].copy())
    ind_2_update = torch.from_numpy(ind_2_sorted[:num_remember].copy())
    # exchange
    loss_1_update = F.cross_entropy(y_1[ind_2_update], t[ind_2_update])
    loss_2_update = F.cross_entropy(y_2[ind_1_update], t[ind_1_update])
    return loss_1_update, loss_2_update


# %%
model1, model2 = CNN(), CNN()
optimizer1 = torch.optim.Adam(model1.parameters(), lr=1e-3)
optimizer2 = torch.optim.Adam(model2.parameters(), lr=1e-3)
images, labels = torch.randn(16, 1, 8, 8), torch.randint(5, (16,))

# what log_softmax only once would give
logits1, logits2 = model1(images), model2(images)
once, = torch.autograd.grad(loss_coteaching(logits1, logits2, labels, 0.2)[0], model1.l_c1.weight)

# %%
# Forward + Backward + Optimize
y_1, y_2 = F.log_softmax(model1(images), dim=1), F.log_softmax(model2(images), dim=1)
loss_1, loss_2 = loss_coteaching(y_1, y_2, labels, forget_rate=0.2)

optimizer1.zero_grad()
loss_1.backward()
optimizer1.step()
optimizer2.zero_grad()
loss_2.backward()
optimizer2.step()
print('Loss1: %.4f, Loss2: %.4f' % (loss_1.item(), loss_2.item()))
