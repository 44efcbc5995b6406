# https://github.com/dragen1860/MAML-Pytorch/issues/47
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim

torch.manual_seed(0)


class Learner(nn.Module):
    def __init__(self, dim=16, n_way=5):
        super(Learner, self).__init__()
        self.net = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, n_way))

    def forward(self, x):
        return self.net(x)


class Meta(nn.Module):
    def __init__(self, update_lr=0.1, meta_lr=1e-2, update_step=3):
        super(Meta, self).__init__()
        self.update_lr = update_lr
        self.meta_lr = meta_lr
        self.update_step = update_step
        self.net = Learner()
        self.meta_optim = optim.Adam(self.net.parameters(), lr=self.meta_lr)

    def forward(self, x_spt, y_spt, x_qry, y_qry):
        task_num, querysz = x_spt.size(0), x_qry.size(1)
        losses_q, corrects = 0, 0

        for i in range(task_num):
            fast_net = Learner()
            fast_net.load_state_dict(copy.deepcopy(self.net.state_dict()))
            inner_optim = optim.SGD(fast_net.parameters(), lr=self.update_lr)
            for k in range(self.update_step):
                logits = fast_net(x_spt[i])
                loss = F.cross_entropy(logits, y_spt[i])
                inner_optim.zero_grad()
                loss.backward()
                inner_optim.step()

            logits_q = fast_net(x_qry[i])
            losses_q = losses_q + F.cross_entropy(logits_q, y_qry[i])
            with torch.no_grad():
                corrects += torch.eq(logits_q.argmax(dim=1), y_qry[i]).sum().item()

        # end of all tasks
        loss_q = losses_q / task_num

        # optimize theta parameters
        self.meta_optim.zero_grad()
        loss_q.backward()
        self.meta_optim.step()
        return corrects / (querysz * task_num), loss_q.item()


def tasks(task_num, n_way=5, k_spt=2, k_qry=5, dim=16):
    centres = torch.randn(task_num, n_way, 1, dim)
    x_spt = (centres + 0.5 * torch.randn(task_num, n_way, k_spt, dim)).flatten(1, 2)
    x_qry = (centres + 0.5 * torch.randn(task_num, n_way, k_qry, dim)).flatten(1, 2)
    y_spt = torch.arange(n_way).repeat_interleave(k_spt).expand(task_num, -1)
    y_qry = torch.arange(n_way).repeat_interleave(k_qry).expand(task_num, -1)
    return x_spt, y_spt, x_qry, y_qry


# %%
maml = Meta()
theta = copy.deepcopy(maml.net.state_dict())

# %%
for step in range(20):
    acc, loss_q = maml(*tasks(4))
    if step % 5 == 4:
        print('step:', step, '\ttraining acc:', acc, 'loss', loss_q)
