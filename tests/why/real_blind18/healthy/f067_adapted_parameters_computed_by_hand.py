# https://github.com/jik0730/MAML-in-pytorch/issues/5
from collections import OrderedDict
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
N_WAY, N_FILTERS = 3, 12


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.features = nn.Sequential(self.conv_block(0, 1), self.conv_block(1, N_FILTERS))
        self.add_module('fc', nn.Linear(N_FILTERS * 4, N_WAY))

    def conv_block(self, index, in_channels):
        return nn.Sequential(OrderedDict([
            ('conv' + str(index), nn.Conv2d(in_channels, N_FILTERS, 3, padding=1)),
            ('bn' + str(index), nn.BatchNorm2d(N_FILTERS, momentum=1, affine=True)),
            ('relu' + str(index), nn.ReLU(inplace=True)), ('pool' + str(index), nn.MaxPool2d(2))]))

    def forward(self, X, params=None):
        if params is None:
            out = self.features(X)
            out = self.fc(out.view(out.size(0), -1))
        else:
            out = X
            for i in range(2):
                name = 'meta_learner.features.%d.' % i
                out = F.conv2d(out, params[name + 'conv%d.weight' % i], params[name + 'conv%d.bias' % i], padding=1)
                out = F.batch_norm(out, params[name + 'bn%d.running_mean' % i], params[name + 'bn%d.running_var' % i],
                                   params[name + 'bn%d.weight' % i], params[name + 'bn%d.bias' % i], momentum=1, training=True)
                out = F.max_pool2d(F.relu(out, inplace=True), 2)
            out = F.linear(out.view(out.size(0), -1), params['meta_learner.fc.weight'], params['meta_learner.fc.bias'])
        return F.log_softmax(out, dim=1)


class MetaLearner(nn.Module):
    def __init__(self):
        super(MetaLearner, self).__init__()
        self.meta_learner = Net()

    def forward(self, X, adapted_params=None):
        return self.meta_learner(X) if adapted_params is None else self.meta_learner(X, adapted_params)

    def cloned_state_dict(self):
        return {key: val.clone() for key, val in self.state_dict().items()}


def train_single_task(model, task_lr, loss_fn, support, num_train_updates):
    model.train()
    X_sup, Y_sup = support
    loss = loss_fn(model(X_sup), Y_sup)

    # clear previous gradients, compute gradients of all variables wrt loss
    def zero_grad(params):
        for p in params:
            if p.grad is not None:
                p.grad.zero_()

    zero_grad(model.parameters())
    grads = torch.autograd.grad(loss, model.parameters(), create_graph=True)

    # we manually compute adpated parameters since optimizer.step() operates in-place
    adapted_state_dict = model.cloned_state_dict()
    adapted_params = OrderedDict()
    for (key, val), grad in zip(model.named_parameters(), grads):
        adapted_params[key] = val - task_lr * grad
        adapted_state_dict[key] = adapted_params[key]

    for _ in range(1, num_train_updates):
        loss = loss_fn(model(X_sup, adapted_state_dict), Y_sup)
        grads = torch.autograd.grad(loss, adapted_params.values(), create_graph=True)
        for (key, val), grad in zip(adapted_params.items(), grads):
            adapted_params[key] = val - task_lr * grad
            adapted_state_dict[key] = adapted_params[key]
    return adapted_state_dict


def glyph_task(n_sup=3, n_query=6):
    glyphs = F.avg_pool2d(F.interpolate((torch.rand(N_WAY, 1, 5, 5) > 0.5).float(), size=(8, 8)), 3, 1, 1)
    sets = []
    for n in (n_sup, n_query):
        Y = torch.arange(N_WAY).repeat(n)
        sets.append((2 * glyphs[Y] + 0.4 * torch.randn(len(Y), 1, 8, 8), Y))
    return sets


# %%
model = MetaLearner()
meta_optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
loss_fn, num_inner_tasks, task_lr = nn.NLLLoss(), 4, 0.2
meta_losses = []
for episode in range(60):
    tasks = [glyph_task() for _ in range(num_inner_tasks)]
    adapted_state_dicts = [train_single_task(model, task_lr, loss_fn, sup, 2) for sup, _ in tasks]
    meta_loss = 0
    for (_, (X_meta, Y_meta)), a_dict in zip(tasks, adapted_state_dicts):
        meta_loss += loss_fn(model(X_meta, a_dict), Y_meta)
    meta_loss /= float(num_inner_tasks)
    meta_optimizer.zero_grad()
    meta_loss.backward()
    meta_optimizer.step()
    meta_losses.append(meta_loss.item())

# %%
before = [p.detach().clone() for p in model.parameters()]
right, unadapted = 0, 0
for _ in range(20):
    sup, (X, Y) = glyph_task()
    right += (model(X, train_single_task(model, task_lr, loss_fn, sup, 2)).argmax(1) == Y).float().mean().item() / 20
    unadapted += (model(X).argmax(1) == Y).float().mean().item() / 20
moved_by_tasks = any(not torch.equal(a, b) for a, b in zip(before, model.parameters()))
print(meta_losses[0], meta_losses[-1], right, unadapted, moved_by_tasks)
assert not moved_by_tasks and all(p.grad is not None for p in model.parameters())
assert right > 0.85 and unadapted < 0.6
