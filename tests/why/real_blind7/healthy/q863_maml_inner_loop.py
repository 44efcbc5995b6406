# https://github.com/dragen1860/MAML-Pytorch/blob/master/meta.py
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(222)
net = nn.ParameterList([nn.Parameter(torch.randn(16, 6) * 0.3), nn.Parameter(torch.zeros(16)), nn.Parameter(torch.randn(5, 16) * 0.3), nn.Parameter(torch.zeros(5))])
meta_optim = torch.optim.Adam(net.parameters(), lr=1e-3)
update_lr, update_step, task_num = 0.05, 3, 2
before = net[0].detach().clone()


def forward(x, vars):
    return F.linear(F.relu(F.linear(x, vars[0], vars[1])), vars[2], vars[3])


# %%
for step in range(2):
    losses_q = [0 for _ in range(update_step + 1)]  # losses_q[i] is the loss on step i
    for i in range(task_num):
        x_spt, y_spt, x_qry, y_qry = torch.randn(10, 6), torch.randint(0, 5, (10,)), torch.randn(15, 6), torch.randint(0, 5, (15,))
        fast_weights = list(net)
        with torch.no_grad():
            losses_q[0] += F.cross_entropy(forward(x_qry, fast_weights), y_qry)
        for k in range(update_step):
            loss = F.cross_entropy(forward(x_spt, fast_weights), y_spt)
            grad = torch.autograd.grad(loss, fast_weights)
            fast_weights = list(map(lambda p: p[1] - update_lr * p[0], zip(grad, fast_weights)))
            # loss_q will be overwritten and just keep the loss_q on last update step.
            losses_q[k + 1] += F.cross_entropy(forward(x_qry, fast_weights), y_qry)
    # end of all tasks: sum over all losses on query set across all tasks
    loss_q = losses_q[-1] / task_num
    meta_optim.zero_grad()
    loss_q.backward()
    meta_optim.step()
    print(step, loss_q.item())
