# https://github.com/facebookresearch/higher/issues/8
import contextlib

import torch
import torch.nn as nn
from torch.func import functional_call

torch.manual_seed(0)


class FunctionalModule:
    def __init__(self, module, copy_initial_weights):
        self.module = module
        self.names = [name for name, _ in module.named_parameters()]
        self.fast_params = list(module.parameters())
        if copy_initial_weights:
            self.fast_params = [p.detach().clone().requires_grad_(p.requires_grad) for p in self.fast_params]

    def __call__(self, *args):
        return functional_call(self.module, dict(zip(self.names, self.fast_params)), args)


class DifferentiableSGD:
    def __init__(self, opt, fmodel):
        self.lr, self.fmodel = opt.param_groups[0]['lr'], fmodel

    def step(self, loss):
        params = self.fmodel.fast_params
        grads = torch.autograd.grad(loss, params, create_graph=True)
        self.fmodel.fast_params = [p - self.lr * g for p, g in zip(params, grads)]


@contextlib.contextmanager
def innerloop_ctx(model, opt, copy_initial_weights=True):
    fmodel = FunctionalModule(model, copy_initial_weights)
    yield fmodel, DifferentiableSGD(opt, fmodel)


# %%
class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.fc1 = nn.Linear(30, 50)
        self.fc2 = nn.Linear(50, 1)
        # freeze first FC layer
        for param in self.fc1.parameters():
            param.requires_grad = False

    def forward(self, x):
        hidden = self.fc1(x)
        logits = self.fc2(hidden).squeeze(1)
        return logits


net = Net()
loss_fnt = nn.BCEWithLogitsLoss()
param = filter(lambda x: x.requires_grad, net.parameters())
inner_opt = torch.optim.SGD(param, lr=1e-1)
meta_opt = torch.optim.Adam(filter(lambda x: x.requires_grad, net.parameters()), lr=1e-3)

# %%
for it in range(5):
    batch_x = torch.randn(16, 30)
    batch_y = (batch_x[:, 0] > 0).float()
    meta_opt.zero_grad()
    with innerloop_ctx(net, inner_opt, copy_initial_weights=False) as (fnet, diffopt):
        logits = fnet(batch_x)
        loss = loss_fnt(logits, batch_y)
        diffopt.step(loss)

        meta_loss = loss_fnt(fnet(batch_x), batch_y)
        meta_loss.backward()
    meta_opt.step()
    print(it, loss.item(), meta_loss.item())
