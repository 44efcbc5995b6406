# https://github.com/hytseng0509/CrossDomainFewShot/issues/40
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Linear_fw(nn.Linear):  # forward with the fast weight, where there is one
    def __init__(self, in_features, out_features):
        super().__init__(in_features, out_features)
        self.weight.fast = self.bias.fast = None

    def forward(self, x):
        if self.weight.fast is not None and self.bias.fast is not None:
            return F.linear(x, self.weight.fast, self.bias.fast)
        return super().forward(x)


class FeatureWiseTransformation_fw(nn.Module):
    feature_augment = False

    def __init__(self, num_features):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(1, num_features) * 0.3)
        self.beta = nn.Parameter(torch.ones(1, num_features) * 0.5)

    def forward(self, x):
        if self.feature_augment and self.training:
            gamma = 1 + torch.randn_like(self.gamma) * F.softplus(self.gamma, beta=100)
            x = gamma * x + torch.randn_like(self.beta) * F.softplus(self.beta, beta=100)
        return x


class ProtoNet(nn.Module):
    def __init__(self, n_way=4, n_support=3):
        super().__init__()
        self.n_way, self.n_support = n_way, n_support
        self.fc1, self.ft, self.fc2 = Linear_fw(10, 32), FeatureWiseTransformation_fw(32), Linear_fw(32, 16)

    def set_forward_loss(self, x):
        z = self.fc2(F.relu(self.ft(self.fc1(x))))
        proto = z[:, :self.n_support].mean(1)
        query = z[:, self.n_support:].reshape(-1, z.size(-1))
        y = torch.arange(self.n_way).repeat_interleave(x.size(1) - self.n_support)
        return F.cross_entropy(-((query[:, None] - proto[None]) ** 2).sum(2), y)


def episode(shift):
    return torch.randn(4, 1, 10) * 1.5 + shift + 0.7 * torch.randn(4, 8, 10)


# %%
model = ProtoNet()
model_params = [p for n, p in model.named_parameters() if n.split('.')[-1] not in ('gamma', 'beta')]
ft_params = [p for n, p in model.named_parameters() if n.split('.')[-1] in ('gamma', 'beta')]
model_optim = torch.optim.Adam(model_params, lr=3e-3)
ft_optim = torch.optim.Adam(ft_params, weight_decay=1e-8, lr=3e-3)
gamma_before = model.ft.gamma.detach().clone()
avg = []

# %%
for i in range(60):
    x, x_new = episode(0.), episode(1.)
    for weight in model_params:
        weight.fast = None
    # classification loss with ft layers
    FeatureWiseTransformation_fw.feature_augment = True
    model_loss = model.set_forward_loss(x)
    meta_grad = torch.autograd.grad(model_loss, model_params, create_graph=True)
    for k, weight in enumerate(model_params):
        weight.fast = weight - model_optim.param_groups[0]['lr'] * meta_grad[k]
    meta_grad = [g.detach() for g in meta_grad]
    # loss of the updated model, without ft layers
    FeatureWiseTransformation_fw.feature_augment = False
    model.eval()
    ft_loss = model.set_forward_loss(x_new)
    model.train()
    # gradients of ft (and, beside, of the model: these are thrown away)
    ft_optim.zero_grad()
    ft_loss.backward()
    model_optim.zero_grad()
    for k, weight in enumerate(model_params):
        weight.grad = meta_grad[k]
    model_optim.step()
    ft_optim.step()
    avg.append(model_loss.item())
print(avg[0], avg[-1], model.ft.gamma.grad.abs().sum())
assert sum(avg[-10:]) < sum(avg[:10])
assert not torch.equal(gamma_before, model.ft.gamma)
