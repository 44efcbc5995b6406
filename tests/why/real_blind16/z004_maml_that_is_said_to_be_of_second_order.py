# https://github.com/dragen1860/MAML-Pytorch/issues/17
import torch
from torch import nn, optim
from torch.nn import functional as F

torch.manual_seed(0)


class Learner(nn.Module):
    def __init__(self, n_in, n_hidden, n_way):
        super(Learner, self).__init__()
        self.vars = nn.ParameterList()
        for out_dim, in_dim in ((n_hidden, n_in), (n_way, n_hidden)):
            w = nn.Parameter(torch.ones(out_dim, in_dim))
            torch.nn.init.kaiming_normal_(w)
            self.vars.append(w)
            self.vars.append(nn.Parameter(torch.zeros(out_dim)))

    def forward(self, x, vars=None):
        if vars is None:
            vars = self.vars
        x = torch.tanh(F.linear(x, vars[0], vars[1]))
        return F.linear(x, vars[2], vars[3])

    def parameters(self):
        return self.vars


class Meta(nn.Module):
    def __init__(self, n_way, update_lr=0.4, meta_lr=1e-3, update_step=3):
        super(Meta, self).__init__()
        self.update_lr = update_lr
        self.update_step = update_step
        self.net = Learner(8, 16, n_way)
        self.meta_optim = optim.Adam(self.net.parameters(), lr=meta_lr)

    def forward(self, x_spt, y_spt, x_qry, y_qry):
        task_num, setsz, n = x_spt.size()
        losses_q = [0 for _ in range(self.update_step + 1)]

        for i in range(task_num):
            # 1. run the i-th task and compute loss for k=0
            logits = self.net(x_spt[i], vars=None)
            loss = F.cross_entropy(logits, y_spt[i])
            grad = torch.autograd.grad(loss, self.net.parameters())
            fast_weights = list(map(lambda p: p[1] - self.update_lr * p[0], zip(grad, self.net.parameters())))

            for k in range(1, self.update_step):
                # 1. run the i-th task and compute loss for k=1~K-1
                logits = self.net(x_spt[i], fast_weights)
                loss = F.cross_entropy(logits, y_spt[i])
                # 2. compute grad on theta_pi
                grad = torch.autograd.grad(loss, fast_weights)
                # 3. theta_pi = theta_pi - train_lr * grad
                fast_weights = list(map(lambda p: p[1] - self.update_lr * p[0], zip(grad, fast_weights)))

                logits_q = self.net(x_qry[i], fast_weights)
                # loss_q will be overwritten and just keep the loss_q on last update step.
                loss_q = F.cross_entropy(logits_q, y_qry[i])
                losses_q[k + 1] += loss_q
        self.grad = grad

        # end of all tasks
        loss_q = losses_q[-1] / task_num

        # optimize theta parameters
        self.meta_optim.zero_grad()
        loss_q.backward()
        self.meta_optim.step()
        return loss_q.item()


# %%
maml = Meta(n_way=5)
for step in range(10):
    centers = torch.randn(4, 5, 8)
    y_spt = torch.arange(5).repeat(4, 1)
    y_qry = torch.arange(5).repeat(3).repeat(4, 1)
    x_spt = centers + 0.3 * torch.randn(4, 5, 8)
    x_qry = centers.repeat(1, 3, 1) + 0.3 * torch.randn(4, 15, 8)
    loss_q = maml(x_spt, y_spt, x_qry, y_qry)
    print('step:', step, '\tmeta loss:', loss_q, maml.grad[0].requires_grad)
