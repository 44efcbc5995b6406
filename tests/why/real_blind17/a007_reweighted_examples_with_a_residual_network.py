# https://github.com/danieltan07/learning-to-reweight-examples/issues/13
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class MetaModule(nn.Module):
    def params(self):
        for name, param in self.named_params(self):
            yield param

    def named_params(self, curr_module, prefix=''):
        if hasattr(curr_module, 'named_leaves'):
            leaves = curr_module.named_leaves()
        else:
            leaves = curr_module._parameters.items()
        for name, p in leaves:
            yield prefix + ('.' if prefix else '') + name, p
        for mname, module in curr_module.named_children():
            yield from self.named_params(module, prefix + ('.' if prefix else '') + mname)

    def named_leaves(self):
        return []

    def update_params(self, lr_inner, source_params):
        for (name, param), grad in zip(list(self.named_params(self)), source_params):
            self.set_param(self, name, param - lr_inner * grad)

    def set_param(self, curr_mod, name, param):
        if '.' in name:
            module_name, rest = name.split('.', 1)
            self.set_param(getattr(curr_mod, module_name), rest, param)
        else:
            setattr(curr_mod, name, param)


class MetaLinear(MetaModule):
    def __init__(self, *args, **kwargs):
        super().__init__()
        ignore = nn.Linear(*args, **kwargs)
        self.register_buffer('weight', ignore.weight.data.clone().requires_grad_())
        self.register_buffer('bias', ignore.bias.data.clone().requires_grad_())

    def forward(self, x):
        return F.linear(x, self.weight, self.bias)

    def named_leaves(self):
        return [('weight', self.weight), ('bias', self.bias)]


class MetaConv2d(MetaModule):
    def __init__(self, *args, **kwargs):
        super().__init__()
        ignore = nn.Conv2d(*args, **kwargs)
        self.padding = ignore.padding
        self.register_buffer('weight', ignore.weight.data.clone().requires_grad_())
        self.register_buffer('bias', ignore.bias.data.clone().requires_grad_())

    def forward(self, x):
        return F.conv2d(x, self.weight, self.bias, padding=self.padding)

    def named_leaves(self):
        return [('weight', self.weight), ('bias', self.bias)]


class ResNet(MetaModule):
    def __init__(self, n_out):
        super().__init__()
        self.conv1 = MetaConv2d(1, 8, kernel_size=3, padding=1)
        self.bn1 = nn.BatchNorm2d(8)
        self.conv2 = MetaConv2d(8, 8, kernel_size=3, padding=1)
        self.fc = MetaLinear(8, n_out)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(x + self.conv2(x))
        return self.fc(x.mean(dim=(2, 3))).squeeze()


hyperparameters = {'lr': 1e-3, 'batch_size': 16}
val_data, val_labels = torch.rand(10, 1, 12, 12), torch.randint(0, 2, (10,)).float()
net = ResNet(n_out=1)
opt = torch.optim.SGD(net.params(), lr=hyperparameters['lr'])

# %%
for i in range(3):
    image, labels = torch.rand(16, 1, 12, 12), torch.randint(0, 2, (16,)).float()
    meta_net = ResNet(n_out=1)
    meta_net.load_state_dict(net.state_dict())

    cost = F.binary_cross_entropy_with_logits(meta_net(image), labels, reduction='none')
    eps = torch.zeros(cost.size(), requires_grad=True)
    l_f_meta = torch.sum(cost * eps)
    grads = torch.autograd.grad(l_f_meta, list(meta_net.params()), create_graph=True)
    meta_net.update_params(hyperparameters['lr'], source_params=grads)

    l_g_meta = F.binary_cross_entropy_with_logits(meta_net(val_data), val_labels)
    grad_eps = torch.autograd.grad(l_g_meta, eps)[0]
    w_tilde = torch.clamp(-grad_eps, min=0)
    w = w_tilde / w_tilde.sum() if w_tilde.sum() != 0 else w_tilde

    l_f = torch.sum(F.binary_cross_entropy_with_logits(net(image), labels, reduction='none') * w)
    opt.zero_grad()
    l_f.backward()
    opt.step()
    print(i, l_g_meta.item(), l_f.item())
