# https://github.com/facebookresearch/higher/issues/55
import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.func import functional_call

torch.manual_seed(0)


class innerloop_ctx:
    def __init__(self, net, lr=0.3, track_higher_grads=True):
        self.net, self.lr, self.track_higher_grads = net, lr, track_higher_grads

    def __enter__(self):
        self.params = dict(self.net.named_parameters())
        if not self.track_higher_grads:
            self.params = {k: p.detach().clone().requires_grad_() for k, p in self.params.items()}
        return self, self

    def __exit__(self, *args):
        return False

    def __call__(self, x):
        return functional_call(self.net, self.params, (x,))

    def step(self, loss):
        grads = torch.autograd.grad(loss, list(self.params.values()), create_graph=self.track_higher_grads)
        self.params = {k: p - self.lr * g for (k, p), g in zip(self.params.items(), grads)}


def draw(task_num, n_way=3, k_spt=3, k_qry=6):
    centers = 2 * torch.randn(task_num, n_way, 1, 8)
    points = centers + 0.5 * torch.randn(task_num, n_way, k_spt + k_qry, 8)
    y = torch.arange(n_way)[None, :, None].expand(task_num, n_way, k_spt + k_qry)
    x_spt, x_qry = points[:, :, :k_spt].flatten(1, 2), points[:, :, k_spt:].flatten(1, 2)
    return x_spt, y[:, :, :k_spt].flatten(1), x_qry, y[:, :, k_spt:].flatten(1)


def train(net, meta_opt, steps, log):
    net.train()
    for batch_idx in range(steps):
        x_spt, y_spt, x_qry, y_qry = draw(4)
        meta_opt.zero_grad()
        qry_losses = []
        for i in range(4):
            with innerloop_ctx(net) as (fnet, diffopt):
                for _ in range(3):
                    diffopt.step(F.cross_entropy(fnet(x_spt[i]), y_spt[i]))
                qry_loss = F.cross_entropy(fnet(x_qry[i]), y_qry[i])
                qry_losses.append(qry_loss.detach())
                qry_loss.backward()
        meta_opt.step()
        log.append(sum(qry_losses).item() / 4)


def test(net, tasks=15):
    net.train()
    qry_accs = []
    x_spt, y_spt, x_qry, y_qry = draw(tasks)
    for i in range(tasks):
        with innerloop_ctx(net, track_higher_grads=False) as (fnet, diffopt):
            for _ in range(3):
                diffopt.step(F.cross_entropy(fnet(x_spt[i]), y_spt[i]))
            qry_logits = fnet(x_qry[i]).detach()
            qry_accs.append((qry_logits.argmax(dim=1) == y_qry[i]).float().mean())
    return torch.stack(qry_accs).mean().item()


# %%
net = nn.Sequential(
    nn.Linear(8, 32), nn.BatchNorm1d(32, momentum=1, affine=True), nn.ReLU(),
    nn.Linear(32, 32), nn.BatchNorm1d(32, momentum=1, affine=True), nn.ReLU(),
    nn.Linear(32, 3))
meta_opt = optim.Adam(net.parameters(), lr=3e-3)
log = []

# %%
accuracies = [test(net)]
for epoch in range(3):
    train(net, meta_opt, 20, log)
    accuracies.append(test(net))
early, late = sum(log[:5]) / 5, sum(log[-5:]) / 5
print(early, late, accuracies)
