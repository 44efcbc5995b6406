# https://github.com/danieltan07/learning-to-reweight-examples/blob/master/README.md
import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 12), nn.ReLU(), nn.Linear(12, 1))
opt = torch.optim.SGD(net.parameters(), lr=1e-2)
val_data, val_labels = torch.randn(6, 5), torch.randint(0, 2, (6,)).float()
before = net[0].weight.detach().clone()

# %%
meta_losses, net_losses = [], []
for i in range(3):
    image, labels = torch.randn(10, 5), torch.randint(0, 2, (10,)).float()
    params = {n: p.detach().clone().requires_grad_() for n, p in net.named_parameters()}
    y_f_hat = functional_call(net, params, image).squeeze(1)
    cost = F.binary_cross_entropy_with_logits(y_f_hat, labels, reduction="none")
    eps = torch.zeros(cost.size(), requires_grad=True)
    l_f_meta = torch.sum(cost * eps)
    grads = torch.autograd.grad(l_f_meta, params.values(), create_graph=True)
    updated = {n: p - 1e-1 * g for (n, p), g in zip(params.items(), grads)}
    y_g_hat = functional_call(net, updated, val_data).squeeze(1)
    l_g_meta = F.binary_cross_entropy_with_logits(y_g_hat, val_labels)
    grad_eps = torch.autograd.grad(l_g_meta, eps, only_inputs=True)[0]
    w_tilde = torch.clamp(-grad_eps, min=0)
    norm_c = torch.sum(w_tilde)
    w = w_tilde / norm_c if norm_c != 0 else w_tilde
    y_f_hat = net(image).squeeze(1)
    cost = F.binary_cross_entropy_with_logits(y_f_hat, labels, reduction="none")
    l_f = torch.sum(cost * w)
    opt.zero_grad()
    l_f.backward()
    opt.step()
    meta_losses.append(l_g_meta.item())
    net_losses.append(l_f.item())
print(meta_losses, net_losses)
