# https://github.com/dragen1860/MAML-Pytorch/issues/63
import torch
from torch import nn, optim
from torch.nn import functional as F


class Learner(nn.Module):
    def __init__(self, n_in, n_hidden, n_way):
        super().__init__()
        self.vars = nn.ParameterList()
        for ch_out, ch_in in ((n_hidden, n_in), (n_way, n_hidden)):
            w = nn.Parameter(torch.ones(ch_out, ch_in))
            torch.nn.init.kaiming_normal_(w)
            self.vars.append(w)
            self.vars.append(nn.Parameter(torch.zeros(ch_out)))

    def forward(self, x, vars=None, bn_training=True):
        if vars is None:
            vars = self.vars
        vars = list(vars)
        x = torch.tanh(F.linear(x, vars[0], vars[1]))
        return F.linear(x, vars[2], vars[3])


class Meta(nn.Module):
    def __init__(self, update_lr=0.4, meta_lr=1e-3, update_step=3):
        super().__init__()
        self.update_lr, self.update_step = update_lr, update_step
        self.net = Learner(4, 6, 3).double()
        self.meta_optim = optim.Adam(self.net.parameters(), lr=meta_lr)

    def query_loss(self, x_spt, y_spt, x_qry, y_qry):
        task_num = x_spt.size(0)
        losses_q = []
        for i in range(task_num):
            # 1. run the i-th task and compute loss for k=0
            logits = self.net(x_spt[i], vars=None, bn_training=True)
            loss = F.cross_entropy(logits, y_spt[i])
            grad = torch.autograd.grad(loss, self.net.parameters())
            fast_weights = list(map(lambda p: p[1] - self.update_lr * p[0], zip(grad, self.net.parameters())))

            for k in range(1, self.update_step):
                logits = self.net(x_spt[i], fast_weights, bn_training=True)
                loss = F.cross_entropy(logits, y_spt[i])
                # 2. compute grad on theta_pi
                grad = torch.autograd.grad(loss, fast_weights)
                # 3. theta_pi = theta_pi - train_lr * grad
                fast_weights = list(map(lambda p: p[1] - self.update_lr * p[0], zip(grad, fast_weights)))

            logits_q = self.net(x_qry[i], fast_weights, bn_training=True)
            losses_q.append(F.cross_entropy(logits_q, y_qry[i]))
        return sum(losses_q) / task_num

    def forward(self, x_spt, y_spt, x_qry, y_qry):
        loss_q = self.query_loss(x_spt, y_spt, x_qry, y_qry)
        # optimize theta parameters
        self.meta_optim.zero_grad()
        loss_q.backward()
        self.meta_optim.step()
        return loss_q


# %%
maml = Meta()
x_spt, y_spt = torch.randn(2, 6, 4, dtype=torch.float64), torch.randint(3, (2, 6))
x_qry, y_qry = torch.randn(2, 9, 4, dtype=torch.float64), torch.randint(3, (2, 9))

# %%
# what the meta gradient of one weight should be, by finite differences
w = maml.net.vars[0]
sides = []
for eps in (1e-5, -1e-5):
    w.data[0, 0] += eps
    sides.append(maml.query_loss(x_spt, y_spt, x_qry, y_qry).item())
    w.data[0, 0] -= eps
numeric = (sides[0] - sides[1]) / 2e-5

# %%
loss_q = maml(x_spt, y_spt, x_qry, y_qry)
print(maml.net.vars[0].grad[0, 0].item(), numeric)
