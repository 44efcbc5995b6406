# https://github.com/facebookresearch/higher/issues/129
from contextlib import contextmanager

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call

torch.manual_seed(0)


class MonkeyPatched:
    def __init__(self, module, copy_initial_weights):
        self.module, self.names = module, [name for name, _ in module.named_parameters()]
        params = list(module.parameters())
        self.fast_params = [p.clone().detach().requires_grad_() for p in params] if copy_initial_weights else params

    def __call__(self, x):
        return functional_call(self.module, dict(zip(self.names, self.fast_params)), (x,))


class DifferentiableSGD:
    def __init__(self, other, fmodel, track_higher_grads):
        self.lr, self.fmodel = other.param_groups[0]["lr"], fmodel
        self._track_higher_grads = track_higher_grads

    def step(self, loss, grad_callback=None):
        grads = torch.autograd.grad(loss, self.fmodel.fast_params, create_graph=self._track_higher_grads)
        if grad_callback is not None:
            grads = grad_callback(grads)
        new_params = [p - self.lr * g for p, g in zip(self.fmodel.fast_params, grads)]
        if not self._track_higher_grads:
            new_params = [p.detach().requires_grad_() for p in new_params]
        self.fmodel.fast_params = new_params


@contextmanager
def innerloop_ctx(model, opt, copy_initial_weights=True, track_higher_grads=True):
    fmodel = MonkeyPatched(model, copy_initial_weights)
    yield fmodel, DifferentiableSGD(opt, fmodel, track_higher_grads)


class ConvolutionalNeuralNetwork(nn.Module):
    def __init__(self, in_channels, out_features, hidden_size=8):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(in_channels, hidden_size, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.classifier = nn.Linear(hidden_size * 16, out_features)

    def forward(self, inputs):
        return self.classifier(self.features(inputs).flatten(1))


def get_accuracy(logits, targets):
    return torch.mean(logits.argmax(dim=-1).eq(targets).float())


# %%
num_ways, num_shots, num_tasks, step_size = 5, 5, 4, 0.4
model = ConvolutionalNeuralNetwork(1, num_ways)
model.train()
meta_optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
inner_opt = torch.optim.SGD(model.parameters(), lr=step_size)
drawings = torch.randn(40, 1, 8, 8)


def sample_task():
    classes = torch.randperm(40)[:num_ways]
    targets = torch.arange(num_ways).repeat(num_shots)
    images = drawings[classes][targets]
    return (images + 0.3 * torch.randn_like(images), targets), (images + 0.3 * torch.randn_like(images), targets)


# %%
for batch_idx in range(10):
    meta_optimizer.zero_grad()
    outer_loss = torch.tensor(0.)
    accuracy = torch.tensor(0.)
    for task_idx in range(num_tasks):
        (train_input, train_target), (test_input, test_target) = sample_task()
        with innerloop_ctx(model, inner_opt, copy_initial_weights=False, track_higher_grads=False) as (fmodel, diffopt):
            train_logit = fmodel(train_input)
            inner_loss = F.cross_entropy(train_logit, train_target)
            diffopt.step(inner_loss)

            test_logit = fmodel(test_input)
            outer_loss += F.cross_entropy(test_logit, test_target)
            with torch.no_grad():
                accuracy += get_accuracy(test_logit, test_target)
    outer_loss.div_(num_tasks)
    accuracy.div_(num_tasks)
    outer_loss.backward()
    meta_optimizer.step()
    print(batch_idx, "accuracy={0:.4f}".format(accuracy.item()))

# %%
print(meta_optimizer.param_groups[0]['params'][0].grad)
