# https://github.com/facebookresearch/higher/blob/main/examples/maml-omniglot.py
import contextlib
import types

import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.func import functional_call

torch.manual_seed(0)


class _FNet:
    def __init__(self, net, copy_initial_weights):
        self.net, self.fast_params = net, dict(net.named_parameters())
        if copy_initial_weights:
            self.fast_params = {n: p.detach().clone().requires_grad_() for n, p in self.fast_params.items()}

    def __call__(self, x):
        return functional_call(self.net, self.fast_params, (x,))


class _DiffOpt:
    def __init__(self, fnet, opt, track_higher_grads):
        self.fnet, self.lr, self.track = fnet, opt.param_groups[0]['lr'], track_higher_grads

    def step(self, loss):
        names, params = list(self.fnet.fast_params), list(self.fnet.fast_params.values())
        grads = torch.autograd.grad(loss, params, create_graph=self.track)
        new = [p - self.lr * g for p, g in zip(params, grads)]
        self.fnet.fast_params = dict(zip(names, new if self.track else [p.detach().requires_grad_() for p in new]))


@contextlib.contextmanager
def innerloop_ctx(net, opt, copy_initial_weights=True, track_higher_grads=True):
    fnet = _FNet(net, copy_initial_weights)
    yield fnet, _DiffOpt(fnet, opt, track_higher_grads)


higher = types.SimpleNamespace(innerloop_ctx=innerloop_ctx)


def next_tasks(task_num, n_way=3, k=5):
    centers = torch.randn(task_num, n_way, 1, 8) * 1.5
    x = (centers + 0.5 * torch.randn(task_num, n_way, 2 * k, 8))
    y = torch.arange(n_way)[:, None].expand(n_way, k).reshape(-1)
    return x[:, :, :k].flatten(1, 2), x[:, :, k:].flatten(1, 2), y


# %%
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 3))
meta_opt = optim.Adam(net.parameters(), lr=3e-3)


def train(net, meta_opt, task_num=8, n_inner_iter=3):
    x_spt, x_qry, y = next_tasks(task_num)
    inner_opt = torch.optim.SGD(net.parameters(), lr=1e-1)
    qry_losses = []
    meta_opt.zero_grad()
    for i in range(task_num):
        with higher.innerloop_ctx(net, inner_opt, copy_initial_weights=False) as (fnet, diffopt):
            for _ in range(n_inner_iter):
                diffopt.step(F.cross_entropy(fnet(x_spt[i]), y))
            # The gradients of the tasks add up in the meta-parameters, through all inner steps.
            qry_loss = F.cross_entropy(fnet(x_qry[i]), y)
            qry_losses.append(qry_loss.detach())
            qry_loss.backward()
    meta_opt.step()
    return (sum(qry_losses) / task_num).item()


def test(net, task_num=16, n_inner_iter=3):
    x_spt, x_qry, y = next_tasks(task_num)
    inner_opt = torch.optim.SGD(net.parameters(), lr=1e-1)
    accs = []
    for i in range(task_num):
        with higher.innerloop_ctx(net, inner_opt, track_higher_grads=False) as (fnet, diffopt):
            for _ in range(n_inner_iter):
                diffopt.step(F.cross_entropy(fnet(x_spt[i]), y))
            accs.append((fnet(x_qry[i]).detach().argmax(dim=1) == y).float().mean())
    return torch.stack(accs).mean().item()


# %%
before = test(net)
losses = [train(net, meta_opt) for _ in range(80)]
weight = net[0].weight.detach().clone()
grad = net[0].weight.grad.clone()
after = test(net)
print(losses[0], losses[-1], before, after)

assert losses[-1] < 0.7 * losses[0] and after > before
assert torch.equal(net[0].weight, weight) and torch.equal(net[0].weight.grad, grad)
