# https://github.com/dragen1860/MAML-Pytorch/issues/32
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Learner(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.vars = nn.ParameterList()
        for name, param in self.config:
            if name == 'linear':
                w = nn.Parameter(torch.ones(*param))
                nn.init.kaiming_normal_(w)
                self.vars.append(w)
                self.vars.append(nn.Parameter(torch.zeros(param[0])))

    def forward(self, x, vars=None):
        if vars is None:
            vars = self.vars
        idx = 0
        for name, param in self.config:
            if name == 'linear':
                w, b = vars[idx], vars[idx + 1]
                x = F.linear(x, w, b)
                idx += 2
            elif name == 'tanh':
                x = torch.tanh(x)
        assert idx == len(vars)
        return x

    def parameters(self):
        return self.vars


class Meta(nn.Module):
    """
    Meta Learner
    """
    def __init__(self, args, config):
        super().__init__()
        self.update_lr = args['update_lr']
        self.meta_lr = args['meta_lr']
        self.update_step = args['update_step']
        self.net = Learner(config)
        self.meta_optim = torch.optim.Adam(self.net.parameters(), lr=self.meta_lr)

    def query_loss(self, x_spt, y_spt, x_qry, y_qry):
        task_num = x_spt.shape[0]
        losses_q = 0
        for i in range(task_num):
            logits = self.net(x_spt[i], vars=None)
            loss = F.cross_entropy(logits, y_spt[i])
            grad = torch.autograd.grad(loss, self.net.parameters())
            fast_weights = list(map(lambda p: p[1] - self.update_lr * p[0], zip(grad, self.net.parameters())))

            for k in range(1, self.update_step):
                logits = self.net(x_spt[i], fast_weights)
                loss = F.cross_entropy(logits, y_spt[i])
                grad = torch.autograd.grad(loss, fast_weights)
                fast_weights = list(map(lambda p: p[1] - self.update_lr * p[0], zip(grad, fast_weights)))

            logits_q = self.net(x_qry[i], fast_weights)
            losses_q = losses_q + F.cross_entropy(logits_q, y_qry[i])
        # sum over all losses on query set across all tasks
        return losses_q / task_num

    def forward(self, x_spt, y_spt, x_qry, y_qry):
        loss_q = self.query_loss(x_spt, y_spt, x_qry, y_qry)
        self.meta_optim.zero_grad()
        loss_q.backward()
        self.meta_optim.step()
        return loss_q.item()


def tasks(task_num, n_way=5, k=3, dim=6):
    x = torch.randn(task_num, n_way, 1, dim).double()
    x = (x + 0.3 * torch.randn(task_num, n_way, 2 * k, dim)).transpose(1, 2)
    y = torch.arange(n_way).expand(task_num, k, n_way).flatten(1)
    return x[:, :k].flatten(1, 2), y, x[:, k:].flatten(1, 2), y


# %%
config = [('linear', [16, 6]), ('tanh', []), ('linear', [5, 16])]
maml = Meta({'update_lr': 0.4, 'meta_lr': 1e-3, 'update_step': 3}, config).double()
for step in range(20):
    loss_q = maml(*tasks(4))
    if step % 5 == 0:
        print('step:', step, '\ttraining loss:', loss_q)

# %%
batch = tasks(4)
w = maml.net.vars[0]
loss_q = maml.query_loss(*batch)
meta_grad = torch.autograd.grad(loss_q, w)[0][0, 0].item()
probe = copy.deepcopy(maml)
around = []
for h in (1e-5, -1e-5):
    with torch.no_grad():
        probe.net.vars[0][0, 0] = w[0, 0] + h
    around.append(probe.query_loss(*batch).item())
numeric = (around[0] - around[1]) / 2e-5
print('meta-gradient', meta_grad, 'by differences', numeric)
